// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Making and ending exports.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client.h"
#include "hipbroker/hipbroker.h"
#include "providers/provider.h"

namespace hb::client {

struct ExportRequest {
  std::string name;  // "" = anonymous
  std::span<const std::byte> metadata;
  std::span<const hb_acl_entry> acl;
  std::uint32_t max_access = 0;
  std::uint64_t max_bytes = 0;  // it may grow to so many; 0 = it does not grow
  const void* ptr = nullptr;
  std::uint64_t bytes = 0;                   // with ptr
  MemoryKind memory = MemoryKind::kUnknown;  // with ptr: what the caller vouches for
  std::span<const hb_chunk> chunks;          // without
  std::span<const hb_hip_handle> handles;    // or these
  DeviceId device;                           // with chunks, handles: the GPU they are on
  std::uint32_t lifetime = 0;
  std::uint64_t linger_ns = 0;
  bool replace = false;
  std::uint64_t deadline_ns = 0;
};

// HB_GONE once it was withdrawn here, or its session was lost and no other daemon took it again: why.
[[nodiscard]] Result<void> check_live(const ExportRecord& record);

// Whole or not at all.
[[nodiscard]] Result<std::shared_ptr<ExportRecord>> create_export(Client& client,
                                                                  const ExportRequest& request);

struct WithdrawnCount {
  std::uint64_t exports = 0;
  std::uint64_t holders = 0;
};
// HB_GONE when it was withdrawn already, or lost with its session.
[[nodiscard]] Result<WithdrawnCount> withdraw_export(Client& client, ExportRecord& record,
                                                     std::uint64_t deadline_ns);
// Waits so long for its holders. `left` (may be null): who is left then.
[[nodiscard]] Result<WithdrawnCount> withdraw_export(Client& client, ExportRecord& record,
                                                     std::uint64_t wait_ns, std::uint64_t deadline_ns,
                                                     std::unique_ptr<hb_holders>* left);
// In the session it has, and no other is looked for: HB_CLOSED when that is lost.
[[nodiscard]] Result<WithdrawnCount> withdraw_here(Client& client, ExportRecord& record,
                                                   std::uint64_t deadline_ns);
[[nodiscard]] Result<WithdrawnCount> withdraw_id(Client& client, std::uint64_t id, std::uint64_t deadline_ns);
[[nodiscard]] Result<WithdrawnCount> withdraw_range(Client& client, const void* ptr, std::uint64_t bytes,
                                                    std::uint64_t deadline_ns);
[[nodiscard]] Result<WithdrawnCount> withdraw_all(Client& client, std::uint64_t deadline_ns);

}  // namespace hb::client
