// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Whose every lease of a session is, so that an event finds whom it concerns. An event may come before the
// import that it concerns is mapped, even before the thread that acquires has seen the lease: it is kept
// until that import is there, or will never be.
//
// Thread-safe. Taken with the import cache's lock held, never the other way round.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "messages_events.h"

struct hb_import;

namespace hb::client {

class LeaseIndex {
 public:
  enum class Owner : std::uint8_t {
    kNobody,  // given back
    kComing,  // acquired, and what it is for is still being made
    kImport,
    kHandles,  // descriptors without a mapping
  };
  struct Found {
    Owner owner = Owner::kNobody;
    hb_import* imported = nullptr;
  };

  void add(std::uint64_t lease);
  void remove(std::uint64_t lease);
  // What the lease is for is there. True: events waited for that, and are to be taken (take_settled).
  bool give(std::uint64_t lease, hb_import* imported);
  bool give_to_handles(std::uint64_t lease) { return give(lease, nullptr); }
  [[nodiscard]] Found find(std::uint64_t lease) const;
  // Of imports, there and coming.
  [[nodiscard]] std::vector<std::uint64_t> imports() const;

  // While one exists, an unknown lease may be one whose reply is on its way.
  class Arrival {
   public:
    explicit Arrival(LeaseIndex& index);
    ~Arrival();
    Arrival(const Arrival&) = delete;
    Arrival& operator=(const Arrival&) = delete;

   private:
    LeaseIndex& index_;
  };

  // Appends the event, behind those of its lease that were kept; or keeps it; or drops it.
  void sort_in(const msg::Event& event, std::vector<msg::Event>& out);
  // Those that were kept and need not be any longer.
  void take_settled(std::vector<msg::Event>& out);

 private:
  struct Entry {
    Owner owner = Owner::kComing;
    hb_import* imported = nullptr;
  };
  [[nodiscard]] Owner owner_of(std::uint64_t lease) const;
  [[nodiscard]] bool is_to_be_kept(std::uint64_t lease) const;

  mutable std::mutex lock_;
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::deque<msg::Event> early_;  // in the order they came
  int arriving_ = 0;
};

}  // namespace hb::client
