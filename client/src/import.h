// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One import: a mapping and its lease, or an alias of the owner's memory. Counted by the cache.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "acquire.h"
#include "device_record.h"
#include "error.h"
#include "export_record.h"
#include "hipbroker/hipbroker.h"
#include "memory.h"
#include "providers/provider.h"
#include "session.h"

namespace hb::client {

class Client;

// What makes two imports the same.
struct ImportKey {
  AcquireTarget target;
  std::uint64_t offset = 0;
  std::uint64_t bytes = HB_WHOLE;
  std::uint32_t access = 0;
  std::uint32_t demand_level = 0;
  DeviceSet peers;
  HostAccess host = HostAccess::kNone;
  Mapping mapping = Mapping::kVmm;
  std::uint64_t reserve_bytes = 0;  // 0: what the export may grow to, where it goes to the end
  bool operator==(const ImportKey&) const = default;
  [[nodiscard]] std::uint64_t hash() const;
};

struct ImportRequest {
  ImportKey key;
  void* address = nullptr;
  bool alias = false;
  bool wait = false;
  std::uint64_t deadline_ns = 0;
};

// HB_IMPORT_OPTIONS in; a mapping from the cache or a new one out, counted once more.
[[nodiscard]] Result<hb_import*> open_import(const std::shared_ptr<Client>& client,
                                             const ImportRequest& request);
void close_import(hb_import* imported) noexcept;

// What a source of pages brings, mapped. The cache knows nothing of it.
using GrantSource = std::function<Result<Acquired>(const PageSink& sink)>;
[[nodiscard]] Result<std::unique_ptr<hb_import>> map_grant(const std::shared_ptr<Client>& client,
                                                           const ImportKey& key, void* address,
                                                           const GrantSource& source);

// One chunk of a page as the range takes it.
[[nodiscard]] Result<ImportedRange::Part> part_of(const Grant& grant, const GrantPage& page,
                                                  const PageChunk& chunk);

}  // namespace hb::client

struct hb_import {
  hb_import() = default;
  hb_import(const hb_import&) = delete;
  hb_import& operator=(const hb_import&) = delete;
  ~hb_import();

  // Two loads and no system call.
  [[nodiscard]] bool is_current() const noexcept {
    return alias_of != nullptr ? alias_of->is_live() && !alias_of->suspended.load() : lease.is_current();
  }
  // And it is all there is.
  [[nodiscard]] bool is_exact() const noexcept { return lease.is_exact() && !asleep.load(); }

  // Whether the CPU may use ptr.
  [[nodiscard]] bool host_granted() const {
    return range != nullptr ? range->host_granted() : alias_memory->allocation().host_granted();
  }

  // Addresses held, from the first byte asked for.
  [[nodiscard]] std::uint64_t reserved_bytes() const;
  // In the interval map, while it is mapped.
  void show();
  void hide() noexcept;

  std::shared_ptr<hb::client::Client> client;
  // Its numbers change with a refresh, under `look`; texts and lists never do. Whoever has the turn to change
  // the mapping reads without it.
  hb::client::Grant grant;
  void* ptr = nullptr;
  int ordinal = -1;                 // of the owner's GPU in this process; -1 = hidden, or host memory
  std::vector<hb_peer> peers;       // as hb_import_info shows them
  const void* map_start = nullptr;  // of all that is mapped, while it is in the interval map
  std::uint64_t interval = 0;       // its entry there
  hb::client::Lease lease;          // of another session after the first was lost (reattach.h)
  std::unique_ptr<hb::client::ImportedRange> range;
  std::shared_ptr<hb::client::ExportRecord> alias_of;
  std::shared_ptr<hb::client::Memory> alias_memory;

  bool of_group = false;            // it ends with its group, and that with its session
  std::atomic<bool> asleep{false};  // nothing is mapped until the next refresh
  mutable std::mutex look;          // never held while anything is mapped or asked for
  std::condition_variable changed;
  bool changing = false;  // someone has the turn to change the mapping

  // The cache's, under its lock.
  hb::client::ImportKey key;
  std::uint64_t uses = 1;
  bool cached = false;  // findable
  bool doomed = false;  // nobody may hold it any more
};
