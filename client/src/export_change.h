// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// An export that is there gets other chunks: more behind the last, others in the place of some, all of them
// again after a sleep. And the sleep itself.
#pragma once

#include <cstdint>
#include <functional>

#include "exports.h"

namespace hb::client {

// `source`: its memory and deadline count. Whole or not at all; HB_BUSY while another thread changes it.
// HB_MIXED before a byte is sent, naming the chunk, for another kind or device.
[[nodiscard]] Result<void> append_export(Client& client, const std::shared_ptr<ExportRecord>& record,
                                         const ExportRequest& source);
[[nodiscard]] Result<void> replace_export(Client& client, const std::shared_ptr<ExportRecord>& record,
                                          std::uint64_t first_chunk, const ExportRequest& source);
[[nodiscard]] Result<void> resume_export(Client& client, const std::shared_ptr<ExportRecord>& record,
                                         const ExportRequest& source);

struct Suspended {
  std::uint64_t layout_version = 0;  // of the sleep
  std::uint64_t holders = 0;         // that have not unmapped
  bool more = false;                 // than `left` was shown
};
// Waits until the deadline for the holders to unmap, and somewhat longer for the daemon. `left` is called for
// each that has not.
using LeftHolder = std::function<void(const msg::Holder&)>;
[[nodiscard]] Result<Suspended> suspend_export(ExportRecord& record, std::uint64_t deadline_ns,
                                               const LeftHolder& left);

}  // namespace hb::client
