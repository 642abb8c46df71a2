// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A daemon that is killed, or stopped, and started again by its service manager: nobody notices.
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "integration/restart_fixture.h"
#include "support/channel.h"
#include "support/role.h"

namespace hb::test {
namespace {

class Restart : public RestartTest {};

// B08, and what issue 6 adds: nobody has to connect again.
TEST_F(Restart, B08_NobodyNoticesThatTheDaemonWasKilled) {
  RawPeer producer = resuming();
  RawPeer consumer = resuming();
  const auto plain = shared(producer, "plain", 2, 10);
  const auto listed = shared(producer, "listed", 3, 20, 0, {acl_uid(1001, 1)});
  const auto lease = consumer.acquire(plain.key());
  ASSERT_EQ(lease.status, HB_OK);
  const auto page = consumer.call<pb::SharePageReply>(FrameType::kSharePage, pb::SharePage());
  ASSERT_EQ(page.status, HB_OK);
  void* words = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, page.fds.at(0).get(), 0);
  ASSERT_NE(words, MAP_FAILED);
  const volatile std::uint32_t* word = static_cast<std::uint32_t*>(words) + lease.reply.validity_slot();
  const pb::StatusReply before = status();
  EXPECT_TRUE(before.restart_safe()) << before.restart_reason();
  const pid_t old = daemon().pid();

  daemon().restart();

  EXPECT_NE(daemon().pid(), old);
  EXPECT_EQ(resumed(producer).awaited_size(), 0);
  EXPECT_EQ(resumed(consumer).restarts(), 1u);
  EXPECT_EQ(*word, lease.reply.validity_value());
  EXPECT_EQ(pattern_error(lease.fds.at(0).get(), 0, kPage, 10), "");
  const pb::StatusReply after = status();
  EXPECT_EQ(after.exports(), 2u);
  EXPECT_EQ(after.leases(), 1u);
  EXPECT_EQ(after.allocations(), before.allocations());
  EXPECT_EQ(after.parked(), before.parked());
  EXPECT_EQ(after.restarts(), 1u);
  EXPECT_TRUE(after.restart_safe()) << after.restart_reason();
  const auto held = holders(producer, plain.export_id());
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].lease_id(), lease.reply.lease_id());
  EXPECT_EQ(held[0].process().pid(), static_cast<std::uint32_t>(::getpid()));

  RawPeer third = peer();
  EXPECT_EQ(wrong_bytes(third, plain.key(), 10), "");
  EXPECT_EQ(wrong_bytes(third, listed.key(), 20), "");
  EXPECT_EQ(shown(producer, listed.export_id()).generation(), listed.generation());
  // The word of the page that the client has mapped is still the daemon's to clear.
  EXPECT_EQ(producer.withdraw_id(plain.export_id()).status, HB_OK);
  EXPECT_NE(*word, lease.reply.validity_value());
  ::munmap(words, 4096);
}

TEST_F(Restart, AStopAndAStartAreNoMoreThanACrash) {
  RawPeer owner = resuming();
  const auto made = shared(owner, "kv", 2, 10);
  daemon().process().signal(SIGTERM);
  ASSERT_TRUE(daemon().process().wait());
  daemon().start();
  resumed(owner);
  EXPECT_EQ(wrong_bytes(owner, made.key(), 10), "");
  EXPECT_EQ(owner.withdraw_id(made.export_id()).status, HB_OK);
}

TEST_F(Restart, ManyTimesOneAfterTheOther) {
  RawPeer owner = resuming();
  const auto made = shared(owner, "kv", 4, 10);
  for (std::uint64_t times = 1; times <= 5; ++times) {
    daemon().restart();
    EXPECT_EQ(resumed(owner).restarts(), times);
    EXPECT_EQ(wrong_bytes(owner, made.key(), 10), "");
    shared(owner, "more", 1, 50 + times);
    pb::Withdraw more;
    more.mutable_target()->mutable_name()->set_name("more");
    EXPECT_EQ(owner.call<pb::WithdrawReply>(FrameType::kWithdraw, more).status, HB_OK);
  }
}

