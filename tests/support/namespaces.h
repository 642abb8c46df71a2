// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Processes in namespaces of their own, as a container's runtime makes them.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace hb::test {

struct Namespaces {
  int flags = 0;  // CLONE_NEWUSER, CLONE_NEWNET, ...
  // Of CLONE_NEWUSER: "INSIDE OUTSIDE COUNT" a line; "" leaves the namespace without a map. Where there is
  // one, the process becomes uid and gid 0 inside.
  std::string uid_map;
  std::string gid_map;
  // With CLONE_NEWNS: an empty directory, where a file system is put together of what programs need (/usr,
  // the build, /proc) and of these, each bound from outside to a path inside. The rest of the host is gone.
  std::string root;
  std::vector<std::pair<std::string, std::string>> binds;
};

inline constexpr int kAllNamespaces =
    0x7e020000;  // CLONE_NEWUSER, NEWPID, NEWNET, NEWIPC, NEWUTS, NEWCGROUP, NEWNS

// As fork(), into namespaces. Its child waits until both sides are ready: the parent calls let_go(), the
// child enter(), which returns the call that failed, or null.
class NamespaceFork {
 public:
  explicit NamespaceFork(const Namespaces& wanted) : wanted_(wanted) {}
  [[nodiscard]] pid_t fork();
  void let_go(pid_t child);  // throws
  [[nodiscard]] const char* enter();

 private:
  const Namespaces& wanted_;
  int gate_[2] = {-1, -1};
};

}  // namespace hb::test
