// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/process_info.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/unique_fd.h"

namespace hb::test {
namespace {

TEST(ProcessInfo, PrefersTheUnifiedHierarchy) {
  EXPECT_EQ(os::cgroup_of("3:memory:/m\n1:name=systemd:/s\n0::/job.slice/a\n"), "/job.slice/a");
  EXPECT_EQ(os::cgroup_of("3:memory:/m\n1:name=systemd:/s\n0::/\n"), "/s");
  EXPECT_EQ(os::cgroup_of("3:memory:/m\n0::/\n"), "/m");
  EXPECT_EQ(os::cgroup_of("0::/\n"), "/");
  EXPECT_EQ(os::cgroup_of("no colons\n"), "");
  EXPECT_EQ(os::cgroup_of(""), "");
}

TEST(ProcessInfo, ALongCgroupKeepsItsEnd) {
  const std::string path = "/" + std::string(500, 'a') + "/the-end";
  const std::string shown = os::cgroup_of("0::" + path + "\n");
  EXPECT_EQ(shown.size(), os::kCgroupBytes);
  EXPECT_TRUE(shown.starts_with("..."));
  EXPECT_TRUE(shown.ends_with("/the-end"));
}

TEST(ProcessInfo, OnlyOfAProcessThatIsCertain) {
  const UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  ASSERT_TRUE(self);
  EXPECT_FALSE(os::process_text(static_cast<std::uint32_t>(::getpid()), self).command.empty());
  EXPECT_EQ(os::process_text(0, self).command, "");
  EXPECT_EQ(os::process_text(static_cast<std::uint32_t>(::getpid()), UniqueFd()).command, "");

  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  const UniqueFd dead(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  // A zombie still has /proc/PID/comm.
  EXPECT_EQ(os::process_text(static_cast<std::uint32_t>(child), dead).command, "");
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace hb::test