TEST_F(Restart, WhatPersistsIsThereWithoutItsOwner) {
  pb::ExportReply made;
  {
    RawPeer owner = resuming();
    made = shared(owner, "weights", 2, 10, 2);
  }
  daemon().restart();
  RawPeer heir = peer();
  EXPECT_EQ(wrong_bytes(heir, made.key(), 10), "");
  pb::Claim claim;
  claim.mutable_target()->set_key(made.key());
  EXPECT_EQ(heir.call<pb::ExportReply>(FrameType::kClaim, claim).status, HB_OK);
  EXPECT_EQ(heir.withdraw_id(made.export_id()).status, HB_OK);
}

// An owner or a holder that says nothing is one all the same.
TEST_F(Restart, ASilentSessionEndsByItsEndNotByTheRestart) {
  RawPeer watcher = resuming();
  auto owner = std::make_unique<RawPeer>(resuming());
  const auto made = shared(*owner, "kv", 2, 10);
  auto holder = std::make_unique<RawPeer>(resuming());
  ASSERT_EQ(holder->acquire(made.key()).status, HB_OK);
  daemon().restart();
  EXPECT_EQ(shown(watcher, made.export_id()).leases(), 1u);
  holder.reset();
  EXPECT_TRUE(poll_until([&] { return shown(watcher, made.export_id()).leases() == 0; }));
  owner.reset();
  EXPECT_TRUE(poll_until([&] { return watcher.list().reply.exports_size() == 0; }));
}

HB_ROLE(holds_for_ever) {
  RawPeer peer(args.at(0));
  if (peer.hello({"resume"}).status != HB_OK) return 1;
  if (peer.acquire_name("kv").status != HB_OK) return 2;
  send_message(kChannelFd, {{"ready", 1}});
  static_cast<void>(receive_message(kChannelFd, UINT64_MAX / 2));
  return 0;
}

// Its connection is still there, in the hands of the service manager.
TEST_F(Restart, AProcessThatDiedInTheGapIsNoticed) {
  RawPeer owner = resuming();
  const auto made = shared(owner, "kv", 2, 10);
  auto [channel, theirs] = channel_pair();
  Process holder({own_program(), "--role=holds_for_ever", daemon().socket()}, ProcessOptions(),
                 {{theirs.get(), kChannelFd}});
  theirs.reset();
  ASSERT_TRUE(receive_message(channel.get(), kWatchdogNs));
  ASSERT_EQ(shown(owner, made.export_id()).leases(), 1u);
  daemon().kill9();
  holder.kill_and_reap();
  daemon().start();
  EXPECT_TRUE(poll_until([&] { return shown(owner, made.export_id()).leases() == 0; }));
}

TEST_F(Restart, AClientOfAnOlderVersionEndsWithTheDaemon) {
  RawPeer old = peer();
  RawPeer owner = resuming();
  shared(old, "theirs", 1, 10);
  const auto kept = shared(owner, "ours", 1, 20);
  daemon().restart();
  EXPECT_TRUE(old.ends());
  EXPECT_EQ(owner.list().reply.exports_size(), 1);
  EXPECT_EQ(wrong_bytes(owner, kept.key(), 20), "");
}

TEST_F(Restart, WhoWaitsForANameGetsIt) {
  RawPeer owner = resuming();
  RawPeer reader = resuming();
  pb::Acquire wait;
  wait.mutable_target()->mutable_name()->set_name("later");
  wait.set_access(1);
  wait.set_max_handles(16);
  wait.set_wait_ns(UINT64_MAX);
  const std::uint64_t id = reader.send(FrameType::kAcquire, wait);
  ASSERT_TRUE(poll_until([&] { return status().waits() == 1; }));
  daemon().restart();
  resumed(reader);
  const std::string again = wait.SerializeAsString();
  reader.send_frame({FrameType::kAcquire, 0, 0, id}, again);
  shared(owner, "later", 2, 10);
  const auto answer = reader.await<pb::AcquireReply>(id);
  EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
  EXPECT_EQ(answer.fds.size(), 2u);
}

