// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What becomes of what a client holds, brought to a handler of the program by a thread of the program. Also
// how a client whose daemon died finds the next one without being asked.
//
// What never happens: a lock held while the handler runs; an event of an import after that import was given
// back; an event lost because its import was still being mapped, or because an answer came late.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "error.h"
#include "event_port.h"
#include "hipbroker/hipbroker.h"
#include "messages_events.h"
#include "session.h"

namespace hb::client {

class Client;

struct EventSink {
  hb_event_handler handler = nullptr;
  void* userdata = nullptr;
};

class Events {
 public:
  explicit Events(Client& client) : client_(client) {}
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  // Subscribes at the first call. Without a daemon it is subscribed once there is one.
  [[nodiscard]] Result<int> fd();
  // Everything there is to tell. How many calls of the handler that took.
  [[nodiscard]] Result<std::uint64_t> dispatch(const EventSink& sink);
  // The same until stop() or close().
  [[nodiscard]] Result<void> loop(const EventSink& sink);
  // Async-signal-safe. With no loop running, the next one ends at once.
  void stop() noexcept;
  // Events that were kept for an import can be told now.
  void settle() noexcept;
  // The client was closed: nothing is told any more.
  void close() noexcept;

 private:
  enum class Phase : std::uint8_t {
    kNew,
    kListening,
    kLost,  // the session is, and the program has been told
  };
  // Who brings events now; others are refused.
  class Turn {
   public:
    explicit Turn(Events* events) : events_(events) {}
    Turn(Turn&& other) noexcept : events_(std::exchange(other.events_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn();

   private:
    Events* events_;
  };

  [[nodiscard]] Result<Turn> take_turn();
  // The rest is for who has the turn.
  [[nodiscard]] Result<void> begin();
  [[nodiscard]] Result<void> subscribe(std::shared_ptr<Session> session);
  [[nodiscard]] Result<void> round(const EventSink& sink, std::uint64_t& told);
  [[nodiscard]] Result<void> look_for_daemon(const EventSink& sink, std::uint64_t& told);
  [[nodiscard]] Result<void> take(const EventSink& sink, std::uint64_t& told);
  void lose(const EventSink& sink, std::uint64_t& told);
  void tell(const EventSink& sink, std::uint64_t& told, const msg::Event& event);
  void tell_client(const EventSink& sink, std::uint64_t& told, std::uint32_t kind);
  void revive();
  void try_again_later() noexcept;
  void set_alarm() noexcept;
  void wake() noexcept;
  [[nodiscard]] bool is_over() const noexcept { return closed_.load(); }

  Client& client_;
  std::mutex lock_;  // of the first two
  std::unique_ptr<EventPort> owned_port_;
  bool busy_ = false;
  std::atomic<EventPort*> port_{nullptr};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> settled_{false};
  std::atomic<bool> woken_{false};  // by wake(): the alarm is to be set anew
  std::atomic<bool> closed_{false};

  // Of who has the turn.
  Phase phase_ = Phase::kNew;
  std::shared_ptr<Session> session_;
  bool more_ = false;  // the daemon has events that were not taken yet
  std::uint64_t again_at_ = 0;
  std::uint64_t pause_ns_ = 0;
};

}  // namespace hb::client
