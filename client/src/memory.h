// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory of the library's own. Shared by its handle, by exports that may be imported as aliases, and by
// those aliases: an alias never dangles.
#pragma once

#include <memory>

#include "error.h"
#include "fork_guard.h"
#include "providers/provider.h"

namespace hb::client {

class Memory {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Memory>> create(std::uint32_t provider_number,
                                                              const AllocateRequest& request,
                                                              ProcessMark mark);
  // Of an allocation that is made already; from here on it is found by its address.
  [[nodiscard]] static std::shared_ptr<Memory> of(std::unique_ptr<Allocation> allocation, ProcessMark mark);
  Memory(std::unique_ptr<Allocation> allocation, ProcessMark mark);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] const Allocation& allocation() const { return *allocation_; }
  // False in a forked child.
  [[nodiscard]] bool is_here() const noexcept { return mark_.is_here(); }

 private:
  std::unique_ptr<Allocation> allocation_;
  ProcessMark mark_;
};

}  // namespace hb::client
