// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the tests of hostile peers have in common: connections of other uids, a daemon that is held still
// while something is put into its sockets, and the proof that an attack left nothing.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "support/fixture.h"
#include "support/memfd.h"
#include "wire/limits.h"

namespace hb::test {

// The effective uid of this program, which connections have for their own.
class AsUid {
 public:
  explicit AsUid(uid_t uid) { EXPECT_EQ(::seteuid(uid), 0); }
  ~AsUid() { EXPECT_EQ(::seteuid(0), 0); }
  AsUid(const AsUid&) = delete;
  AsUid& operator=(const AsUid&) = delete;
};

class HostileTest : public DaemonTest {
 protected:
  static constexpr std::uint32_t kAttacker = 2001;

  explicit HostileTest(DaemonOptions options = {}) : DaemonTest(std::move(options)) {}
  void SetUp() override {
    if (may_change_uid()) DaemonTest::SetUp();
  }
  static DaemonOptions limited(std::uint64_t soft, std::uint64_t hard) {
    DaemonOptions options;
    options.process.nofile = hard;
    options.process.nofile_soft = soft;
    return options;
  }
  // Without a hello.
  RawPeer connect_as(std::uint32_t uid) {
    const AsUid as(uid);
    return RawPeer(daemon().socket());
  }
  RawPeer peer_as(std::uint32_t uid) {
    RawPeer peer = connect_as(uid);
    const auto answer = peer.hello();
    EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
    return peer;
  }
  // What is done meanwhile lies in the daemon's sockets before it looks.
  template <class Function>
  void while_stopped(Function function) {
    daemon().process().signal(SIGSTOP);
    EXPECT_TRUE(poll_until([&] { return process_state(daemon().pid()) == 'T'; }));
    function();
    daemon().process().signal(SIGCONT);
  }
  // One frame of an export with as many descriptors as a frame may have, `last` behind all others.
  static std::uint64_t send_full_frame(RawPeer& peer, const UniqueFd& last) {
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    std::vector<int> fds(limits::kFrameFds - 1, null.get());
    fds.push_back(last.get());
    return peer.send(FrameType::kExport, export_of("x", fds.size(), kPage), fds);
  }
  static void expect_served(RawPeer& other, const std::string& when) {
    for (int i = 0; i < 20; ++i) ASSERT_EQ(other.ping(), HB_OK) << when;
    EXPECT_EQ(other.list().status, HB_OK) << when;
  }
  // Nothing is charged to anybody but the `sessions` that are still there, the admin's not counted.
  void expect_no_charges(std::uint64_t sessions) {
    RawPeer admin = admin_peer();
    pb::StatusReply now;
    EXPECT_TRUE(poll_until([&] {
      now = admin.status().reply;
      return now.sessions() == sessions + 1 && now.exports() == 0 && now.leases() == 0 && now.waits() == 0 &&
             now.stagings() == 0 && now.allocations() == 0 && now.closing() == 0 && now.quarantined() == 0 &&
             now.in_flight() == 0 && now.sockets_unread() == 0 && now.answers_waiting() == 0;
    })) << now.DebugString();
  }
};

}  // namespace hb::test
