// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How the two halves meet: the HIP half, when it is loaded, gives this table to libhsa-runtime64.so.1
// (fake_hsa_attach), whose entry points call through it. Without it that library finds no GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi.h"

namespace hb::fakehip {

struct State;

struct HsaTable {
  int (*agent_count)();
  // Attribute numbers of hsa_agent_get_info; an HSA status.
  int (*agent_info)(int line_position, int attribute, void* value);
  int (*portable_export)(const void* ptr, std::size_t size, int* fd, std::uint64_t* offset);
  int (*portable_close)(int fd);
  int (*pointer_info)(const void* ptr, HsaPointerInfo* info, std::uint32_t* accessible_count,
                      std::uint64_t* accessible, std::uint32_t capacity);
};

extern const HsaTable kHsaTable;  // hsa_side.cc

// A descriptor for the object behind a range and where the range begins in it. Under State's mutex.
[[nodiscard]] HipError export_range(State& s, const void* ptr, std::size_t size, int& fd,
                                    std::uint64_t& offset);

}  // namespace hb::fakehip
