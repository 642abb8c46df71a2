// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/system_calls.h"

#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

#include "wire/sys_error.h"

namespace hb::os {
namespace {

// By what of the daemon makes them. Names that a machine does not have are left out.
constexpr auto kAllowed = std::to_array<std::string_view>({
    // Descriptors, files, directories: sessions, /proc, configuration, the directories of the sockets.
    "close",
    "close_range",
    "dup",
    "dup2",
    "dup3",
    "fcntl",
    "fcntl64",
    "fstat",
    "fstat64",
    "fstatat64",
    "fstatfs",
    "fstatfs64",
    "fsync",
    "fdatasync",
    "ftruncate",
    "ftruncate64",
    "getdents64",
    "lseek",
    "_llseek",
    "lstat",
    "lstat64",
    "newfstatat",
    "open",
    "openat",
    "pipe",
    "pipe2",
    "pread64",
    "pwrite64",
    "read",
    "readv",
    "readlink",
    "readlinkat",
    "stat",
    "stat64",
    "statfs",
    "statfs64",
    "statx",
    "write",
    "writev",
    "access",
    "faccessat",
    "faccessat2",
    "chmod",
    "fchmod",
    "fchmodat",
    "flock",
    "getcwd",
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "rmdir",
    "umask",
    "unlink",
    "unlinkat",
    "kcmp",
    "memfd_create",
    "fallocate",
    // Sockets: the listeners, the sessions, doorbells, the service manager, the journal.
    "accept",
    "accept4",
    "bind",
    "connect",
    "getpeername",
    "getsockname",
    "getsockopt",
    "listen",
    "recvfrom",
    "recvmsg",
    "sendmsg",
    "sendto",
    "setsockopt",
    "shutdown",
    // The event loop.
    "epoll_create1",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_wait",
    "eventfd2",
    "poll",
    "ppoll",
    "pidfd_open",
    "timerfd_create",
    "timerfd_gettime",
    "timerfd_settime",
    "clock_getres",
    "clock_gettime",
    "clock_nanosleep",
    "gettimeofday",
    "nanosleep",
    "time",
    // Memory and threads.
    "brk",
    "exit",
    "exit_group",
    "futex",
    "futex_time64",
    "getrandom",
    "madvise",
    "membarrier",
    "mremap",
    "munmap",
    "restart_syscall",
    "rseq",
    "rt_sigaction",
    "rt_sigpending",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigtimedwait",
    "sched_getaffinity",
    "sched_yield",
    "set_robust_list",
    "set_tid_address",
    "sigaltstack",
    // Who and what am I.
    "getegid",
    "geteuid",
    "getgid",
    "getpid",
    "getppid",
    "getrlimit",
    "getrusage",
    "gettid",
    "getuid",
    "sysinfo",
    "uname",
});

// What no part of the daemon would ever call: the process is not itself any more.
constexpr auto kKilled = std::to_array<std::string_view>({
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "pidfd_getfd",
    "execve",
    "execveat",
    "mount",
    "umount",
    "umount2",
    "pivot_root",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "chroot",
    "unshare",
    "setns",
    "bpf",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "keyctl",
    "add_key",
    "request_key",
    "perf_event_open",
});

using Filter = std::unique_ptr<void, decltype(&::seccomp_release)>;

class Rules {
 public:
  explicit Rules(scmp_filter_ctx filter) : filter_(filter) {}

  template <class... Tests>
  void add(std::uint32_t action, std::string_view name, const Tests&... tests) {
    const int number = ::seccomp_syscall_resolve_name(std::string(name).c_str());
    if (number == __NR_SCMP_ERROR || failed_ != 0) return;  // newer than this libseccomp: EPERM is its answer
    const int code = ::seccomp_rule_add(filter_, action, number, sizeof...(tests), tests...);
    if (code != 0) {
      failed_ = -code;
      name_ = name;
    }
  }
  [[nodiscard]] tl::expected<void, std::string> result() const {
    if (failed_ == 0) return {};
    return tl::unexpected("the rule for " + std::string(name_) + ": " +
                          SysError{"seccomp_rule_add", failed_}.text());
  }

 private:
  scmp_filter_ctx filter_;
  int failed_ = 0;
  std::string_view name_;
};

// Calls of which only some uses are the daemon's.
void add_narrowed(Rules& rules) {
  const auto allow = [&rules](std::string_view name, const auto&... tests) {
    rules.add(SCMP_ACT_ALLOW, name, tests...);
  };
  for (const char* name : {"socket", "socketpair"}) allow(name, SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
  // No memory is ever made executable: all code is loaded by now.
  for (const char* name : {"mmap", "mmap2", "mprotect"}) {
    allow(name, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  }
  for (const unsigned long request : {FIONBIO, FIONREAD, SIOCOUTQ, TCGETS}) {
    allow("ioctl", SCMP_A1(SCMP_CMP_EQ, request));
  }
  for (const unsigned long option : {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE}) {
    allow("prctl", SCMP_A0(SCMP_CMP_EQ, option));
  }
  // Threads, never processes. Which of both clone3() makes stands in memory, where no filter can look: at
  // ENOSYS the C library takes clone().
  allow("clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
  rules.add(SCMP_ACT_ERRNO(ENOSYS), "clone3");
  // abort() raises its signal in this process.
  allow("tgkill", SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(::getpid())));
  allow("prlimit64", SCMP_A0(SCMP_CMP_EQ, 0));
}

}  // namespace

tl::expected<void, std::string> restrict_system_calls() {
  const Filter filter(::seccomp_init(SCMP_ACT_ERRNO(EPERM)), &::seccomp_release);
  if (filter == nullptr) return tl::unexpected(std::string("seccomp_init failed"));
  // A call by the numbers of another architecture (32 bits) would pass by the names above.
  int code = ::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  if (code == 0) code = ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1);
  if (code != 0) return tl::unexpected(SysError{"seccomp_attr_set", -code}.text());
  Rules rules(filter.get());
  for (const std::string_view name : kAllowed) rules.add(SCMP_ACT_ALLOW, name);
  for (const std::string_view name : kKilled) rules.add(SCMP_ACT_KILL_PROCESS, name);
  add_narrowed(rules);
  if (auto result = rules.result(); !result) return result;
  code = ::seccomp_load(filter.get());
  if (code != 0) return tl::unexpected(SysError{"seccomp_load", -code}.text());
  return {};
}

}  // namespace hb::os
