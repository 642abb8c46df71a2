// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What one process has of the machine: handles, reserved addresses, what is mapped where and for whom.
// Refusals are those measured on an H200 (driver 580).
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "fake_hip/fd_vault.h"
#include "gpu/fake_cuda/machine.h"
#include "gpu/shim/cuda_api.h"

namespace hb::fakecuda {

inline constexpr std::size_t kGranularity = 2u << 20;

struct Handle {
  std::size_t bytes = 0;
  int device = 0;  // of the machine
  bool imported = false;
  bool exportable = false;
  int references = 1;  // the caller's, and one of each mapping
};
struct Mapping {
  std::size_t bytes = 0;
  cuda::MemHandle handle = 0;
  std::map<int, int> granted;  // device of the machine: flags
};

class Process {
 public:
  std::mutex mutex;  // of everything below

  cuda::Result create(int device, std::size_t bytes, bool exportable, cuda::MemHandle& out);
  cuda::Result release(cuda::MemHandle handle);
  cuda::Result share(cuda::MemHandle handle, int& out);
  cuda::Result import(BorrowedFd shared, cuda::MemHandle& out);

  cuda::Result reserve(std::size_t bytes, std::uintptr_t wish, std::uintptr_t& out);
  cuda::Result unreserve(std::uintptr_t at, std::size_t bytes);
  cuda::Result map(std::uintptr_t at, std::size_t bytes, cuda::MemHandle handle);
  // Whole mappings only; all of them or none.
  cuda::Result unmap(std::uintptr_t at, std::size_t bytes);
  cuda::Result grant(std::uintptr_t at, std::size_t bytes, int device, int flags);

  // nullptr: nothing is mapped there.
  [[nodiscard]] const Mapping* around(std::uintptr_t at, std::uintptr_t& start) const;
  [[nodiscard]] const Handle* find(cuda::MemHandle handle) const;
  [[nodiscard]] bool is_reserved(std::uintptr_t at) const;
  // Between device memory, for `device`, and the CPU's.
  cuda::Result read(std::uintptr_t from, char* to, std::size_t bytes, int device);
  cuda::Result write(std::uintptr_t to, const char* from, std::size_t bytes, int device);

  std::set<std::uintptr_t> mallocs;  // mappings made by cuMemAlloc

 private:
  cuda::Result keep(Object object, Handle handle, cuda::MemHandle& out);
  void drop(cuda::MemHandle handle);
  template <class Move>
  cuda::Result each(std::uintptr_t at, std::size_t bytes, int device, int wanted, Move move);
  // The mappings of exactly this range; empty when it is not whole ones without a gap.
  [[nodiscard]] std::vector<std::uintptr_t> whole(std::uintptr_t at, std::size_t bytes) const;

  std::map<cuda::MemHandle, Handle> handles_;
  std::map<std::uintptr_t, Mapping> mappings_;
  std::map<std::uintptr_t, std::size_t> reserved_;
  fakehip::FdVault vault_;  // 2 * handle: its memory; one more: its token
  cuda::MemHandle next_ = 0x1000;
};

[[nodiscard]] Process& process();
// cuInit was called, in this process and not in one it was forked from.
[[nodiscard]] bool usable();
void start();
// The thread's context, as a device of the machine; -1 without one.
[[nodiscard]] int& current();

}  // namespace hb::fakecuda

#define FAKE_CUDA_API extern "C" __attribute__((visibility("default")))
#define FAKE_CUDA_ENTER()                                            \
  if (!::hb::fakecuda::usable()) return ::hb::cuda::kNotInitialized; \
  ::hb::fakecuda::Process& p = ::hb::fakecuda::process();            \
  const std::lock_guard guard(p.mutex)
