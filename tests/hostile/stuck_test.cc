// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Descriptors whose close, fstat, poll and exit wait for their maker: files of a FUSE server that does not
// answer.
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>

#include "hostile/hostile_fixture.h"
#include "support/fuse_file.h"

namespace hb::test {
namespace {

class Stuck : public HostileTest {
 protected:
  // Its name is what readlink shows for a dma-buf.
  Stuck() : fuse_("dmabuf:x") { options_.process.leak_check = false; }
  // One frame with a file of the server; the daemon has the last copy.
  std::uint64_t send_file(RawPeer& peer) {
    return peer.send(FrameType::kExport, export_of("x", 1, kPage), {files_.back().get()});
  }
  void make_files(int count) {
    for (int i = 0; i < count; ++i) files_.push_back(fuse_.open());
  }
  void drop_file() { files_.pop_back(); }
  // A second daemon on the same path, to its end.
  void expect_restart(const std::string& when) {
    const UniqueFd log(::open((daemon().dir() / "second.log").c_str(),
                              O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
    Process second(daemon().command_line(), {}, {{log.get(), 1}, {log.get(), 2}});
    // Not by a hello: the first one's listener still takes connections.
    EXPECT_TRUE(poll_until([&] {
      return process_state(second.pid()) == 'Z' ||
             read_file(daemon().dir() / "second.log").find(" serves: ") != std::string::npos;
    })) << when;
    EXPECT_TRUE(RawPeer::try_hello(daemon().socket())) << when;
    EXPECT_NE(process_state(second.pid()), 'Z') << when << ": " << read_file(daemon().dir() / "second.log");
    second.signal(SIGTERM);
    const auto status = second.wait();
    EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << when;
  }
  std::vector<UniqueFd> files_;
  FuseFile fuse_;  // goes first: closing a file waits for it
};

TEST_F(Stuck, AFileThatCallsItselfADmaBufAndDoesNotAnswer) {
  RawPeer other = peer();
  RawPeer attacker = peer_as(kAttacker);
  make_files(1);
  std::uint64_t id = 0;
  while_stopped([&] {
    id = send_file(attacker);
    drop_file();
    fuse_.hang();
  });
  const auto answer = attacker.await<pb::ExportReply>(id);
  EXPECT_EQ(answer.status, HB_BAD_HANDLE) << answer.error.message();
  EXPECT_EQ(attacker.ping(), HB_OK);
  expect_served(other, "while its close does not return");
  EXPECT_EQ(admin_peer().status().reply.quarantined(), 1u);
  fuse_.end();
  expect_baseline("after the server has gone", 2);
}

// Unread in a socket that is closed, in one that nobody has accepted, and before a hello.
TEST_F(Stuck, InSocketsThatGo) {
  RawPeer other = peer();
  make_files(3);
  while_stopped([&] {
    RawPeer leaves = connect_as(kAttacker);
    leaves.send_bytes("not a frame");
    send_file(leaves);
    drop_file();
    RawPeer early = connect_as(kAttacker);
    send_file(early);
    drop_file();
    RawPeer silent = connect_as(kAttacker);
    silent.send_bytes("", {files_.back().get()});
    drop_file();
    fuse_.hang();
  });
  expect_served(other, "while three closes do not return");
  EXPECT_EQ(peer_as(2002).ping(), HB_OK);
  fuse_.end();
  other.disconnect();
  expect_baseline("after the server has gone");
  expect_no_charges(0);
}

TEST_F(Stuck, AUidHasNoMoreThanItsShare) {
  RawPeer other = peer();
  make_files(1);
  RawPeer keeper = peer_as(2002);  // nothing of the attacker's uid
  // Closing a copy of the file waits as the last close does, so one file serves for all.
  fuse_.hang();
  std::size_t sent = 0;
  pb::Error refused;
  for (bool full = false; !full && sent < 4 * limits::kQuarantinePerUid;) {
    RawPeer attacker = connect_as(kAttacker);
    const auto hello = attacker.hello();
    if (hello.status != HB_OK) {
      full = true;
      break;
    }
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t id = send_file(attacker);
      if (attacker.await<pb::ExportReply>(id).ended) break;
      ++sent;
    }
    ASSERT_EQ(other.ping(), HB_OK) << "after " << sent;
  }
  EXPECT_GE(sent, limits::kQuarantinePerUid / 2);
  EXPECT_LE(sent, limits::kQuarantinePerUid + 20);
  RawPeer again = connect_as(kAttacker);
  const RawFrame frame = again.receive();
  ASSERT_EQ(frame.outcome, ReceiveOutcome::kPacket);
  ASSERT_EQ(frame.header.type, FrameType::kError);
  ASSERT_TRUE(refused.ParseFromString(frame.body));
  EXPECT_EQ(refused.status(), HB_QUOTA) << refused.message();
  EXPECT_EQ(refused.limit(), limits::kQuarantinePerUid);
  EXPECT_EQ(refused.who(), "uid " + std::to_string(kAttacker));
  EXPECT_TRUE(again.ends());
  // A flood of connections with nothing in them costs nothing, although none of this uid is closed any more.
  for (int i = 0; i < 300; ++i) {
    RawPeer raw = connect_as(kAttacker);
    raw.send_bytes("anything");
  }
  expect_served(other, "while a uid has its share");
  EXPECT_EQ(keeper.ping(), HB_OK);
  EXPECT_LE(admin_peer().status().reply.fds_used(), 400u);
  fuse_.end();
  files_.clear();
  again.disconnect();
  expect_baseline("after the server has gone", 2);
  EXPECT_EQ(peer_as(kAttacker).ping(), HB_OK) << "and the uid may come again";
}

TEST_F(Stuck, StopAndRestartWhileACloseDoesNotReturn) {
  for (const int number : {SIGTERM, SIGKILL}) {
    FuseFile fuse;
    RawPeer attacker = peer_as(kAttacker);
    std::vector<UniqueFd> file;
    file.push_back(fuse.open());
    while_stopped([&] {
      attacker.send(FrameType::kExport, export_of("x", 1, kPage), {file[0].get()});
      file.clear();
      fuse.hang();
    });
    ASSERT_TRUE(poll_until([&] { return admin_peer().status().reply.quarantined() == 1; }));
    // Inside close() it has no number any more.
    ASSERT_TRUE(poll_until([&] {
      const std::vector<std::string> fds = daemon().fds();
      return std::find(fds.begin(), fds.end(), "/file") == fds.end();
    }));
    daemon().process().signal(number);
    const std::string which = number == SIGTERM ? "after SIGTERM" : "after SIGKILL";
    // The process cannot go: one of its threads is in that close. Its first thread has gone.
    ASSERT_TRUE(poll_until([&] { return process_state(daemon().pid()) == 'Z'; })) << which;
    expect_restart(which);
    EXPECT_FALSE(daemon().process().wait(1)) << which << ": it is still there";
    fuse.end();
    const auto status = daemon().process().wait();
    ASSERT_TRUE(status) << which << ": it ends once the file's server has gone";
    attacker.disconnect();
    daemon().start();
  }
}

}  // namespace
}  // namespace hb::test
