// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/fd_budget.h"

#include "core/failure.h"

namespace hb::core {

std::optional<Error> FdBudget::refuse(std::string_view who_needs, std::uint64_t used,
                                      std::uint64_t need) const {
  const std::uint64_t reserve = limits::fd_reserve(limit_);
  const std::uint64_t usable = limit_ - reserve;
  const std::uint64_t taken = used + promised_;
  if (taken <= usable && need <= usable - taken) return std::nullopt;
  Error error =
      failure(HB_NO_FDS, who_needs, " needs ", need, " descriptors, the daemon uses ", taken, " of ", limit_,
              " (RLIMIT_NOFILE) and keeps ", reserve, " free: raise the daemon's limit above ",
              taken + need + reserve, ", share fewer and larger allocations, or withdraw exports");
  error.what = "RLIMIT_NOFILE";
  error.used = taken;
  error.limit = limit_;
  return error;
}

}  // namespace hb::core
