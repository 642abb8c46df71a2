// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// An export that is there gets other chunks: more behind the last, others in the place of some, all of them
// again after a sleep. And the sleep itself.
#pragma once

#include <cstdint>
#include <memory>

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
};
// Waits so long for the holders to unmap. `left` (may be null): those that have not.
[[nodiscard]] Result<Suspended> suspend_export(Client& client, ExportRecord& record, std::uint64_t wait_ns,
                                               std::uint64_t deadline_ns, std::unique_ptr<hb_holders>* left);

}  // namespace hb::client
