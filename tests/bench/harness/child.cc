// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/harness/child.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "bench/harness/check.h"
#include "wire/unique_fd.h"

namespace hb::bench {

void Child::die_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
}

Child Child::fork_and_run(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  HB_BENCH_CHECK(pid >= 0);
  if (pid == 0) {
    die_with(parent);
    body();
    std::fflush(nullptr);
    ::_exit(0);
  }
  return Child(pid);
}

Child Child::execute(const std::vector<std::string>& command, const std::function<void()>& prepare) {
  return fork_and_run([&] {
    prepare();
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    die("cannot execute %s", command[0].c_str());
  });
}

void Child::kill_and_reap() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

int Child::terminate(int timeout_ms) {
  if (pid_ > 0) ::kill(pid_, SIGTERM);
  return wait(timeout_ms);
}

int Child::wait(int timeout_ms) {
  if (pid_ <= 0) return 0;
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  HB_BENCH_CHECK(process);
  pollfd wanted{process.get(), POLLIN, 0};
  int ready = 0;
  while ((ready = ::poll(&wanted, 1, timeout_ms)) < 0 && errno == EINTR) {
  }
  if (ready == 0) ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

}  // namespace hb::bench
