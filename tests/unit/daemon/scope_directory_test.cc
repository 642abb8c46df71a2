// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/scope_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "support/temp_dir.h"

namespace hb::test {
namespace {

using ipc::fault_of_scope_name;
using ipc::ScopeDirectories;

struct stat status_of(const std::string& path) {
  struct stat status {};
  ::lstat(path.c_str(), &status);
  return status;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

UniqueFd connected(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

TEST(ScopeName, IsADirectorysNameAndNoOther) {
  for (const char* name : {"job7", "a", "9", "slurm-4711_3.batch", "x..y"})
    EXPECT_EQ(fault_of_scope_name(name), "") << name;
  EXPECT_EQ(fault_of_scope_name(std::string(64, 'a')), "");
  EXPECT_NE(fault_of_scope_name(std::string(65, 'a')).find("65 bytes, the limit is 64"), std::string::npos);
  for (const char* name : {"", ".", "..", ".job", "a/b", "../up", "Job", "a b", "a\n", "jöb", "a\\x"})
    EXPECT_NE(fault_of_scope_name(name), "") << name;
  EXPECT_NE(fault_of_scope_name(std::string("a\0b", 3)), "");
  for (const char* name : {"main", "admin"})
    EXPECT_NE(fault_of_scope_name(name).find("the daemon's own"), std::string::npos) << name;
}

TEST(ScopeDirectory, ServesOpenToAllAndClosedToTheirWrites) {
  const TempDir base;
  const ScopeDirectories scopes(base.path());
  const auto made = scopes.serve("job7");
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(scopes.path_of("job7"), base / "scopes/job7");
  EXPECT_EQ(status_of(base / "scopes").st_mode & 07777, 0755u);
  EXPECT_EQ(status_of(base / "scopes/job7").st_mode & 07777, 0755u);
  const struct stat socket = status_of(base / "scopes/job7/broker.sock");
  EXPECT_TRUE(S_ISSOCK(socket.st_mode));
  EXPECT_EQ(socket.st_mode & 07777, 0666u);
  EXPECT_EQ(socket.st_ino, made->inode);
  EXPECT_TRUE(connected(base / "scopes/job7/broker.sock"));
  EXPECT_NE(::fcntl(made->socket.get(), F_GETFL) & O_NONBLOCK, 0);

  ASSERT_TRUE(scopes.remove("job7", *made));
  EXPECT_FALSE(exists(base / "scopes/job7"));
}

// What was mounted is the directory: it has to be the same one for the next daemon.
TEST(ScopeDirectory, StaysTheSameOverDaemons) {
  const TempDir base;
  const ScopeDirectories scopes(base.path());
  ino_t directory = 0;
  {
    const auto first = scopes.serve("job7");
    ASSERT_TRUE(first) << first.error();
    directory = status_of(base / "scopes/job7").st_ino;
    scopes.leave("job7", *first);
  }
  EXPECT_FALSE(exists(base / "scopes/job7/broker.sock"));
  EXPECT_EQ(status_of(base / "scopes/job7").st_ino, directory);
  {
    const auto killed = scopes.serve("job7");  // leaves its socket file
    ASSERT_TRUE(killed) << killed.error();
  }
  ASSERT_TRUE(exists(base / "scopes/job7/broker.sock"));
  const auto next = scopes.serve("job7");
  ASSERT_TRUE(next) << next.error();
  EXPECT_EQ(status_of(base / "scopes/job7").st_ino, directory);
  EXPECT_TRUE(connected(base / "scopes/job7/broker.sock"));
}

TEST(ScopeDirectory, ALivingDaemonIsLeftAlone) {
  const TempDir base;
  const ScopeDirectories scopes(base.path());
  const auto first = scopes.serve("job7");
  ASSERT_TRUE(first) << first.error();
  const auto second = scopes.serve("job7");
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().find("another daemon serves"), std::string::npos) << second.error();
  EXPECT_EQ(status_of(base / "scopes/job7/broker.sock").st_ino, first->inode);
}

TEST(ScopeDirectory, WhatIsNotTheDaemonsOwnIsRefusedAndLeft) {
  const TempDir base;
  const ScopeDirectories scopes(base.path());
  ASSERT_TRUE(scopes.serve("first"));
  const std::string at = base / "scopes/";

  ASSERT_EQ(::symlink("/tmp", (at + "link").c_str()), 0);
  const auto link = scopes.serve("link");
  ASSERT_FALSE(link);
  EXPECT_NE(link.error().find("is a symbolic link or a file"), std::string::npos) << link.error();

  ASSERT_EQ(::mkdir((at + "open").c_str(), 0755), 0);
  ASSERT_EQ(::chmod((at + "open").c_str(), 0777), 0);
  const auto open = scopes.serve("open");
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().find("mode 0777) must belong to uid"), std::string::npos) << open.error();

