// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/run_as.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/temp_dir.h"

namespace hb::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(RunAs, UsersByNameAndByNumber) {
  const auto root = os::find_user("root");
  ASSERT_TRUE(root) << root.error();
  EXPECT_EQ(root->uid, 0u);
  EXPECT_THAT(root->groups, Contains(0u));
  const auto nobody = os::find_user("nobody");
  ASSERT_TRUE(nobody) << nobody.error();
  EXPECT_EQ(os::find_user(std::to_string(nobody->uid))->gid, nobody->gid);
  const auto nameless = os::find_user("3999999999");
  ASSERT_TRUE(nameless) << nameless.error();
  EXPECT_EQ(nameless->gid, 3'999'999'999u);
  EXPECT_THAT(nameless->groups, ElementsAre(3'999'999'999u));
}

TEST(RunAs, AnUnknownUserIsNamed) {
  for (const char* name : {"no such user", "4294967295", "99999999999", ""}) {
    const auto user = os::find_user(name);
    ASSERT_FALSE(user) << name;
    EXPECT_THAT(user.error(), HasSubstr("\"" + std::string(name) + "\" is unknown here"));
  }
}

// The way back is closed: no saved id, no group, no capability.
TEST(RunAs, NothingOfRootIsLeft) {
  ASSERT_EQ(::geteuid(), 0u) << "becomes another user: run it as root (sudo ./dev test)";
  const TempDir dir;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto user = os::find_user("65534");
    if (!user || !os::become_user(*user)) ::_exit(1);
    if (::setuid(0) == 0 || ::setgid(0) == 0) ::_exit(2);
    const std::string status = read_file("/proc/self/status");
    if (status.find("\nUid:\t65534\t65534\t65534\t65534\n") == std::string::npos) ::_exit(3);
    if (status.find("\nGid:\t65534\t65534\t65534\t65534\n") == std::string::npos) ::_exit(4);
    if (status.find("\nGroups:\t65534 \n") == std::string::npos) ::_exit(5);
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
      if (status.find(std::string(set) + ":\t0000000000000000\n") == std::string::npos) ::_exit(6);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(RunAs, OnlyDirectoriesItMadeChangeHands) {
  ASSERT_EQ(::geteuid(), 0u) << "gives directories to another user: run it as root (sudo ./dev test)";
  const TempDir dir;
  const auto user = os::find_user("65534");
  ASSERT_TRUE(user);
  ASSERT_TRUE(os::make_directory_of(*user, dir / "a/b", 0700));
  struct stat status {};
  ASSERT_EQ(::stat((dir / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 0u);
  ASSERT_EQ(::stat((dir / "a/b").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 65534u);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  ASSERT_TRUE(os::make_directory_of(*user, dir / "a", 0755));
  ASSERT_EQ(::stat((dir / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 0u) << "somebody else's directory";
}

}  // namespace
}  // namespace hb::test
