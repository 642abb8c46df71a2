// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A helper process that never outlives its parent, however that ends.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hb::bench {

class Child {
 public:
  Child() = default;
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&& other) noexcept {
    if (this != &other) {
      kill_and_reap();
      pid_ = std::exchange(other.pid_, -1);
    }
    return *this;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { kill_and_reap(); }

  // Forks; the child runs `body` and exits 0. Only from a single-threaded process.
  [[nodiscard]] static Child fork_and_run(const std::function<void()>& body);
  // In the child, before exec: dies with `parent`.
  static void die_with(pid_t parent);
  // Forks and executes; `prepare` runs in the child before.
  [[nodiscard]] static Child execute(const std::vector<std::string>& command,
                                     const std::function<void()>& prepare);

  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill_and_reap();
  // SIGTERM, then SIGKILL at the deadline. The wait status.
  int terminate(int timeout_ms);
  // For one that was asked to end: its wait status; killed at the deadline.
  int wait(int timeout_ms);

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
};

}  // namespace hb::bench
