// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// An allocation of the driver's, by its handle, and how it is given back.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "error.h"
#include "providers/hip/access.h"
#include "wire/unique_fd.h"

namespace hb::client::hip {

// Goes with hipMemRelease, and not before its mapping: an owner never outlives what it maps.
class OwnedHandle {
 public:
  OwnedHandle(ContextPtr context, MemHandle handle) : context_(std::move(context)), handle_(handle) {}
  OwnedHandle(OwnedHandle&& other) noexcept;
  OwnedHandle& operator=(OwnedHandle&&) = delete;
  ~OwnedHandle();

  void swap(OwnedHandle& other) noexcept;
  [[nodiscard]] MemHandle get() const { return handle_; }
  // A new descriptor of the allocation, never below 3 and close-on-exec. Inside a DriverScope.
  [[nodiscard]] Result<UniqueFd> export_descriptor(const std::string& doing);
  // Inside a DriverScope.
  void release();
  // In a forked child: nothing here is the child's.
  void forget();

 private:
  ContextPtr context_;
  MemHandle handle_ = nullptr;
  // Where every export answers one number that is the runtime's as well: that number, to be closed once the
  // handle is gone, and a duplicate from which all others are made.
  int shared_number_ = -1;
  UniqueFd shared_duplicate_;
  // Which file the number was, for when no duplicate could be had.
  std::pair<dev_t, ino_t> shared_file_;
};

// Calls that failed while memory was given back, in this process: what they left is lost until it ends.
[[nodiscard]] std::uint64_t teardown_failures();

// Counts it unless it is success.
void note_teardown(HipError code);

}  // namespace hb::client::hip