// Requests made while there is no daemon wait in the socket.
TEST_F(Restart, ARequestMadeInTheGapIsAnswered) {
  RawPeer owner = resuming();
  const auto made = shared(owner, "kv", 1, 10);
  daemon().kill9();
  pb::Acquire body;
  body.mutable_target()->set_key(made.key());
  body.set_access(1);
  body.set_max_handles(16);
  const std::uint64_t id = owner.send(FrameType::kAcquire, body);
  daemon().start();
  const auto answer = owner.await<pb::AcquireReply>(id);
  EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
  EXPECT_EQ(pattern_error(answer.fds.at(0).get(), 0, kPage, 10), "");
}

TEST_F(Restart, AWithdrawThatWaitsForItsHoldersGoesOn) {
  RawPeer owner = resuming();
  RawPeer holder = resuming();
  const auto made = shared(owner, "kv", 2, 10);
  const auto lease = holder.acquire(made.key());
  pb::Withdraw body;
  body.mutable_target()->set_export_id(made.export_id());
  body.set_wait_ns(UINT64_MAX);
  const std::uint64_t id = owner.send(FrameType::kWithdraw, body);
  ASSERT_TRUE(poll_until([&] { return status().waits() == 1; }));
  daemon().restart();
  resumed(owner);
  owner.send_frame({FrameType::kWithdraw, 0, 0, id}, body.SerializeAsString());
  holder.release(lease.reply.lease_id());
  const auto answer = owner.await<pb::WithdrawReply>(id);
  EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
  EXPECT_EQ(answer.reply.holder_count(), 0u);
}

TEST_F(Restart, WhoListensIsToldThatEventsMayHaveBeenLost) {
  RawPeer owner = resuming();
  RawPeer holder = resuming();
  const auto made = shared(owner, "kv", 1, 10);
  ASSERT_EQ(holder.acquire(made.key()).status, HB_OK);
  const auto bell = holder.call<pb::SubscribeReply>(FrameType::kSubscribe, pb::Subscribe());
  ASSERT_EQ(bell.fds.size(), 1u);
  daemon().restart();
  ASSERT_TRUE(wait_readable(bell.fds[0].get()));
  char byte = 0;
  EXPECT_EQ(::recv(bell.fds[0].get(), &byte, 1, MSG_DONTWAIT), 1) << "the bell ended with the daemon";
  const auto events = holder.call<pb::TakeEventsReply>(FrameType::kTakeEvents, pb::TakeEvents());
  ASSERT_EQ(events.reply.events_size(), 1);
  EXPECT_EQ(events.reply.events(0).kind(), pb::Event::LOST);
}

ino_t inode_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

// B09 a: what was mounted somewhere stays what it was.
TEST_F(Restart, B09_SocketsAndDirectoriesStayTheSame) {
  RawPeer admin = admin_peer();
  pb::ScopeAdd wanted;
  wanted.set_name("job7");
  const auto scope = admin.call<pb::ScopeAddReply>(FrameType::kScopeAdd, wanted);
  ASSERT_EQ(scope.status, HB_OK) << scope.error.message();
  const std::string in_scope = scope.reply.directory() + "/broker.sock";
  RawPeer member(in_scope);
  ASSERT_EQ(member.hello({"resume"}).status, HB_OK);
  const auto made = shared(member, "kv", 1, 10);
  const std::vector<std::string> paths{daemon().socket(), daemon().admin_socket(), in_scope, daemon().run_dir(),
                                       scope.reply.directory()};
  std::vector<ino_t> before;
  for (const std::string& path : paths) before.push_back(inode_of(path));
  for (const bool killed : {true, false}) {
    daemon().process().signal(killed ? SIGKILL : SIGTERM);
    ASSERT_TRUE(daemon().process().wait());
    daemon().start();
    for (std::size_t i = 0; i < paths.size(); ++i) EXPECT_EQ(inode_of(paths[i]), before[i]) << paths[i];
    resumed(member);
    EXPECT_EQ(wrong_bytes(member, made.key(), 10), "");
    RawPeer second(in_scope);
    EXPECT_EQ(second.hello().status, HB_OK);
    EXPECT_EQ(wrong_bytes(second, made.key(), 10), "");
  }
  member.disconnect();
  pb::ScopeRemove gone;
  gone.set_name("job7");
  RawPeer again = admin_peer();
  EXPECT_EQ(again.call<pb::ScopeRemoveReply>(FrameType::kScopeRemove, gone).status, HB_OK);
}

}  // namespace
}  // namespace hb::test
