// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Keeps memfds open without spending numbers of the process's descriptor table: real allocations cost none
// before 7.14, and tests count descriptors. A thread with a table of its own (unshare(CLONE_FILES)) holds
// them and hands duplicates back over a socket, which is the one number the vault costs. When a table is
// full (RLIMIT_NOFILE holds for each) another keeper is started. Not thread-safe: the caller's lock guards
// it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "wire/unique_fd.h"

namespace hb::fakehip {

class FdVault {
 public:
  // True when the vault now holds `fd` under `key`.
  bool put(std::uint64_t key, UniqueFd fd);
  // A duplicate, or empty with errno.
  [[nodiscard]] UniqueFd get(std::uint64_t key);
  // Returns after the keeper's close.
  void drop(std::uint64_t key);
  [[nodiscard]] std::size_t size() const { return where_.size(); }

 private:
  struct Answer {
    bool ok = false;
    UniqueFd fd;
  };
  bool start_keeper();
  Answer ask(std::size_t keeper, char operation, std::uint64_t key, int fd);

  std::vector<UniqueFd> keepers_;
  std::map<std::uint64_t, std::size_t> where_;
};

}  // namespace hb::fakehip
