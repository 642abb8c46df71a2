// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One import: a mapping and its lease, or an alias of the owner's memory. Counted by the cache.
#pragma once

#include <cstdint>
#include <memory>
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

}  // namespace hb::client

struct hb_import {
  hb_import() = default;
  hb_import(const hb_import&) = delete;
  hb_import& operator=(const hb_import&) = delete;
  ~hb_import();

  // Two loads and no system call.
  [[nodiscard]] bool is_current() const noexcept {
    return alias_of != nullptr ? alias_of->is_live() : lease.is_current();
  }

  // Whether the CPU may use ptr.
  [[nodiscard]] bool host_granted() const {
    return range != nullptr ? range->host_granted() : alias_memory->allocation().host_granted();
  }

  std::shared_ptr<hb::client::Client> client;
  hb::client::Grant grant;
  void* ptr = nullptr;
  int ordinal = -1;                 // of the owner's GPU in this process; -1 = hidden, or host memory
  std::vector<hb_peer> peers;       // as hb_import_info shows them
  const void* map_start = nullptr;  // of all that is mapped, in the interval map
  hb::client::Lease lease;
  std::unique_ptr<hb::client::ImportedRange> range;
  std::shared_ptr<hb::client::ExportRecord> alias_of;
  std::shared_ptr<hb::client::Memory> alias_memory;

  // The cache's, under its lock.
  hb::client::ImportKey key;
  std::uint64_t uses = 1;
  bool cached = false;  // findable
  bool doomed = false;  // nobody may hold it any more
};
