// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How much memory each device holds, over all processes, with no record that anybody must keep: each memfd
// carries an open-file-description lock whose range says (machine, device, pages). Such a lock lives exactly
// as long as the open file: through dup, SCM_RIGHTS (unread messages too) and mappings, and it goes with
// the last of them, however the processes died. /proc/locks shows all of them to everybody.
//
// A file reopened through /proc/<pid>/fd is another open file and is not counted.
#pragma once

#include <cstdint>
#include <string_view>

namespace hb::fakehip {

// Machine: names of FAKE_HIP_STATE hashed to 21 bits. Device line: 0..127, kHostLine for host memory.
inline constexpr int kHostLine = 127;
[[nodiscard]] std::uint32_t machine_number(std::string_view state_name);

// Marks the memfd behind a borrowed descriptor. False with errno.
[[nodiscard]] bool account(int memfd, std::uint32_t machine, int line, std::uint64_t bytes);

[[nodiscard]] std::uint64_t accounted_bytes(std::uint32_t machine, int line);

}  // namespace hb::fakehip
