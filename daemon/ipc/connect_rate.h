// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Connections that a uid may make, a bucket of them for each uid of each scope: what a connection costs
// before it is a session is the loop's time, which all share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "core/ids.h"
#include "ipc/edge_error.h"
#include "ipc/scope.h"

namespace hb::ipc {

class ConnectRate {
 public:
  // One more; the error where that is too many. `per_second` is what the policy says now, 0 = none at all.
  [[nodiscard]] std::optional<EdgeError> admit(const Payer& payer, std::uint64_t per_second, core::Time now);

  [[nodiscard]] std::size_t size() const { return buckets_.size(); }

 private:
  struct Bucket {
    double tokens = 0;
    core::Time filled = 0;      // when tokens were counted last
    core::Time second = 0;      // when `recent` began
    std::uint64_t recent = 0;   // connections of this second, refused ones too
    core::Time full_again = 0;  // from then on it is like a new one
  };
  void forget_full_ones(core::Time now);

  std::map<Payer, Bucket> buckets_;
  std::size_t forget_at_ = 1024;
};

}  // namespace hb::ipc
