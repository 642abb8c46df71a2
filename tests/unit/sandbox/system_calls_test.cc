// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the sandbox refuses, and for what it kills.
#include "os/system_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "unit/sandbox/confined.h"

namespace hb::test {
namespace {

struct Deed {
  const char* name;
  std::function<long()> call;
};

const os::FileView& only_proc() {
  static const os::FileView view{{"/proc"}, {}};
  return view;
}

TEST(SystemCalls, WhatOnlyAnIntruderTriesKillsWithoutACore) {
  const std::array<Deed, 18> deeds{{
      {"ptrace", [] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }},
      {"process_vm_readv",
       [] { return ::syscall(SYS_process_vm_readv, ::getpid(), nullptr, 0, nullptr, 0, 0); }},
      {"process_vm_writev",
       [] { return ::syscall(SYS_process_vm_writev, ::getpid(), nullptr, 0, nullptr, 0, 0); }},
      {"pidfd_getfd", [] { return ::syscall(SYS_pidfd_getfd, 0, 0, 0); }},
      {"execve", [] { return ::syscall(SYS_execve, "/bin/true", nullptr, nullptr); }},
      {"execveat", [] { return ::syscall(SYS_execveat, AT_FDCWD, "/bin/true", nullptr, nullptr, 0); }},
      {"mount", [] { return ::syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, nullptr); }},
      {"umount2", [] { return ::syscall(SYS_umount2, "/tmp", 0); }},
      {"open_tree", [] { return ::syscall(SYS_open_tree, AT_FDCWD, "/", 0); }},
      {"unshare", [] { return ::syscall(SYS_unshare, CLONE_NEWUSER); }},
      {"setns", [] { return ::syscall(SYS_setns, 0, 0); }},
      {"bpf", [] { return ::syscall(SYS_bpf, 0, nullptr, 0); }},
      {"kexec_load", [] { return ::syscall(SYS_kexec_load, 0, 0, nullptr, 0); }},
      {"init_module", [] { return ::syscall(SYS_init_module, nullptr, 0, ""); }},
      {"finit_module", [] { return ::syscall(SYS_finit_module, 0, "", 0); }},
      {"userfaultfd", [] { return ::syscall(SYS_userfaultfd, 0); }},
      {"io_uring_setup", [] { return ::syscall(SYS_io_uring_setup, 1, nullptr); }},
      {"keyctl", [] { return ::syscall(SYS_keyctl, 0, 0, 0, 0, 0); }},
  }};
  for (const Deed& deed : deeds) {
    const Ending ending = confined(only_proc(), [&] { return outcome_of(deed.call()); });
    EXPECT_EQ(ending.signal, SIGSYS) << deed.name << " ended with " << ending.exit_code;
    EXPECT_FALSE(ending.core) << deed.name;
  }
}

TEST(SystemCalls, WhatIsNotOnTheListAnswersEperm) {
  const std::array<Deed, 16> deeds{{
      {"socket(AF_INET)", [] { return ::socket(AF_INET, SOCK_STREAM, 0); }},
      {"socket(AF_NETLINK)", [] { return ::socket(AF_NETLINK, SOCK_RAW, 0); }},
      {"socket(AF_PACKET)", [] { return ::socket(AF_PACKET, SOCK_RAW, 0); }},
      {"fork", [] { return ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0); }},
      {"mmap(PROT_EXEC)",
       [] {
         void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         return at == MAP_FAILED ? -1L : 0L;
       }},
      {"mprotect(PROT_EXEC)",
       [] {
         void* at = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         return static_cast<long>(::mprotect(at, 4096, PROT_READ | PROT_EXEC));
       }},
      {"kill", [] { return ::kill(::getppid(), 0); }},
      {"tgkill of another", [] { return ::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0); }},
      {"pidfd_send_signal", [] { return ::syscall(SYS_pidfd_send_signal, 0, 0, nullptr, 0); }},
      {"setuid", [] { return ::syscall(SYS_setuid, 0); }},
      {"capset", [] { return ::syscall(SYS_capset, nullptr, nullptr); }},
      {"chown", [] { return ::fchownat(AT_FDCWD, "/tmp", 0, 0, 0); }},
      {"prctl(PR_SET_DUMPABLE)", [] { return ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); }},
      {"ioctl(TIOCSTI)", [] { return ::ioctl(0, TIOCSTI, "x"); }},
      {"prlimit64 of another", [] { return ::syscall(SYS_prlimit64, ::getppid(), 0, nullptr, nullptr); }},
      {"memfd_secret", [] { return ::syscall(447, 0); }},
  }};
  for (const Deed& deed : deeds) {
    const Ending ending = confined(only_proc(), [&] { return outcome_of(deed.call()); });
    EXPECT_EQ(ending.exit_code, EPERM) << deed.name << ", signal " << ending.signal;
  }
}

TEST(SystemCalls, ThreadsAndAbortGoOn) {
  const Ending threads = confined(only_proc(), [] {
    int sum = 0;
    std::thread([&sum] { sum += 1; }).join();
    std::thread([&sum] { sum += 1; }).join();
    return sum == 2 ? 0 : 1;
  });
  EXPECT_EQ(threads.exit_code, 0) << "signal " << threads.signal;
  const Ending aborted = confined(only_proc(), []() -> int { ::abort(); });
  EXPECT_EQ(aborted.signal, SIGABRT);
  EXPECT_FALSE(aborted.core) << "secrets of keys lie in memory";
}

// Later threads are inside, those before would not be: the sandbox is not entered half.
TEST(SystemCalls, AThreadThatRunsAlreadyIsAnError) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::thread([] { ::pause(); }).detach();
    const auto state = os::enter_sandbox(only_proc());
    ::_exit(!state && state.error().find("2 threads") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace hb::test
