// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <string>
#include <vector>

#include "diagnosis.h"
#include "json.h"
#include "table.h"

namespace hb::cli {

// What `doctor` prints.
[[nodiscard]] std::string doctor_text(const Diagnosis& diagnosis, const std::vector<Problem>& problems,
                                      const TableStyle& style);
[[nodiscard]] Json doctor_json(const Diagnosis& diagnosis, const std::vector<Problem>& problems);

}  // namespace hb::cli
