// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/peer_credentials.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "support/temp_dir.h"
#include "support/wait.h"

namespace hb::test {
namespace {

struct Pair {
  UniqueFd left;
  UniqueFd right;
};
Pair make_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return {};
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

TEST(PeerCredentials, OfThisProcess) {
  const Pair pair = make_pair();
  const auto peer = os::peer_credentials(pair.left);
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(peer->uid, ::geteuid());
  EXPECT_EQ(peer->gid, ::getegid());
  EXPECT_TRUE(std::is_sorted(peer->groups.begin(), peer->groups.end()));
  EXPECT_EQ(std::adjacent_find(peer->groups.begin(), peer->groups.end()), peer->groups.end());
  EXPECT_TRUE(std::binary_search(peer->groups.begin(), peer->groups.end(), ::getegid()));
  ASSERT_TRUE(peer->pidfd);
  EXPECT_TRUE(os::process_alive(peer->pidfd));
}

// A child connects, and the test decides when it dies.
class Child : public testing::Test {
 protected:
  void SetUp() override {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = directory_ / "s";
    path.copy(address.sun_path, path.size());
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener_.get(), 1), 0);
    ASSERT_EQ(::chmod(path.c_str(), 0777), 0);  // the child connects as another uid
    hold_ = make_pair();
    child_ = ::fork();
    if (child_ == 0) {
      hold_.left.reset();
      const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
      const std::array<gid_t, 4> groups{44, 7, 44, 9};
      if (::geteuid() == 0 && ::setgroups(groups.size(), groups.data()) != 0) ::_exit(1);
      if (::geteuid() == 0 && (::setgid(2007) != 0 || ::setuid(2008) != 0)) ::_exit(2);
      if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) ::_exit(3);
      char byte = 0;
      (void)!::read(hold_.right.get(), &byte, 1);  // until the test lets go
      ::_exit(0);
    }
    ASSERT_GT(child_, 0);
    hold_.right.reset();
    ASSERT_TRUE(wait_readable(listener_.get()));
    accepted_ = UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(accepted_);
  }
  void end_child() {
    if (child_ <= 0) return;
    hold_.left.reset();
    ::waitpid(std::exchange(child_, -1), nullptr, 0);
  }
  void TearDown() override {
    end_child();
    accepted_.reset();
    listener_.reset();
  }

  TempDir directory_;
  UniqueFd listener_;
  UniqueFd accepted_;
  Pair hold_;
  pid_t child_ = -1;
};

TEST_F(Child, IsKnownAndItsDeathIsSeen) {
  const auto peer = os::peer_credentials(accepted_);
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->pid, static_cast<std::uint32_t>(child_));
  if (::geteuid() == 0) {
    EXPECT_EQ(peer->uid, 2008u);
    EXPECT_EQ(peer->gid, 2007u);
    EXPECT_EQ(peer->groups, (std::vector<std::uint32_t>{7, 9, 44, 2007}));
  }
  ASSERT_TRUE(peer->pidfd);
  EXPECT_TRUE(os::process_alive(peer->pidfd));
  end_child();
  EXPECT_FALSE(os::process_alive(peer->pidfd));
}

TEST_F(Child, DeadBeforeItWasLookedAt) {
  end_child();
  const auto peer = os::peer_credentials(accepted_);
  ASSERT_FALSE(peer);
  EXPECT_TRUE(peer.error().dead);
}

TEST(PeerCredentials, WhatStandsForAnyoneIsTakenOut) {
  EXPECT_EQ(os::count_mapped("         0          0 4294967295\n"), 4294967295u);
  EXPECT_EQ(os::count_mapped("0 1000 1\n1 100000 65535\n"), 65536u);
  EXPECT_EQ(os::count_mapped(""), 0u);
  const auto shown = [](std::uint64_t mapped, std::uint32_t overflow, std::uint32_t uid) {
    os::PeerCredentials peer;
    peer.uid = uid;
    peer.gid = 65534;
    peer.groups = {7, 65534};
    os::drop_unmapped(peer, {{mapped, overflow}, {mapped, overflow}});
    return std::pair(peer.uid_known, peer.groups);
  };
  using Groups = std::vector<std::uint32_t>;
  EXPECT_EQ(shown(UINT32_MAX, 65534, 65534), std::pair(true, (Groups{7, 65534})));
  EXPECT_EQ(shown(65536, 65534, 65534), std::pair(false, Groups{7}));
  EXPECT_EQ(shown(65536, 65534, 0), std::pair(true, Groups{7}));
  EXPECT_EQ(shown(1, 99, 65534), std::pair(true, (Groups{7, 65534})));
}

TEST(PeerCredentials, NoUnixSocket) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto peer = os::peer_credentials(socket);
  // The kernel answers SO_PEERCRED of any socket with nobody's credentials; what must not come out is a pid.
  if (peer) {
    EXPECT_EQ(peer->pid, 0u);
    EXPECT_FALSE(peer->pidfd);
  }
}

}  // namespace
}  // namespace hb::test
