// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A hipbrokerd of the benchmark's own, in a private directory, pinned like the floor's server.
#pragma once

#include <string>

#include "bench/harness/child.h"
#include "bench/harness/placement.h"

namespace hb::bench {

class PrivateDaemon {
 public:
  // Returns when the socket takes connections; dies, naming the log, when the daemon ends before.
  PrivateDaemon(const std::string& program, Placement placement);
  ~PrivateDaemon();
  PrivateDaemon(const PrivateDaemon&) = delete;
  PrivateDaemon& operator=(const PrivateDaemon&) = delete;

  [[nodiscard]] const std::string& socket() const { return socket_; }
  [[nodiscard]] pid_t pid() const { return child_.pid(); }

 private:
  void wait_until_ready();

  std::string directory_, socket_, log_;
  Child child_;
};

}  // namespace hb::bench
