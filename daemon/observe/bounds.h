// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstddef>

#include "wire/limits.h"

namespace hb::limits {

// What is to be written and has not been: a log or a journal that nobody reads costs no more than this.
inline constexpr std::size_t kLogLines = 4096;
inline constexpr std::size_t kLogBytes = 1024 * 1024;
inline constexpr std::size_t kAuditBytes = 16 * 1024 * 1024;  // of kAuditRecords
inline constexpr std::size_t kAuditShare = 2048;              // records that one principal causes in 10 s
inline constexpr std::size_t kAuditRepeats = 4096;            // refusals that are watched for repeats

}  // namespace hb::limits
