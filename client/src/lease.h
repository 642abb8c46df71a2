// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A lease that this process holds. Gives it back when destroyed. Moved by one thread; watched anew, and taken
// over by another session's, by one thread while others ask whether it is current.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "session.h"

namespace hb::client {

class Lease {
 public:
  Lease() = default;
  Lease(std::shared_ptr<Session> session, std::uint64_t id);
  Lease(Lease&& other) noexcept { *this = std::move(other); }
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();

  void watch(const std::atomic<std::uint32_t>* word, std::uint32_t value) {
    owned_->word = word;
    watch(value, false);
  }
  // A new value in the same place. `behind`: there is more than this process has taken in.
  void watch(std::uint32_t value, bool behind) noexcept {
    now().expected.store(static_cast<std::uint64_t>(value) | (behind ? kBehind : 0),
                         std::memory_order_release);
  }
  // Nothing of it is current before it is watched anew.
  void distrust() noexcept { now().expected.fetch_or(kOther, std::memory_order_acq_rel); }
  [[nodiscard]] bool watches(const std::atomic<std::uint32_t>* word) const { return word == now().word; }
  // What was granted is there as it was; there may be more behind it. A few loads.
  [[nodiscard]] bool is_current() const noexcept {
    const Held* const held = now_.load(std::memory_order_acquire);
    if (held == nullptr || held->word == nullptr || held->session->is_lost()) return false;
    const std::uint64_t expected = held->expected.load(std::memory_order_acquire);
    if ((expected & kOther) != 0) return false;
    const auto value = static_cast<std::uint32_t>(expected);
    const std::uint32_t word = held->word->load(std::memory_order_acquire);
    return word == value || word == (value | kGrownBit);
  }
  // And there is no more.
  [[nodiscard]] bool is_exact() const noexcept {
    const Held* const held = now_.load(std::memory_order_acquire);
    return held != nullptr && held->word != nullptr && !held->session->is_lost() &&
           held->word->load(std::memory_order_acquire) == held->expected.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t id() const { return now().id; }
  [[nodiscard]] Session& session() const { return *now().session; }
  [[nodiscard]] const std::shared_ptr<Session>& shared_session() const { return now().session; }
  [[nodiscard]] bool held() const { return owned_ != nullptr; }

  // Its session was lost; `fresh` is of the one that came after, and stands for the same from now on.
  void take_over(Lease fresh) noexcept;

 private:
  static constexpr std::uint32_t kGrownBit = 1;  // the daemon's values are even
  static constexpr std::uint64_t kBehind = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kOther = std::uint64_t{1} << 33;
  struct Held {
    std::shared_ptr<Session> session;
    std::uint64_t id = 0;
    const std::atomic<std::uint32_t>* word = nullptr;
    std::atomic<std::uint64_t> expected{0};  // the value; with kBehind or kOther no word equals it
    // Of lost sessions: who asked just before may be reading in it yet. One a restart that the lease
    // outlives.
    std::unique_ptr<Held> former;
  };
  [[nodiscard]] Held& now() const { return *now_.load(std::memory_order_acquire); }

  std::unique_ptr<Held> owned_;
  std::atomic<Held*> now_{nullptr};
};

}  // namespace hb::client
