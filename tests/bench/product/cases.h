// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The verbs of hb_bench_product. Each answers rounds until it is told to quit.
#pragma once

#include "bench/product/rig.h"

namespace hb::bench {

enum class FindBy { kKey, kName };

// hb_import_open and hb_import_close of 2 MiB in one chunk: acquire, map, unmap, release.
void run_acquire(const Rig& rig, FindBy by);
// hb_handles_acquire and hb_handles_release of an export with so many chunks.
void run_handles(const Rig& rig, std::size_t chunks);
// hb_export_create of one descriptor; withdrawn outside the measured time.
void run_register(const Rig& rig);
// hb_import_open and hb_import_close of what is imported already; a sample is 1,000 of them.
void run_cached(const Rig& rig, std::size_t entries);
// Closed loop over raw sessions. With `release_each` every acquire is followed by its release; else all
// are released when the clock has stopped, as the floor's server has nothing to release.
void run_throughput(const Rig& rig, std::size_t connections, bool release_each);
// The daemon's memory for each export, when so many exist: ranges of one allocation.
void run_memory(const Rig& rig, const std::vector<std::size_t>& counts);
// `hipbrokerctl ls` and `hipbrokerctl metrics` as programs, when so many exports exist.
void run_looking(const Rig& rig, std::size_t count);

}  // namespace hb::bench
