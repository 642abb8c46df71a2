// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Answers that are made and wait here, of each principal over all its sessions: for a close that has to be
// done first, or for a peer that does not read. Each is memory of the daemon.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "core/types.h"
#include "ipc/edge_error.h"
#include "ipc/scope.h"

namespace hb::ipc {

class Unanswered {
 public:
  using Who = Payer;
  [[nodiscard]] static Who who(const core::Principal& principal) { return {principal.scope, principal.uid}; }

  void add(const Who& who) { ++answers_[who]; }
  void remove(const Who& who, std::uint64_t count = 1);
  [[nodiscard]] std::uint64_t of(const Who& who) const;
  [[nodiscard]] bool empty() const { return answers_.empty(); }

  // QUOTA where another request would be one too many.
  [[nodiscard]] std::optional<EdgeError> refuse(const core::Principal& principal) const;

 private:
  std::map<Who, std::uint64_t> answers_;
};

}  // namespace hb::ipc
