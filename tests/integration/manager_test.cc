// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The daemon as a service manager starts it: its sockets are there before it, and stay when it is killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "support/daemon_process.h"
#include "support/fake_service_manager.h"
#include "support/memfd.h"
#include "support/raw_peer.h"

namespace hb::test {
namespace {

class Managed : public testing::Test {
 protected:
  DaemonOptions options() {
    DaemonOptions options;
    options.manager = &manager_;
    options.activated = true;
    return options;
  }
  TempDir dir_;
  FakeServiceManager manager_{dir_};
};

TEST_F(Managed, ItSaysThatItServesAndThatItStops) {
  {
    const DaemonProcess daemon(options());
    EXPECT_TRUE(manager_.wait_for("READY=1\nSTATUS=serving broker activated, admin activated"));
  }
  EXPECT_TRUE(manager_.wait_for("STOPPING=1"));
  EXPECT_EQ(manager_.violations(), std::vector<std::string>());
}

TEST_F(Managed, ItsSocketsOutliveIt) {
  DaemonProcess daemon(options());
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat(daemon.socket().c_str(), &before), 0);
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    manager_.shuffle(seed);
    daemon.kill9();
    RawPeer early(daemon.socket());  // it waits in the queue of the listener
    daemon.start();
    EXPECT_TRUE(manager_.wait_for("READY=1"));
    EXPECT_EQ(early.hello().status, HB_OK);
    EXPECT_EQ(RawPeer(daemon.admin_socket()).hello().status, HB_OK);
  }
  ASSERT_EQ(::stat(daemon.socket().c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

// Of another version, say: they are not kept.
TEST_F(Managed, DescriptorsThatItDoesNotKnowAreClosed) {
  manager_.hand_over("of another version", sealed_memfd(kPage, 1));
  const DaemonProcess daemon(options());
  for (const std::string& fd : daemon.fds()) EXPECT_EQ(fd.find("memfd:hbtest"), std::string::npos) << fd;
}

}  // namespace
}  // namespace hb::test
