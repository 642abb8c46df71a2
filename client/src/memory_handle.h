// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a program holds of memory of the library's own.
#pragma once

#include <memory>

#include "memory.h"

struct hb_memory {
  std::shared_ptr<hb::client::Memory> memory;
};
