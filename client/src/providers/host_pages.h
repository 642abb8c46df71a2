// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the host provider's files share: pages, addresses without memory, and the errors of mmap().
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "error.h"
#include "providers/provider.h"

namespace hb::client {

[[nodiscard]] std::uint64_t page_bytes();
[[nodiscard]] inline std::uint64_t page_down(std::uint64_t value) { return value & ~(page_bytes() - 1); }
[[nodiscard]] inline std::uint64_t page_up(std::uint64_t value) {
  return page_down(value + page_bytes() - 1);
}

// mmap() answers ENOMEM for address space and for the number of mappings alike; both are named.
[[nodiscard]] Error map_error(const SysError& cause, const std::string& doing, std::int64_t chunk);

// Addresses that nothing is behind and nobody else gets; nullptr with errno.
[[nodiscard]] char* hold_addresses(std::uint64_t bytes);
// Lets go of what is mapped there and holds the addresses. Counts a failure, after which it stays mapped.
void hold_only(char* at, std::uint64_t bytes) noexcept;

[[nodiscard]] Result<std::unique_ptr<Allocation>> allocate_host(const AllocateRequest& request);
[[nodiscard]] std::unique_ptr<ImportedRange> begin_host_import(const RangeRequest& request);

}  // namespace hb::client
