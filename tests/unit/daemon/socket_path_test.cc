// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/socket_path.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "support/temp_dir.h"

namespace hb::test {
namespace {

using ipc::bind_socket;

ipc::SocketPlace place(const std::string& path) { return {path, 0666, 0755, false}; }

struct stat status_of(const std::string& path) {
  struct stat status {};
  ::lstat(path.c_str(), &status);
  return status;
}

UniqueFd connected(const std::string& path, int type = SOCK_SEQPACKET) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  UniqueFd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

UniqueFd bound_raw(const std::string& path, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  UniqueFd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

TEST(SocketPath, MakesDirectoriesAndServes) {
  const TempDir directory;
  const std::string path = directory / "a/b/broker.sock";
  auto bound = bind_socket(place(path));
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_EQ(status_of(path).st_mode & 07777, 0666u);
  EXPECT_EQ(status_of(directory / "a/b").st_mode & 07777, 0755u);
  EXPECT_TRUE(connected(path));
  ipc::unbind_socket(*bound);
  EXPECT_FALSE(connected(path));
  EXPECT_EQ(::access(path.c_str(), F_OK), -1);
  EXPECT_EQ(::access((path + ".lock").c_str(), F_OK), -1);
}

TEST(SocketPath, B04_ADeadDaemonsSocketIsReplaced) {
  const TempDir directory;
  const std::string path = directory / "broker.sock";
  bound_raw(path, SOCK_SEQPACKET).reset();  // as after SIGKILL: the file stays
  ASSERT_EQ(::access(path.c_str(), F_OK), 0);
  auto bound = bind_socket(place(path));
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_TRUE(connected(path));
  ipc::unbind_socket(*bound);
}

TEST(SocketPath, B04_ALivingDaemonIsLeftAlone) {
  const TempDir directory;
  const std::string path = directory / "broker.sock";
  auto first = bind_socket(place(path));
  ASSERT_TRUE(first);
  const ino_t before = status_of(path).st_ino;
  const auto second = bind_socket(place(path));
  ASSERT_FALSE(second);
  EXPECT_TRUE(second.error().another_daemon);
  EXPECT_NE(second.error().message.find(path), std::string::npos) << second.error().message;
  EXPECT_NE(second.error().message.find("pid " + std::to_string(::getpid())), std::string::npos)
      << second.error().message;
  EXPECT_EQ(status_of(path).st_ino, before);
  EXPECT_TRUE(connected(path));
  ipc::unbind_socket(*first);
}

// Without its lock file (removed by a cleaner of /tmp, or activation) the connection still tells.
TEST(SocketPath, B04_ALivingDaemonWithoutLockFile) {
  const TempDir directory;
  const std::string path = directory / "broker.sock";
  const UniqueFd alive = bound_raw(path, SOCK_SEQPACKET);
  ASSERT_EQ(::listen(alive.get(), 4), 0);
  const auto second = bind_socket(place(path));
  ASSERT_FALSE(second);
  EXPECT_TRUE(second.error().another_daemon);
  EXPECT_NE(second.error().message.find("pid " + std::to_string(::getpid())), std::string::npos)
      << second.error().message;
  EXPECT_TRUE(connected(path));
}

TEST(SocketPath, AProgramOfAnotherSocketTypeIsLeftAlone) {
  const TempDir directory;
  const std::string path = directory / "broker.sock";
  const UniqueFd alive = bound_raw(path, SOCK_STREAM);
  ASSERT_EQ(::listen(alive.get(), 4), 0);
  const auto second = bind_socket(place(path));
  ASSERT_FALSE(second);
  EXPECT_TRUE(second.error().another_daemon);
  EXPECT_TRUE(connected(path, SOCK_STREAM));
}

TEST(SocketPath, B04_WhatIsNoSocketIsNotRemoved) {
  const TempDir directory;
  ASSERT_EQ(::mkdir((directory / "dir.sock").c_str(), 0755), 0);
  write_file(directory / "file.sock", "notes");
  ASSERT_EQ(::symlink("nowhere", (directory / "link.sock").c_str()), 0);
  const std::pair<const char*, const char*> cases[] = {
      {"dir.sock", "a directory"}, {"file.sock", "a file"}, {"link.sock", "a symbolic link"}};
  for (const auto& [name, what] : cases) {
    const auto bound = bind_socket(place(directory / name));
    ASSERT_FALSE(bound) << name;
    EXPECT_FALSE(bound.error().another_daemon);
    EXPECT_NE(bound.error().message.find(what), std::string::npos) << bound.error().message;
    EXPECT_NE(bound.error().message.find(directory / name), std::string::npos) << bound.error().message;
    EXPECT_EQ(::faccessat(AT_FDCWD, (directory / name).c_str(), F_OK, AT_SYMLINK_NOFOLLOW), 0);
    EXPECT_EQ(::access((directory / (std::string(name) + ".lock")).c_str(), F_OK), -1);
  }
  EXPECT_EQ(read_file(directory / "file.sock"), "notes");
}

TEST(SocketPath, B13_ADirectoryThatOthersCanWrite) {
  const TempDir directory;
  const std::string open = directory / "open";
  ASSERT_EQ(::mkdir(open.c_str(), 0755), 0);
  ASSERT_EQ(::mkdir((open + "/inner").c_str(), 0755), 0);
  for (const mode_t mode : {0775, 0757, 0777}) {
    ASSERT_EQ(::chmod(open.c_str(), mode), 0);
    for (const std::string& path : {open + "/broker.sock", open + "/inner/broker.sock"}) {
      const auto bound = bind_socket(place(path));
      ASSERT_FALSE(bound) << path;
      EXPECT_NE(bound.error().message.find("\"" + open + "\""), std::string::npos) << bound.error().message;
      EXPECT_NE(bound.error().message.find("owner uid " + std::to_string(::geteuid())), std::string::npos);
      char text[16];
      std::snprintf(text, sizeof text, "mode 0%o", static_cast<unsigned>(mode));
      EXPECT_NE(bound.error().message.find(text), std::string::npos) << bound.error().message;
      EXPECT_EQ(::access(path.c_str(), F_OK), -1);
    }
  }
  ASSERT_EQ(::chmod(open.c_str(), 01777), 0);  // sticky: nobody else can replace the socket
  auto bound = bind_socket(place(open + "/broker.sock"));
  ASSERT_TRUE(bound) << bound.error().message;
  ipc::unbind_socket(*bound);
}

TEST(SocketPath, TheAdminDirectoryIsClosed) {
  const TempDir directory;
  const ipc::SocketPlace admin{directory / "admin/admin.sock", 0600, 0700, true};
  auto bound = bind_socket(admin);
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_EQ(status_of(directory / "admin").st_mode & 07777, 0700u);
  EXPECT_EQ(status_of(admin.path).st_mode & 07777, 0600u);
  ipc::unbind_socket(*bound);
  ASSERT_EQ(::chmod((directory / "admin").c_str(), 0750), 0);
  const auto refused = bind_socket(admin);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("0700"), std::string::npos) << refused.error().message;
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chmod((directory / "admin").c_str(), 0700), 0);
  ASSERT_EQ(::chown((directory / "admin").c_str(), 1001, 1001), 0);
  const auto others = bind_socket(admin);
  ASSERT_FALSE(others);
  EXPECT_NE(others.error().message.find("owner uid 1001"), std::string::npos) << others.error().message;
}

TEST(SocketPath, APathThatDoesNotFit) {
  const TempDir directory;
  const std::string path = directory / std::string(108, 'x');
  const auto bound = bind_socket(place(path));
  ASSERT_FALSE(bound);
  EXPECT_NE(bound.error().message.find("107"), std::string::npos) << bound.error().message;
  EXPECT_NE(bound.error().message.find(std::to_string(path.size())), std::string::npos);
}

// The place of a socket that was replaced meanwhile is not ours to clear.
TEST(SocketPath, OnlyTheOwnSocketFileIsRemoved) {
  const TempDir directory;
  const std::string path = directory / "broker.sock";
  auto bound = bind_socket(place(path));
  ASSERT_TRUE(bound);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  write_file(path, "somebody else's");
  ipc::unbind_socket(*bound);
  EXPECT_EQ(read_file(path), "somebody else's");
}

}  // namespace
}  // namespace hb::test
