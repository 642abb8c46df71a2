// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/process.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>

#include "support/temp_dir.h"

namespace hb::test {
namespace {

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

bool install_theft_filter() {
  const auto number = static_cast<std::uint32_t>(offsetof(seccomp_data, nr));
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_getfd, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program{sizeof code / sizeof *code, code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// In the child, between fork and exec. Returns the call that failed.
const char* prepare(const ProcessOptions& options) {
  if (options.nofile) {
    const rlimit limit{options.nofile_soft.value_or(*options.nofile), *options.nofile};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return "setrlimit(RLIMIT_NOFILE)";
  }
  if (options.uid || options.gid || !options.groups.empty()) {
    if (::setgroups(options.groups.size(), options.groups.data()) != 0) return "setgroups";
    const gid_t gid = options.gid ? *options.gid : options.uid ? *options.uid : ::getgid();
    if (::setresgid(gid, gid, gid) != 0) return "setresgid";
    if (options.uid && ::setresuid(*options.uid, *options.uid, *options.uid) != 0) return "setresuid";
  }
  if (options.forbid_fd_theft && !install_theft_filter()) return "seccomp";
  return nullptr;
}

}  // namespace

Process::Process(const std::vector<std::string>& argv, const ProcessOptions& options,
                 const std::vector<std::pair<int, int>>& inherit) {
  const UniqueFd program(::open(argv.at(0).c_str(), O_PATH | O_CLOEXEC));
  if (!program) throw std::runtime_error("cannot open " + argv[0] + ": " + ::strerrorname_np(errno));
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  const UniqueFd reader(report[0]);
  UniqueFd writer(report[1]);

  NamespaceFork namespaces(options.namespaces);
  pid_ = namespaces.fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ == 0) {
    // Above every number that `inherit` names, and below any limit a test sets.
    int above = 20;
    for (const auto& [mine, theirs] : inherit) above = std::max(above, theirs + 1);
    const int exe = ::fcntl(program.get(), F_DUPFD_CLOEXEC, above);
    const int out = ::fcntl(writer.get(), F_DUPFD_CLOEXEC, above);
    const char* failed = namespaces.enter();  // its own descriptor may have one of those numbers
    std::vector<int> sources;
    for (const auto& [mine, theirs] : inherit) sources.push_back(::fcntl(mine, F_DUPFD_CLOEXEC, above));
    // Whatever else this process was started with: a number of it may be one of those below, and then be
    // gone.
    ::syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
    for (std::size_t i = 0; i < inherit.size(); ++i) ::dup2(sources[i], inherit[i].second);
    for (const auto& [name, value] : options.env)
      value.empty() ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), value.c_str(), 1);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (failed == nullptr) failed = prepare(options);
    if (failed == nullptr) {
      // The leak check stops the process's threads by ptrace: the filter kills it for that, and under another
      // uid it waits for ever.
      if (options.uid || options.forbid_fd_theft || options.namespaces.flags != 0 || !options.leak_check) {
        const char* asan = ::getenv("ASAN_OPTIONS");
        const std::string with = std::string(asan != nullptr ? asan : "") + ":detect_leaks=0";
        ::setenv("ASAN_OPTIONS", with.c_str(), 1);
      }
      // The uid change dropped it.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::syscall(SYS_execveat, exe, "", words.data(), environ, AT_EMPTY_PATH);
      failed = "execveat";
    }
    const std::string text = std::string(failed) + ": " + ::strerrorname_np(errno);
    (void)!::write(out, text.data(), text.size());
    ::_exit(127);
  }
  pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  namespaces.let_go(pid_);
  writer.reset();
  char text[200];
  const ssize_t n = ::read(reader.get(), text, sizeof text);
  if (n > 0) {
    kill_and_reap();
    throw std::runtime_error("cannot start " + argv[0] + ": " +
                             std::string(text, static_cast<std::size_t>(n)));
  }
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    kill_and_reap();
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::move(other.pidfd_);
  }
  return *this;
}

Process::~Process() { kill_and_reap(); }

void Process::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

std::optional<int> Process::wait(std::uint64_t limit_ns) {
  if (pid_ <= 0) return std::nullopt;
  if (!wait_readable(pidfd_.get(), limit_ns)) return std::nullopt;
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) return std::nullopt;
  pid_ = -1;
  pidfd_.reset();
  return status;
}

void Process::kill_and_reap() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
  pidfd_.reset();
}

std::string describe_exit(int wait_status) {
  if (WIFEXITED(wait_status)) return "exited with " + std::to_string(WEXITSTATUS(wait_status));
  return std::string("killed by SIG") + ::sigabbrev_np(WTERMSIG(wait_status));
}

std::uint64_t resident_bytes(pid_t pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/statm");
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return 0;
  return std::strtoull(text.c_str() + space, nullptr, 10) * 4096;
}

char process_state(pid_t pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t end = text.rfind(')');
  return end == std::string::npos || end + 2 >= text.size() ? '\0' : text[end + 2];
}

std::string own_program() {
  char path[4096];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0) throw std::runtime_error("readlink /proc/self/exe");
  return {path, static_cast<std::size_t>(n)};
}

bool may_change_uid() {
  if (::geteuid() == 0) return true;
  ADD_FAILURE()
      << "this test runs processes of several users, which only root can start: run the tests as root";
  return false;
}

}  // namespace hb::test
