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
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "export_source.h"
#include "exported_ranges.h"
#include "memory.h"
#include "providers/placement.h"
#include "session.h"
#include "wire/key.h"

namespace hb::client {

class Client;

// Where a part of an export's bytes lies in this process.
struct ExportPart {
  std::uint64_t offset = 0;  // inside the export
  std::uint64_t bytes = 0;
  const void* ptr = nullptr;     // nullptr: nowhere, as far as known
  std::weak_ptr<Memory> memory;  // weak: freeing memory is the caller's business
  bool library_memory = false;   // and once that was freed, its addresses are others'

  [[nodiscard]] AddressSpan span() const { return {reinterpret_cast<std::uintptr_t>(ptr), bytes}; }
};
using ExportParts = std::vector<ExportPart>;  // in order of their offsets

// What was said of it when it was made, for a daemon that has to be told again.
struct ExportTerms {
  std::string metadata;
  std::vector<hb_acl_entry> acl;
  std::vector<DeviceId> peers;
  std::uint32_t lifetime = 0;
  std::uint64_t linger_ns = 0;
  std::uint32_t access = 0;  // as the daemon said
};

struct ExportRecord {
  BrokerId broker{};
  std::uint64_t id = 0;
  std::uint32_t generation = 0;
  std::uint32_t handle_kind = 0;  // 0: another process began it, and only the daemon knows
  DeviceId device;                // empty: host memory
  std::uint64_t max_bytes = 0;    // how large it may grow; 0: not at all, or another process began it
  KeyBytes key{};
  Secret secret{};
  std::string name;  // "" = anonymous
  std::uint32_t owner_uid = 0;
  ExportTerms terms;
  bool terms_known = false;      // another process began it: neither they nor its memory are
  std::weak_ptr<Client> client;  // that made it
  std::atomic<bool> withdrawn{false};
  std::atomic<bool> suspended{false};  // nobody reads it: its memory may sleep
  std::atomic<bool> awaited{false};    // it has to be offered to the daemon again (Revival)
  std::mutex change;                   // held by whoever changes its chunks; never waited for

  // Whose it is: another one after the first was lost and the daemon took it again.
  [[nodiscard]] std::shared_ptr<Session> session() const;
  void set_session(std::shared_ptr<Session> session);
  // Proves to a daemon that does not know it any more, or has lost its descriptors, whose it is. Empty: that
  // daemon gives none.
  [[nodiscard]] std::string token() const;
  void set_token(msg::Bytes token);  // an empty one changes nothing
  // It does not end with its session, but has to be offered again.
  [[nodiscard]] bool returns() const noexcept { return returns_.load(std::memory_order_acquire); }
  // Nobody withdrew it, and it is no more; the first reason stays.
  void end(std::string why);
  [[nodiscard]] std::string why_ended() const;

  // It may be appended to: its key goes to the end, wherever that comes to be.
  [[nodiscard]] bool grows() const { return decode_key(key).length == UINT64_MAX; }

  // What it is made of now. Any thread.
  struct Layout {
    std::uint64_t version = 0;
    std::uint64_t bytes = 0;
    std::vector<std::uint64_t> chunk_bytes;
    bool chunks_known = true;  // of an export that another process began they are not
    ExportParts parts;
    ExportSources sources;
  };
  [[nodiscard]] std::shared_ptr<const Layout> layout() const;
  // What hb_range_gone finds it by stands for every part of `layout` already, and replaces what stood before.
  void set_layout(std::shared_ptr<const Layout> layout, std::vector<ExportedRanges::Ticket> ranges);
  void set_version(std::uint64_t version);  // of the same layout
  void forget_ranges() noexcept;

  // Whether any of its bytes lie there. Exports of the library's own memory outlive it, and whatever is at
  // its addresses then is not theirs.
  [[nodiscard]] bool covers(const void* start, std::uint64_t bytes) const;
  [[nodiscard]] bool uses(const Memory& memory) const;
  // As far as this process knows.
  [[nodiscard]] bool is_live() const noexcept {
    return !withdrawn.load(std::memory_order_acquire) && (returns() || !session()->is_lost());
  }
  [[nodiscard]] KeyBytes subkey(std::uint64_t offset, std::uint64_t length) const;

 private:
  // Nothing is allocated or freed under it: a free hook that waits for it may hold the allocator's lock.
  mutable std::mutex lock_;
  std::shared_ptr<Session> session_;
  std::string token_;
  std::string why_ended_;
  std::atomic<bool> returns_{false};
  std::shared_ptr<const Layout> layout_;
  std::vector<ExportedRanges::Ticket> ranges_;
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
