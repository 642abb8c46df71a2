// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory of the library's own. Shared by its handle, by exports that may be imported as aliases, and by
// those aliases: an alias never dangles.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "error.h"
#include "fork_guard.h"
#include "providers/provider.h"

namespace hb::client {

class Memory : public std::enable_shared_from_this<Memory> {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Memory>> create(std::uint32_t provider_number,
                                                              const AllocateRequest& request,
                                                              ProcessMark mark);
  Memory(std::unique_ptr<Allocation> allocation, ProcessMark mark);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] const Allocation& allocation() const { return *allocation_; }

  // As the allocation's, for any thread: they wait for each other. HB_FORKED in a forked child.
  [[nodiscard]] Result<void> grow(std::uint64_t bytes);
  // HB_BUSY while an export of it is alive and not suspended, or is being made: a reader would find nothing.
  [[nodiscard]] Result<void> sleep();
  [[nodiscard]] Result<void> wake();
  // From the moment on that sleep() begins. Whoever exports it announces that first (ExportedRanges) and asks
  // then: so either side sees the other.
  [[nodiscard]] bool is_asleep() const noexcept { return asleep_.load(); }

  // False in a forked child.
  [[nodiscard]] bool is_here() const noexcept { return mark_.is_here(); }

 private:
  void show();  // in the interval map
  [[nodiscard]] Result<void> check_here() const;
  [[nodiscard]] Result<void> check_exports() const;

  std::unique_ptr<Allocation> allocation_;
  ProcessMark mark_;
  std::uint64_t interval_ = 0;
  std::mutex change_;
  std::atomic<bool> asleep_{false};
};

}  // namespace hb::client