  ASSERT_EQ(::mkdir((at + "file").c_str(), 0755), 0);
  UniqueFd file(::open((at + "file/broker.sock").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  const auto taken = scopes.serve("file");
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().find("is not a socket of uid"), std::string::npos) << taken.error();
  EXPECT_TRUE(S_ISREG(status_of(at + "file/broker.sock").st_mode));

  ASSERT_EQ(::mkdir((at + "dangling").c_str(), 0755), 0);
  ASSERT_EQ(::symlink("elsewhere", (at + "dangling/broker.sock").c_str()), 0);
  EXPECT_FALSE(scopes.serve("dangling"));
}

TEST(ScopeDirectory, OneOfAnotherUserIsRefused) {
  if (::geteuid() != 0) FAIL() << "needs root, to give a directory away";
  const TempDir base;
  const ScopeDirectories scopes(base.path());
  ASSERT_TRUE(scopes.serve("first"));
  ASSERT_EQ(::mkdir((base / "scopes/other").c_str(), 0755), 0);
  ASSERT_EQ(::chown((base / "scopes/other").c_str(), 1234, 1234), 0);
  const auto other = scopes.serve("other");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().find("(owner uid 1234"), std::string::npos) << other.error();
}

TEST(ScopeDirectory, RemovingLeavesWhatOthersPutThere) {
  const TempDir base;
  const ScopeDirectories scopes(base.path());
  const auto made = scopes.serve("job7");
  ASSERT_TRUE(made) << made.error();
  UniqueFd file(::open((base / "scopes/job7/notes").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  const auto removed = scopes.remove("job7", *made);
  ASSERT_FALSE(removed);
  EXPECT_NE(removed.error().find("ENOTEMPTY"), std::string::npos) << removed.error();
  EXPECT_FALSE(exists(base / "scopes/job7/broker.sock"));
  EXPECT_TRUE(exists(base / "scopes/job7/notes"));
}

TEST(ScopeDirectory, TheSocketOfAnotherIsNotRemoved) {
  const TempDir base;
  const ScopeDirectories scopes(base.path());
  const auto old = scopes.serve("job7");
  ASSERT_TRUE(old) << old.error();
  ASSERT_EQ(::unlink((base / "scopes/job7/broker.sock").c_str()), 0);
  const auto next = scopes.serve("job7");
  ASSERT_TRUE(next) << next.error();
  scopes.leave("job7", *old);
  EXPECT_TRUE(connected(base / "scopes/job7/broker.sock"));
}

TEST(ScopeDirectory, ABaseThatIsTooLongForASocketsPathIsServed) {
  const TempDir base;
  const std::string deep = base / std::string(120, 'd');
  ASSERT_EQ(::mkdir(deep.c_str(), 0755), 0);
  const auto made = ScopeDirectories(deep).serve("job7");
  EXPECT_TRUE(made) << made.error();
}

}  // namespace
}  // namespace hb::test
