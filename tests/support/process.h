// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Other processes of a test: always exec'ed, under any uid, limits and namespaces, killed and reaped with
// the object that stands for them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/namespaces.h"
#include "support/wait.h"
#include "wire/unique_fd.h"

namespace hb::test {

struct ProcessOptions {
  std::optional<std::uint32_t> uid;  // and, unless given, the same number as gid and no other groups
  std::optional<std::uint32_t> gid;
  std::vector<std::uint32_t> groups;
  std::optional<std::uint64_t> nofile;       // hard, and soft unless that is given
  std::optional<std::uint64_t> nofile_soft;  // with nofile only
  Namespaces namespaces;                     // before the uid changes, which is then one inside
  bool leak_check = true;        // by a sanitizer: it stops all threads, and waits for one inside a close
  bool forbid_fd_theft = false;  // a seccomp filter kills it on pidfd_getfd, ptrace, process_vm_readv
  std::vector<std::pair<std::string, std::string>> env;  // added; "" removes
};

// argv[0] is opened before the uid changes, so that a build below a private home directory works too.
class Process {
 public:
  Process() = default;
  // `inherit`: descriptors the child gets, by the number they have there. Throws when it cannot start.
  Process(const std::vector<std::string>& argv, const ProcessOptions& options,
          const std::vector<std::pair<int, int>>& inherit = {});
  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;
  ~Process();  // SIGKILL and reap

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool running() const { return pid_ > 0; }
  void signal(int number) const;
  // The wait status once it has ended; none at the limit (it is left running).
  std::optional<int> wait(std::uint64_t limit_ns = kWatchdogNs);
  void kill_and_reap();

 private:
  pid_t pid_ = -1;
  UniqueFd pidfd_;
};

// "exited with 3", "killed by SIGSEGV".
[[nodiscard]] std::string describe_exit(int wait_status);
// Resident bytes of a process.
[[nodiscard]] std::uint64_t resident_bytes(pid_t pid);
// Character of /proc/PID/stat: 'T' when stopped, 'Z' a zombie, 0 when it is gone.
[[nodiscard]] char process_state(pid_t pid);
[[nodiscard]] std::string own_program();
// Fails the test with what to do about it when the caller is not root. Use: if (!may_change_uid()) return;
[[nodiscard]] bool may_change_uid();

}  // namespace hb::test
