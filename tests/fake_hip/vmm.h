// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Shared by the files of the virtual memory API.
#pragma once

#include "state.h"

namespace hb::fakehip {

inline constexpr std::size_t kSmallPage = 4096;
inline constexpr std::size_t kLargePage = std::size_t{2} << 20;

// Address space without access, placed so that it is aligned to 2 MiB and never to 4 MiB: ROCr does not
// honour a larger alignment. `raw` and `raw_size` say what to unmap. 0 with errno.
[[nodiscard]] std::uintptr_t reserve_address_space(std::size_t size, std::size_t skew, void*& raw,
                                                   std::size_t& raw_size);

// Drops what a handle holds once neither the caller nor a mapping needs it.
void finish_handle(State& s, const std::shared_ptr<Handle>& handle);

// The region goes: its CPU view, its share of the handle.
void remove_region(State& s, std::map<std::uintptr_t, Region>::iterator region);

// A new descriptor for the object behind a handle or region; empty with errno.
[[nodiscard]] UniqueFd descriptor_of(const Handle& handle);
[[nodiscard]] UniqueFd descriptor_of(const Region& region);

// Opens a lazily imported handle. False: not ours.
[[nodiscard]] bool resolve_import(State& s, Handle& handle);

}  // namespace hb::fakehip
