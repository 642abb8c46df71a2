// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Stand-ins for GPU memory: sealed memfds with a pattern. Object `number` begins with the u64 `number`; the
// rest of its first page, and its last page, hold the byte `number & 0xff`. The middle stays a hole, so that
// 120 GiB cost two pages.
#pragma once

#include <cstdint>
#include <string>

#include "wire/unique_fd.h"

namespace hb::test {

inline constexpr std::uint64_t kPage = 4096;
inline constexpr int kDaemonSeals = 0x1 | 0x2 | 0x4;  // F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW

// Throws std::runtime_error with the errno when the kernel refuses.
[[nodiscard]] UniqueFd plain_memfd(std::uint64_t bytes, unsigned flags = 0x2 /* MFD_ALLOW_SEALING */);
void put_pattern(int fd, std::uint64_t offset, std::uint64_t bytes, std::uint64_t number);
[[nodiscard]] UniqueFd sealed_memfd(std::uint64_t bytes, std::uint64_t number, int seals = kDaemonSeals);
// A second open file of the same object.
[[nodiscard]] UniqueFd reopen(int fd, int flags);

// Empty when [offset, offset + bytes) of the descriptor holds the pattern of `number`, else what differs.
[[nodiscard]] std::string pattern_error(int fd, std::uint64_t offset, std::uint64_t bytes,
                                        std::uint64_t number);
[[nodiscard]] std::string pattern_error(const void* memory, std::uint64_t bytes, std::uint64_t number);

}  // namespace hb::test
