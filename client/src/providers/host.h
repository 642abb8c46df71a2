// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Host memory: sealed memfds, and whatever else plain mmap() can map (dma-bufs).
#pragma once

#include "providers/provider.h"

namespace hb::client {

class HostProvider final : public Provider {
 public:
  [[nodiscard]] Result<std::unique_ptr<Allocation>> allocate(const AllocateRequest& request) override;
  [[nodiscard]] Result<std::unique_ptr<ImportedRange>> begin_import(const RangeRequest& request) override;
  [[nodiscard]] Result<std::unique_ptr<BlockRange>> reserve(const AllocateRequest& request) override;
};

// Mappings that could not be replaced while memory was given back, in this process: they last as long as the
// range around them.
[[nodiscard]] std::uint64_t host_teardown_failures();
void note_host_teardown_failure();

}  // namespace hb::client
