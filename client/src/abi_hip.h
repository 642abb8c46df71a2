// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include "hipbroker/hipbroker.h"
#include "providers/hip/probe.h"

namespace hb::client {

[[nodiscard]] hb_hip_report report_of(const hip::Runtime& runtime, const hip::Device& device,
                                      const hip::ProbeReport& report) noexcept;

}  // namespace hb::client
