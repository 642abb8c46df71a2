// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The machine that fake_cuda (a stand-in for libcuda.so.1) pretends to run on: GPUs whose memory is files.
// It proves plumbing, not numbers: copies are the CPU's.
//
//   FAKE_CUDA_DEVICES=2       GPUs, at most 8; all reach each other. CUDA_VISIBLE_DEVICES chooses by number
//   FAKE_CUDA_MIB=81920       memory of each
//   FAKE_CUDA_STATE=DIR       a folder: processes that name the same one share the machine
//   FAKE_CUDA_HANDLES=memfd   what a descriptor of an allocation is: a sealed memfd, or, with "pty",
//   something
//                             that looks like NVIDIA's: a character device with one inode for all (/dev/ptmx)
//                             and no size. Its memory is a file in DIR, found by the number of the terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "wire/unique_fd.h"

namespace hb::fakecuda {

// Physical memory of one allocation.
struct Object {
  UniqueFd memory;  // read and written by pread and pwrite: the CPU has no mapping of it, as on the real one
  UniqueFd token;   // what is shared instead; empty where `memory` is
  int device = 0;   // by its place in the machine
  std::size_t bytes = 0;
};

// Nothing with errno: ENOMEM when the device is full.
[[nodiscard]] std::optional<Object> make_object(int device, std::size_t bytes);
// The object behind a descriptor that came from another process; nothing when it is none of this machine's.
[[nodiscard]] std::optional<Object> open_object(BorrowedFd shared);

[[nodiscard]] std::size_t device_bytes();
[[nodiscard]] std::size_t used_bytes(int device);
// The machine's GPUs that this process sees, in its order.
[[nodiscard]] const std::vector<int>& visible();

}  // namespace hb::fakecuda
