// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What an exporting process remembers of an export: enough to make keys of it, to find it by address, and
// to hand out its own pointer again.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exported_ranges.h"
#include "memory.h"
#include "session.h"
#include "wire/key.h"

namespace hb::client {

class Client;

struct ExportRecord {
  std::shared_ptr<Session> session;
  BrokerId broker{};
  std::uint64_t id = 0;
  std::uint32_t generation = 0;
  std::uint64_t layout_version = 0;
  std::uint64_t bytes = 0;
  KeyBytes key{};
  Secret secret{};
  std::string name;  // "" = anonymous
  std::uint32_t owner_uid = 0;
  const void* ptr = nullptr;       // of its first byte; nullptr when descriptors were brought along
  std::weak_ptr<Memory> memory;    // weak: freeing memory is the caller's business
  bool library_memory = false;     // and once that was freed, its addresses are others'
  std::vector<AddressSpan> spans;  // where in this process its bytes are mapped, as far as known
  ExportedRanges::Ticket ranges;   // what hb_range_gone finds it by
  std::weak_ptr<Client> client;    // that made it
  std::atomic<bool> withdrawn{false};
  std::atomic<bool> suspended{false};  // nobody reads it: its memory may sleep

  // Exports of the library's own memory outlive it, and whatever is at its addresses then is not theirs.
  [[nodiscard]] bool addresses_are_others() const noexcept { return library_memory && memory.expired(); }
  // As far as this process knows.
  [[nodiscard]] bool is_live() const noexcept {
    return !withdrawn.load(std::memory_order_acquire) && !session->is_lost();
  }
  [[nodiscard]] KeyBytes subkey(std::uint64_t offset, std::uint64_t length) const;
};

// Every export of this process, whichever client made it, for imports as alias. Under process_lock().
class ExportRegistry {
 public:
  [[nodiscard]] static ExportRegistry& get();
  void add(const std::shared_ptr<ExportRecord>& record);
  void remove(const ExportRecord& record);
  [[nodiscard]] std::shared_ptr<ExportRecord> by_id(const BrokerId& broker, std::uint64_t id) const;
  [[nodiscard]] std::shared_ptr<ExportRecord> by_name(const BrokerId& broker, const std::string& name,
                                                      std::uint32_t owner_uid) const;

 private:
  std::map<std::pair<BrokerId, std::uint64_t>, std::weak_ptr<ExportRecord>> records_;
};

}  // namespace hb::client
