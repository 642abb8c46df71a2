// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// B13: a planted socket is refused, and not one byte is sent to it.
#include "socket_trust.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "connect.h"
#include "fake_peer.h"
#include "hipbroker/status.h"
#include "support/temp_dir.h"
#include "support/wait.h"

namespace hb::test {
namespace {

constexpr uid_t kStranger = 65534;

std::string untrusted_component(const std::string& path) {
  client::ConnectOptions options;
  options.socket = path;
  const auto connection = client::connect_daemon(options, 0);
  if (connection) return "";
  EXPECT_EQ(connection.error().status, HB_UNTRUSTED) << connection.error().message;
  return connection.error().what;
}

hb_status status_of(const std::string& path) {
  client::ConnectOptions options;
  options.socket = path;
  const auto connection = client::connect_daemon(options, 0);
  return connection ? HB_OK : connection.error().status;
}

class SocketTrust : public testing::Test {
 protected:
  // Files of other owners are root's to make.
  void SetUp() override {
    ASSERT_EQ(::geteuid(), 0u) << "acts as other users: run it as root (sudo ./dev test)";
    ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  }
  void make(const std::string& name, mode_t mode, uid_t owner = 0) {
    const std::string path = dir_ / name;
    ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
    ASSERT_EQ(::chown(path.c_str(), owner, owner), 0);
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  TempDir dir_;
};

// A server of another uid, until it is destroyed. Counts what it was sent.
class StrangersServer {
 public:
  explicit StrangersServer(const std::string& path) {
    int result[2];
    int stop[2];
    EXPECT_EQ(::pipe2(result, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(stop, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      if (::setgid(kStranger) != 0 || ::setuid(kStranger) != 0) ::_exit(2);
      FakeListener listener(path);
      long bytes = 0;
      if (::write(result[1], &bytes, 1) != 1) ::_exit(3);
      ::close(stop[1]);
      char byte;
      while (::read(stop[0], &byte, 1) > 0) {
      }
      while (listener.has_connection()) {
        FakePeer peer = listener.accept();
        char buffer[256];
        const ssize_t n = ::recv(peer.fd(), buffer, sizeof buffer, 0);
        if (n > 0) bytes += n;
      }
      ::_exit(::write(result[1], &bytes, sizeof bytes) == sizeof bytes ? 0 : 4);
    }
    ::close(result[1]);
    ::close(stop[0]);
    result_ = UniqueFd(result[0]);
    stop_ = UniqueFd(stop[1]);
    char ready;
    EXPECT_EQ(::read(result_.get(), &ready, 1), 1);
  }
  long bytes_received() {
    stop_.reset();
    long bytes = -1;
    EXPECT_EQ(::read(result_.get(), &bytes, sizeof bytes), static_cast<ssize_t>(sizeof bytes));
    return bytes;
  }
  ~StrangersServer() {
    stop_.reset();
    int status = 0;
    ::waitpid(pid_, &status, 0);
    EXPECT_EQ(status, 0);
  }

 private:
  pid_t pid_;
  UniqueFd result_;
  UniqueFd stop_;
};

TEST_F(SocketTrust, B13APlantedSocketGetsNothing) {
  make("sticky", 01777);
  const std::string path = dir_ / "sticky/broker.sock";
  StrangersServer server(path);
  EXPECT_EQ(untrusted_component(path), path);
  EXPECT_EQ(server.bytes_received(), 0);
}

TEST_F(SocketTrust, B13AServerOfAnotherUidBehindATrustedPathGetsNothing) {
  make("open", 0777);
  const std::string path = dir_ / "open/broker.sock";
  StrangersServer server(path);
  // Root takes the place over, as if it had always been root's.
  ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod((dir_ / "open").c_str(), 0755), 0);
  client::ConnectOptions options;
  options.socket = path;
  const auto refused = client::connect_daemon(options, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, HB_UNTRUSTED);
  EXPECT_EQ(refused.error().who, "uid 65534");
  options.trusted_uids = {kStranger};
  EXPECT_TRUE(client::connect_daemon(options, 0).has_value());
  EXPECT_EQ(server.bytes_received(), 0);
}

TEST_F(SocketTrust, ADelegatedDirectoryIsTheDelegates) {
  make("hb", 0755, kStranger);
  const std::string path = dir_ / "hb/broker.sock";
  StrangersServer server(path);
  EXPECT_EQ(status_of(path), HB_OK);
}

TEST_F(SocketTrust, ADirectoryThatOthersCanWriteIsNotTrusted) {
  make("loose", 0777);
  const std::string path = dir_ / "loose/broker.sock";
  const FakeListener own(path);
  EXPECT_EQ(untrusted_component(path), dir_ / "loose");
  EXPECT_FALSE(own.has_connection());
}

TEST_F(SocketTrust, SymbolicLinksAreWalkedToo) {
  make("real", 0755);
  make("sticky", 01777);
  make("hb", 0755, kStranger);
  const FakeListener own(dir_ / "real/broker.sock");
  ASSERT_EQ(::symlink("../real", (dir_ / "hb/out").c_str()), 0);
  ASSERT_EQ(::lchown((dir_ / "hb/out").c_str(), kStranger, kStranger), 0);
  ASSERT_EQ(::symlink("real", (dir_ / "good").c_str()), 0);
  ASSERT_EQ(::symlink((dir_ / "real").c_str(), (dir_ / "absolute").c_str()), 0);
  ASSERT_EQ(::symlink((dir_ / "real").c_str(), (dir_ / "sticky/planted").c_str()), 0);
  ASSERT_EQ(::lchown((dir_ / "sticky/planted").c_str(), kStranger, kStranger), 0);
  ASSERT_EQ(::symlink("loop", (dir_ / "loop").c_str()), 0);
  EXPECT_EQ(status_of(dir_ / "good/broker.sock"), HB_OK);
  EXPECT_EQ(status_of(dir_ / "absolute/broker.sock"), HB_OK);
  EXPECT_EQ(status_of(dir_ / "sticky/../real/broker.sock"), HB_OK);
  EXPECT_EQ(untrusted_component(dir_ / "sticky/planted/broker.sock"), dir_ / "sticky/planted");
  // A delegate does not lead back to what is not the delegate's.
  EXPECT_EQ(untrusted_component(dir_ / "hb/out/broker.sock"), dir_.path());
  EXPECT_EQ(status_of(dir_ / "loop/broker.sock"), HB_INVALID);
}

TEST_F(SocketTrust, NothingListeningIsNoDaemon) {
  make("real", 0755);
  EXPECT_EQ(status_of(dir_ / "real/broker.sock"), HB_NO_DAEMON);
  { const FakeListener gone(dir_ / "real/dead.sock"); }
  EXPECT_EQ(status_of(dir_ / "real/dead.sock"), HB_NO_DAEMON);
  EXPECT_EQ(status_of(dir_ / "real"), HB_INVALID);
}

TEST_F(SocketTrust, PathsLongerThanASocketAddressWork) {
  const std::string deep(100, 'd');
  make(deep, 0755);
  make(deep + "/" + deep, 0755);
  const std::string path = dir_ / deep + "/" + deep + "/broker.sock";
  ASSERT_EQ(::symlink((dir_ / "s").c_str(), path.c_str()), 0);
  const FakeListener own(dir_ / "s");
  EXPECT_EQ(status_of(path), HB_OK);
}

TEST(TheSearch, TakesWhatWasNamedAlone) {
  ::setenv("HIPBROKER_SOCKET", "/named/by/environment", 1);
  ::setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  EXPECT_EQ(client::socket_candidates({"/asked", {}}), std::vector<std::string>{"/asked"});
  EXPECT_EQ(client::socket_candidates({}), std::vector<std::string>{"/named/by/environment"});
  ::unsetenv("HIPBROKER_SOCKET");
  EXPECT_EQ(client::socket_candidates({}),
            (std::vector<std::string>{"/run/hipbroker/broker.sock", "/run/user/7/hipbroker/broker.sock"}));
  ::unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(client::socket_candidates({}).size(), 1u);
}

}  // namespace
}  // namespace hb::test
