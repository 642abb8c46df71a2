// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Scopes by their whole life: made, apart from each other, limited, removed, found again by the next daemon.
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "integration/scope_fixture.h"

namespace hb::test {
namespace {

using testing::HasSubstr;

pb::Target by_key(const std::string& key) {
  pb::Target target;
  target.set_key(key);
  return target;
}
pb::Target by_id(std::uint64_t id) {
  pb::Target target;
  target.set_export_id(id);
  return target;
}

class Scopes : public ScopeTest {
 protected:
  using ScopeTest::ScopeTest;
  UniqueFd object_ = sealed_memfd(kPage, 7);

  RawAnswer<pb::ExportReply> exported(RawPeer& peer, const std::string& name, std::uint32_t lifetime = 0) {
    pb::Export wanted = export_of(name, 1, kPage);
    wanted.set_lifetime(lifetime);
    if (lifetime == 1) wanted.set_linger_ns(3'600'000'000'000);
    auto answer = peer.call<pb::ExportReply>(FrameType::kExport, wanted, {object_.get()});
    EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
    return answer;
  }
  static std::string ticket_of(RawPeer& peer, std::uint64_t export_id) {
    pb::MakeTicket wanted;
    wanted.set_export_id(export_id);
    wanted.set_access(1);
    wanted.set_ttl_ns(3'600'000'000'000);
    const auto answer = peer.call<pb::MakeTicketReply>(FrameType::kMakeTicket, wanted);
    EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
    return answer.reply.ticket();
  }
};

// All of this as uid 0 on both sides: root of one container is nobody in the next.
TEST_F(Scopes, B23_RootOfOneIsNobodyInTheNext) {
  const std::string a = made(question("a"));
  const std::string b = made(question("b"));
  RawPeer owner = peer_in(a);
  const auto mine = exported(owner, "kv");
  const std::string key = mine.reply.key();
  const std::string ticket = ticket_of(owner, mine.reply.export_id());
  std::array<RawPeer, 2> others{peer_in(b), peer()};
  for (RawPeer& other : others) {
    // In the words for a key that never was.
    std::string invented = key;
    invented.back() = static_cast<char>(invented.back() ^ 1);
    const auto by_true_key = other.acquire(key);
    const auto by_invented_key = other.acquire(invented);
    EXPECT_EQ(by_true_key.status, HB_NOT_FOUND);
    EXPECT_EQ(by_true_key.status, by_invented_key.status);
    EXPECT_EQ(by_true_key.error.message(), by_invented_key.error.message());
    EXPECT_EQ(other.acquire(ticket).status, HB_NOT_FOUND);
    EXPECT_EQ(other.acquire_name("kv").status, HB_NOT_FOUND);
    EXPECT_EQ(other.list().reply.exports_size(), 0);

    pb::Show show;
    *show.mutable_target() = by_id(mine.reply.export_id());
    EXPECT_EQ(other.call<pb::ShowReply>(FrameType::kShow, show).status, HB_NOT_FOUND);
    pb::Who who;
    *who.mutable_target() = by_id(mine.reply.export_id());
    EXPECT_EQ(other.call<pb::WhoReply>(FrameType::kWho, who).status, HB_NOT_FOUND);
    pb::Revoke revoke;
    *revoke.mutable_target() = by_id(mine.reply.export_id());
    EXPECT_EQ(other.call<pb::WithdrawReply>(FrameType::kRevoke, revoke).status, HB_NOT_FOUND);
    *revoke.mutable_target() = by_key(key);
    EXPECT_NE(other.call<pb::WithdrawReply>(FrameType::kRevoke, revoke).status, HB_OK);
    EXPECT_EQ(other.withdraw_id(mine.reply.export_id()).status, HB_NOT_FOUND);
    pb::Claim claim;
    *claim.mutable_target() = by_key(key);
    EXPECT_EQ(other.call<pb::ExportReply>(FrameType::kClaim, claim).status, HB_NOT_FOUND);
    pb::DropTicket drop;
    drop.set_ticket(ticket);
    EXPECT_EQ(other.call<pb::DropTicketReply>(FrameType::kDropTicket, drop).status, HB_NOT_FOUND);
    // Its name is free here.
    EXPECT_EQ(exported(other, "kv").reply.generation(), 1u);
  }
  EXPECT_EQ(owner.acquire(key).status, HB_OK);
  EXPECT_EQ(owner.list().reply.exports_size(), 1);

  // And the admin, who sees both, sees which is where.
  RawPeer admin = admin_peer();
  const auto all = admin.list();
  ASSERT_GE(all.reply.exports_size(), 1);
  EXPECT_EQ(all.reply.exports(0).scope(), "a");
  EXPECT_EQ(all.reply.exports(0).owner().scope(), "a");
  owner.disconnect();
  for (RawPeer& other : others) other.disconnect();
  EXPECT_EQ(remove("a").status, HB_OK);
  EXPECT_EQ(remove("b").status, HB_OK);
  expect_baseline("after both were removed", 1);
}

TEST_F(Scopes, AGroupMeetsInsideOne) {
  const std::string a = made(question("a"));
  const std::string b = made(question("b"));
  RawPeer first = peer_in(a);
  RawPeer second = peer_in(b);
  const auto join = [&](RawPeer& peer, std::uint32_t rank) {
    pb::Join wanted;
    wanted.set_name("tp");
    wanted.set_rank(rank);
    wanted.set_world(2);
    wanted.set_export_id(exported(peer, "of rank " + std::to_string(rank)).reply.export_id());
    wanted.set_access(1);
    wanted.set_max_handles(8);
    wanted.set_wait_ns(UINT64_MAX);
    return peer.send(FrameType::kJoin, wanted);
  };
  const std::uint64_t waiting = join(first, 0);
  RawPeer same_scope = peer_in(a);
  join(second, 1);  // of the other scope: nobody it could meet
  const std::uint64_t meets = join(same_scope, 1);
  EXPECT_EQ(first.await<pb::JoinReply>(waiting).status, HB_OK);
  EXPECT_EQ(same_scope.await<pb::JoinReply>(meets).status, HB_OK);
  EXPECT_EQ(second.receive(0).outcome, ReceiveOutcome::kWouldBlock) << "it still waits";
  const auto removed = remove("b");
  ASSERT_EQ(removed.status, HB_OK) << removed.error.message();
  EXPECT_EQ(removed.reply.groups(), 1u);
  EXPECT_EQ(remove("a").status, HB_OK);
}

TEST_F(Scopes, TheAdminsVerbsAreTheAdminSocketsAlone) {
  const std::string a = made(question("a"));
  std::array<RawPeer, 2> roots{peer(), peer_in(a)};
  for (RawPeer& root : roots) {
    for (int verb = 0; verb < 3; ++verb) {
      const auto refuse = [&](const auto& answer) {
        EXPECT_EQ(answer.status, HB_DENIED);
        EXPECT_THAT(answer.error.message(), HasSubstr("on the admin socket only"));
      };
      pb::ScopeRemove away;
      away.set_name("a");
      if (verb == 0) refuse(root.call<pb::ScopeAddReply>(FrameType::kScopeAdd, question("mine")));
      if (verb == 1) refuse(root.call<pb::ScopeRemoveReply>(FrameType::kScopeRemove, away));
      if (verb == 2) refuse(root.call<pb::ScopeListReply>(FrameType::kScopeList, pb::ScopeList()));
    }
    EXPECT_EQ(root.status().status, HB_DENIED);
  }
  EXPECT_EQ(listed().size(), 2u);
  EXPECT_EQ(remove("a").status, HB_OK);
}

TEST_F(Scopes, WhoIsNotNamedIsRefusedInWords) {
  const std::string a = made(question("a", {1001, 1002}));
  RawPeer stranger(a + "/broker.sock");
  const auto answer = stranger.hello();
  EXPECT_EQ(answer.status, HB_DENIED);
  EXPECT_THAT(answer.error.message(), HasSubstr("uid 0 may not enter scope a"));
  EXPECT_THAT(answer.error.message(), HasSubstr("can make it anew with this uid named"));
  EXPECT_TRUE(stranger.ends());
  const auto scopes = listed();
  ASSERT_EQ(scopes.size(), 2u);
  EXPECT_EQ(scopes[0].name(), "main");
  EXPECT_EQ(scopes[0].directory(), daemon().run_dir());
  EXPECT_EQ(scopes[1].name(), "a");
  EXPECT_EQ(scopes[1].directory(), a);
  EXPECT_EQ(std::vector<std::uint32_t>(scopes[1].uids().begin(), scopes[1].uids().end()),
            (std::vector<std::uint32_t>{1001, 1002}));
  EXPECT_EQ(scopes[1].sessions(), 0u);
  EXPECT_EQ(remove("a").status, HB_OK);
}

TEST_F(Scopes, B06_LimitsOfTheWholeAndOfEach) {
  const std::string a = made(question("a", {}, {{"exports", 2}, {"bytes", 10 * kPage}}, {{"leases", 1}}));
  RawPeer one = peer_in(a);
  RawPeer other = peer_in(a);
  const auto first = exported(one, "first");
  exported(other, "second");
  const auto third = one.export_fds("third", {object_.get()});
  EXPECT_EQ(third.status, HB_QUOTA);
  EXPECT_EQ(third.error.what(), "exports");
  EXPECT_EQ(third.error.used(), 2u);
  EXPECT_EQ(third.error.limit(), 2u);
  EXPECT_EQ(third.error.who(), "scope a");
  EXPECT_EQ(one.acquire(first.reply.key()).status, HB_OK);
  const auto lease = other.acquire(first.reply.key());
  EXPECT_EQ(lease.status, HB_QUOTA);
  EXPECT_EQ(lease.error.who(), "uid 0 in scope a");
  RawPeer outside = peer();
  for (int i = 0; i < 3; ++i) exported(outside, "x" + std::to_string(i));
  EXPECT_EQ(remove("a").reply.exports(), 2u);
}

// What persists needs a daemon that keeps it.
class ScopesWithAStore : public Scopes {
 protected:
  ScopesWithAStore() : Scopes(with_a_store()) {}
  static DaemonOptions with_a_store() {
    DaemonOptions options = with_everything_allowed();
    options.store = true;
    return options;
  }
};

TEST_F(ScopesWithAStore, RemovingOneEndsEverythingInIt) {
  const std::string a = made(question("a"));
  std::string kept_key;
  {
    RawPeer gone = peer_in(a);
    const auto persists = exported(gone, "persists", 2);
    exported(gone, "lingers", 1);
    kept_key = persists.reply.key();
    ticket_of(gone, persists.reply.export_id());
  }
  RawPeer holder = peer_in(a);
  exported(holder, "mine");
  ASSERT_TRUE(poll_until([&] { return holder.list().reply.exports_size() == 3; }));
  EXPECT_EQ(holder.acquire(kept_key).status, HB_OK);
  RawPeer waiting = peer_in(a);
  pb::Acquire acquire;
  acquire.mutable_target()->mutable_name()->set_name("never");
  acquire.set_access(1);
  acquire.set_max_handles(1);
  acquire.set_wait_ns(UINT64_MAX);
  waiting.send(FrameType::kAcquire, acquire);

  const auto removed = remove("a");
  ASSERT_EQ(removed.status, HB_OK) << removed.error.message();
  EXPECT_EQ(removed.reply.sessions(), 2u);
  EXPECT_EQ(removed.reply.exports(), 3u);
  EXPECT_EQ(removed.reply.tickets(), 1u);
  EXPECT_EQ(removed.reply.bytes(), 1 * kPage) << "one allocation, exported three times";
  EXPECT_TRUE(holder.ends());
  EXPECT_TRUE(waiting.ends());
  EXPECT_FALSE(std::filesystem::exists(a));
  EXPECT_THROW(RawPeer{a + "/broker.sock"}, std::runtime_error);
  expect_baseline("nothing of the scope is left");
  const auto counters = counters_when_alone();
  EXPECT_EQ(counters.exports(), 0u);
  EXPECT_EQ(counters.tickets(), 0u);

  // The same name is another scope: nothing of the old one is known there.
  const std::string again = made(question("a"));
  RawPeer fresh = peer_in(again);
  EXPECT_EQ(fresh.acquire(kept_key).status, HB_NOT_FOUND);
  EXPECT_EQ(fresh.list().reply.exports_size(), 0);
  EXPECT_EQ(remove("a").status, HB_OK);
}

TEST_F(Scopes, WhatCannotBeMadeOrRemovedIsNamed) {
  const std::string a = made(question("a"));
  const auto twice = add(question("a"));
  EXPECT_EQ(twice.status, HB_EXISTS);
  EXPECT_THAT(twice.error.message(), HasSubstr(a));
  EXPECT_EQ(add(question("../up")).status, HB_INVALID);
  EXPECT_EQ(add(question("main")).status, HB_INVALID);
  EXPECT_EQ(add(question("b", {UINT32_MAX})).status, HB_INVALID);
  EXPECT_EQ(add(question("b", {}, {{"apples", 1}})).status, HB_INVALID);
  EXPECT_EQ(remove("main").status, HB_INVALID);
  EXPECT_EQ(remove("b").status, HB_NOT_FOUND);
  std::filesystem::create_directory_symlink("/tmp", daemon().run_dir() + "/scopes/link");
  const auto link = add(question("link"));
  EXPECT_EQ(link.status, HB_SYSTEM);
  EXPECT_THAT(link.error.message(), HasSubstr("scopes/link\" is a symbolic link"));
  EXPECT_EQ(listed().size(), 2u);
  EXPECT_EQ(remove("a").status, HB_OK);
}

// What was mounted into a container goes on working.
TEST_F(Scopes, TheNextDaemonServesTheSameDirectory) {
  const std::string a = made(question("a", {0, 1001}, {{"exports", 1}}));
  struct stat before {};
  ASSERT_EQ(::stat(a.c_str(), &before), 0);
  RawPeer old_session = peer_in(a);
  daemon().restart();
  EXPECT_TRUE(old_session.ends());
  struct stat after {};
  ASSERT_EQ(::stat(a.c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  RawPeer session = peer_in(a);
  exported(session, "x");
  EXPECT_EQ(session.export_fds("y", {object_.get()}).error.who(), "scope a");
  ASSERT_EQ(listed().size(), 2u);
  EXPECT_EQ(listed()[1].uids_size(), 2);

  // Ended in order, too; and what was removed stays away.
  session.disconnect();
  ASSERT_EQ(remove("a").status, HB_OK);
  daemon().restart();
  EXPECT_EQ(listed().size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(a));
}

TEST_F(Scopes, ABrokenStateIsToldOfAndKept) {
  made(question("a"));
  daemon().kill9();
  const std::string state = daemon().run_dir() + "/admin/state.toml";
  EXPECT_EQ(std::filesystem::status(state).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  write_file(state, "[[scope]]\nname = 7\n");
  daemon().start();
  EXPECT_EQ(listed().size(), 1u);
  EXPECT_THAT(daemon().log_with("state.toml:2:8: "), HasSubstr("state.toml:2:8: "));
  EXPECT_EQ(read_file(state + ".broken"), "[[scope]]\nname = 7\n");
  // Its directory is there from before, and the daemon's own.
  made(question("a"));
  EXPECT_EQ(remove("a").status, HB_OK);
}

// A scope that the start could not make is said to be missing and can be forgotten.
TEST_F(Scopes, OneThatIsInTheWayIsLeftOut) {
  const std::string a = made(question("a"));
  made(question("b"));
  daemon().kill9();
  std::filesystem::remove_all(a);
  std::filesystem::create_directory_symlink("/tmp", a);
  daemon().start();
  EXPECT_THAT(daemon().log_with("the scope is not served"), HasSubstr("the scope is not served"));
  EXPECT_EQ(listed().size(), 2u);  // main and b
  EXPECT_EQ(remove("a").status, HB_OK);
  EXPECT_EQ(remove("a").status, HB_NOT_FOUND);
  EXPECT_EQ(remove("b").status, HB_OK);
}

TEST_F(Scopes, ManyAreListedPageByPage) {
  constexpr std::size_t kMany = 40;
  for (std::size_t i = 0; i < kMany; ++i) made(question("job-" + std::to_string(i)));
  const auto scopes = listed();
  ASSERT_EQ(scopes.size(), kMany + 1);
  for (std::size_t i = 0; i < kMany; ++i) EXPECT_EQ(scopes[i + 1].name(), "job-" + std::to_string(i));
  for (std::size_t i = 0; i < kMany; ++i) EXPECT_EQ(remove("job-" + std::to_string(i)).status, HB_OK);
  expect_baseline("all are removed");
}

DaemonOptions of_few_descriptors() {
  DaemonOptions options;
  options.process.nofile = 128;
  return options;
}
class ScopesOfFewDescriptors : public ScopeTest {
 protected:
  ScopesOfFewDescriptors() : ScopeTest(of_few_descriptors()) {}
};

TEST_F(ScopesOfFewDescriptors, B23_RootOfOneDoesNotUseUpWhatRootOfTheNextMayHave) {
  const std::string a = made(question("a"));
  const std::string b = made(question("b"));
  std::vector<RawPeer> greedy;
  for (;;) {
    RawPeer next(a + "/broker.sock");
    if (next.hello().status != HB_OK) break;
    greedy.push_back(std::move(next));
    ASSERT_LT(greedy.size(), 64u);
  }
  EXPECT_GE(greedy.size(), 8u);
  EXPECT_EQ(peer_in(b).ping(), HB_OK);
  EXPECT_EQ(peer().ping(), HB_OK);
  greedy.clear();
  EXPECT_EQ(remove("a").status, HB_OK);
  EXPECT_EQ(remove("b").status, HB_OK);
}

}  // namespace
}  // namespace hb::test
