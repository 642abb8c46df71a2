// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a principal may use over all its sessions, and a scope in sum.
#include <gmock/gmock.h>

#include <algorithm>

#include "unit/core/broker_driver.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using namespace core;
using testing::HasSubstr;

class QuotaTest : public BrokerDriver, public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(check_invariants(broker), ""); }

  static std::shared_ptr<const LimitSet> only(Resource resource, std::uint64_t most) {
    LimitSet set = LimitSet::built_in();
    set.set(resource, most);
    return std::make_shared<const LimitSet>(set);
  }
  SessionId limited(std::uint32_t uid, Resource resource, std::uint64_t most, std::uint64_t scope = 0) {
    const SessionId session = connect(uid, {}, scope);
    broker.set_terms(session, Rights::all(), only(resource, most));
    return session;
  }
  // {what, used, limit, who} of a refusal.
  static void expect_refusal(const ReplyBody& body, std::string_view what, std::uint64_t used,
                             std::uint64_t limit, const std::string& who) {
    ASSERT_EQ(status_of(body), HB_QUOTA);
    const Error& error = error_of(body);
    EXPECT_EQ(error.what, what);
    EXPECT_EQ(error.used, used);
    EXPECT_EQ(error.limit, limit);
    EXPECT_EQ(error.who, who);
    EXPECT_THAT(error.message, HasSubstr(who));
    EXPECT_THAT(error.message, HasSubstr(std::to_string(used) + " of " + std::to_string(limit)));
  }
  std::uint64_t used(SessionId session, Resource resource) {
    const ReplyBody body = ask(session, QuotaListRequest{});
    return std::get<QuotaListed>(body).accounts.at(0).used[static_cast<std::size_t>(resource)];
  }
  ExportRequest growing(const std::string& name, std::size_t chunks) {
    ExportRequest request = chunked(name, chunks, 4 * kKiB);
    request.max_size = kMiB;
    return request;
  }
  ChangeRequest append(ExportId id, std::size_t chunks) {
    ExportRequest made = chunked("", chunks, 4 * kKiB);
    ChangeRequest change;
    change.id = id;
    change.kind = ChangeRequest::Kind::kAppend;
    change.total_chunks = made.total_chunks;
    change.total_size = made.total_size;
    change.distinct_handles = made.distinct_handles;
    change.chunks = std::move(made.chunks);
    change.handles = std::move(made.handles);
    return change;
  }
};

TEST_F(QuotaTest, B06_ExportsCountOverAllSessionsOfAUidAndOnlyTheAskerIsRefused) {
  const SessionId a = limited(2001, Resource::kExports, 4);
  const SessionId b = limited(2001, Resource::kExports, 4);
  const SessionId other = limited(2002, Resource::kExports, 8);
  std::vector<Exported> of_a;
  for (const char* name : {"1", "2", "3"}) of_a.push_back(exported(a, simple(name)));
  exported(b, simple("4"));
  expect_refusal(ask(b, simple("5")), "exports", 4, 4, "uid 2001");
  for (int i = 0; i < 8; ++i) exported(other, simple("n" + std::to_string(i)));
  expect_refusal(ask(other, simple("n9")), "exports", 8, 8, "uid 2002");
  ask(a, WithdrawRequest{of_a[0].id, false, 0});
  exported(b, simple("5"));
  EXPECT_EQ(open_handles(), 12u);
}

TEST_F(QuotaTest, BytesOfAnAllocationAreChargedOnceToEachWhoExportsIt) {
  const SessionId a = limited(2001, Resource::kBytes, 10 * kMiB);
  const SessionId b = limited(2002, Resource::kBytes, 10 * kMiB);
  const auto of_one_file = [&](const std::string& name) {
    ExportRequest request = simple(name, 8 * kMiB);
    request.handles[0].inode = 4711;
    return request;
  };
  const Exported p = exported(a, of_one_file("p"));
  const Exported q = exported(a, of_one_file("q"));
  exported(b, of_one_file("r"));
  EXPECT_EQ(used(a, Resource::kBytes), 8 * kMiB);
  EXPECT_EQ(used(a, Resource::kDescriptors), 1u);
  EXPECT_EQ(used(b, Resource::kBytes), 8 * kMiB);
  EXPECT_EQ(counters().allocations, 1u);
  const ReplyBody refused = ask(a, simple("s", 4 * kMiB));
  expect_refusal(refused, "bytes", 8 * kMiB, 10 * kMiB, "uid 2001");
  EXPECT_THAT(error_of(refused).message, HasSubstr("4194304 more asked"));
  EXPECT_EQ(open_handles(), 1u);
  ask(a, WithdrawRequest{p.id, false, 0});
  EXPECT_EQ(used(a, Resource::kBytes), 8 * kMiB);  // q has it still
  ask(a, WithdrawRequest{q.id, false, 0});
  EXPECT_EQ(used(a, Resource::kBytes), 0u);
  EXPECT_EQ(used(b, Resource::kBytes), 8 * kMiB);
  EXPECT_EQ(open_handles(), 1u);
  exported(a, simple("s", 10 * kMiB));
}

TEST_F(QuotaTest, AnExportOverItsBytesInALaterPageLeavesNoTrace) {
  const SessionId a = limited(2001, Resource::kBytes, 3 * 4 * kKiB);
  const ExportRequest whole = chunked("kv", 4, 4 * kKiB);
  ExportRequest first = whole;
  first.chunks.resize(2);
  first.handles.resize(2);
  const Exported begun = std::get<Exported>(ask(a, first));
  ExportChunksRequest rest;
  rest.id = begun.id;
  rest.first = 2;
  rest.chunks.assign(whole.chunks.begin() + 2, whole.chunks.end());
  for (NewChunk& chunk : rest.chunks) chunk.handle -= 2;
  rest.handles.assign(whole.handles.begin() + 2, whole.handles.end());
  expect_refusal(ask(a, rest), "bytes", 8 * kKiB, 12 * kKiB, "uid 2001");
  EXPECT_EQ(open_handles(), 0u);
  for (const Resource resource :
       {Resource::kExports, Resource::kChunks, Resource::kBytes, Resource::kDescriptors, Resource::kStagings})
    EXPECT_EQ(used(a, resource), 0u) << text_of(resource).key;
  exported(a, chunked("kv", 3, 4 * kKiB));
}

TEST_F(QuotaTest, AnAppendOverQuotaAddsNothing) {
  const SessionId a = limited(2001, Resource::kChunks, 5);
  const Exported out = exported(a, growing("kv", 3));
  expect_refusal(ask(a, append(out.id, 3)), "chunks", 3, 5, "uid 2001");
  EXPECT_EQ(used(a, Resource::kChunks), 3u);
  EXPECT_EQ(std::get<Shown>(ask(a, ShowRequest{out.id, 0})).info.chunks, 3u);
  EXPECT_EQ(status_of(ask(a, append(out.id, 2))), HB_OK);
  EXPECT_EQ(used(a, Resource::kChunks), 5u);
  expect_refusal(ask(a, simple("more")), "chunks", 5, 5, "uid 2001");
  ask(a, SuspendRequest{out.id, 0});
  EXPECT_EQ(used(a, Resource::kChunks), 0u);  // asleep it has none
  EXPECT_EQ(used(a, Resource::kBytes), 0u);
  EXPECT_EQ(used(a, Resource::kExports), 1u);
}

TEST_F(QuotaTest, AReplacementIsChargedWhileItIsOnItsWay) {
  const SessionId a = limited(2001, Resource::kChunks, 4);
  const Exported out = exported(a, growing("kv", 3));
  ChangeRequest change = append(out.id, 1);
  change.kind = ChangeRequest::Kind::kReplace;
  change.first = 1;
  EXPECT_EQ(status_of(ask(a, change)), HB_OK);
  EXPECT_EQ(used(a, Resource::kChunks), 3u);
  EXPECT_EQ(used(a, Resource::kDescriptors), 3u);
}

TEST_F(QuotaTest, DescriptorsAreChargedWithTheFirstPage) {
  const SessionId a = limited(2001, Resource::kDescriptors, 4);
  ExportRequest first = chunked("kv", 4, 4 * kKiB);
  const ExportRequest whole = first;
  first.chunks.resize(1);
  first.handles.resize(1);
  const Exported begun = std::get<Exported>(ask(a, first));
  EXPECT_EQ(used(a, Resource::kDescriptors), 4u);
  expect_refusal(ask(a, simple("more")), "descriptors", 4, 4, "uid 2001");
  ask(a, ExportAbortRequest{begun.id});
  EXPECT_EQ(used(a, Resource::kDescriptors), 0u);
  exported(a, simple("more"));
}

TEST_F(QuotaTest, NoUidGetsAllDescriptorsOfTheDaemon) {
  const SessionId a = connect(1000);
  std::uint64_t limit = 0;
  {
    const QuotaListed listed = std::get<QuotaListed>(ask(a, QuotaListRequest{}));
    limit = listed.accounts.at(0).limits.of(Resource::kDescriptors);
  }
  EXPECT_EQ(limit, 20'000 - limits::kFdReserve - limits::kFdsForOthers);
}

TEST_F(QuotaTest, LeasesWaitsTicketsAndGroupsAreOfAllSessions) {
  const SessionId owner = connect(1000);
  ExportRequest shared = simple("kv");
  shared.acl = {uid_reads(2001)};
  const Exported out = exported(owner, std::move(shared));
  {
    const SessionId a = limited(2001, Resource::kLeases, 2);
    const SessionId b = limited(2001, Resource::kLeases, 2);
    acquired(a, by_key(out.key));
    const Acquired second = acquired(b, by_key(out.key));
    expect_refusal(ask(a, by_key(out.key)), "leases", 2, 2, "uid 2001");
    ask(b, ReleaseRequest{second.lease});
    acquired(a, by_key(out.key));
    disconnect(a);
    disconnect(b);
  }
  {
    const SessionId a = limited(2001, Resource::kWaits, 1);
    const SessionId b = limited(2001, Resource::kWaits, 1);
    send(a, waiting(by_name("later"), kSecond));
    expect_refusal(ask(b, waiting(by_name("later"), kSecond)), "waiting requests", 1, 1, "uid 2001");
    advance(2 * kSecond);
    send(b, waiting(by_name("later"), kSecond));
    disconnect(a);
    disconnect(b);
  }
  {
    const SessionId a = limited(2001, Resource::kTickets, 1);
    const Acquired held = acquired(a, by_key(out.key));
    MakeTicketRequest make;
    make.lease = held.lease;
    make.ttl_ns = 10 * kSecond;
    EXPECT_EQ(status_of(ask(a, make)), HB_OK);
    disconnect(a);  // it outlives its session, and is charged on
    const SessionId b = limited(2001, Resource::kTickets, 1);
    make.lease = acquired(b, by_key(out.key)).lease;
    expect_refusal(ask(b, make), "tickets", 1, 1, "uid 2001");
    advance(11 * kSecond);
    EXPECT_EQ(status_of(ask(b, make)), HB_OK);
  }
}

TEST_F(QuotaTest, SessionsAreRefusedBeforeTheyBegin) {
  Principal principal;
  principal.uid = 2001;
  principal.limits = only(Resource::kSessions, 2);
  ASSERT_TRUE(broker.connect(principal, {}, now));
  const auto second = broker.connect(principal, {}, now);
  ASSERT_TRUE(second);
  const auto refused = broker.connect(principal, {}, now);
  ASSERT_FALSE(refused);
  expect_refusal(refused.error(), "sessions", 2, 2, "uid 2001");
  disconnect(*second);
  EXPECT_TRUE(broker.connect(principal, {}, now));
}

TEST_F(QuotaTest, LoweredBelowItsUseWhatExistsStaysAndNothingNewComes) {
  const SessionId a = connect(2001);
  const Exported one = exported(a, simple("1"));
  exported(a, simple("2"));
  exported(a, simple("3"));
  broker.set_terms(a, Rights::usual(), only(Resource::kExports, 1));
  expect_refusal(ask(a, simple("4")), "exports", 3, 1, "uid 2001");
  acquired(a, by_key(one.key));
  ask(a, WithdrawRequest{{}, true, 0});
  exported(a, simple("4"));
}

TEST_F(QuotaTest, AnOrphanIsChargedToWhoLeftIt) {
  const SessionId a = limited(2001, Resource::kExports, 1);
  ExportRequest request = simple("kv");
  request.lifetime = Lifetime::kLinger;
  request.linger_ns = 10 * kSecond;
  exported(a, std::move(request));
  disconnect(a);
  const SessionId b = limited(2001, Resource::kExports, 1);
  expect_refusal(ask(b, simple("2")), "exports", 1, 1, "uid 2001");
  advance(11 * kSecond);
  exported(b, simple("2"));
}

TEST_F(QuotaTest, AScopeHasATotalOverAllItsUids) {
  LimitSet total = LimitSet::unlimited();
  total.set(Resource::kBytes, 10 * kKiB);
  ASSERT_TRUE(broker.add_scope(ScopeId{77}, "job7", total));
  EXPECT_FALSE(broker.add_scope(ScopeId{77}, "again", total));
  const SessionId a = connect(1, {}, 77);
  const SessionId b = connect(2, {}, 77);
  exported(a, simple("1", 8 * kKiB));
  expect_refusal(ask(b, simple("1", 4 * kKiB)), "bytes", 8 * kKiB, 10 * kKiB, "scope job7");
  exported(connect(2), simple("1", 4 * kKiB));  // outside of it
  total.set(Resource::kBytes, 12 * kKiB);
  broker.set_scope_limits(ScopeId{77}, total);
  exported(b, simple("1", 4 * kKiB));
  const SessionId limited_there = limited(2, Resource::kExports, 1, 77);
  expect_refusal(ask(limited_there, simple("2")), "exports", 1, 1, "uid 2 in scope job7");
}

TEST_F(QuotaTest, EventsBeyondTheLimitBecomeOneThatSaysSo) {
  const SessionId owner = connect(1000);
  const SessionId reader = limited(2001, Resource::kEvents, 1);
  ask(reader, SubscribeRequest{});
  std::vector<Exported> made;
  for (const char* name : {"1", "2", "3"}) {
    ExportRequest request = simple(name);
    request.acl = {uid_reads(2001)};
    made.push_back(exported(owner, std::move(request)));
    acquired(reader, by_key(made.back().key));
  }
  ask(owner, WithdrawRequest{{}, true, 0});
  const EventsTaken taken = std::get<EventsTaken>(ask(reader, TakeEventsRequest{}));
  ASSERT_EQ(taken.events.size(), 2u);
  EXPECT_EQ(taken.events[0].kind, EventKind::kLost);
  EXPECT_EQ(taken.events[1].kind, EventKind::kWithdrawn);
  EXPECT_TRUE(std::get<EventsTaken>(ask(reader, TakeEventsRequest{})).events.empty());
  EXPECT_EQ(used(reader, Resource::kEvents), 0u);
}

TEST_F(QuotaTest, AUidThatEndsManyMakesTheBrokerForgetItsOwn) {
  BrokerConfig config = default_config();
  config.ended_exports = 8;
  BrokerDriver small(config);
  const SessionId quiet = small.connect(1000);
  const SessionId loud = small.connect(2001);
  const Exported rare = small.exported(quiet, small.simple("rare"));
  small.ask(quiet, WithdrawRequest{rare.id, false, 0});
  Exported last;
  for (int i = 0; i < 50; ++i) {
    last = small.exported(loud, small.simple("x"));
    small.ask(loud, WithdrawRequest{last.id, false, 0});
  }
  EXPECT_EQ(status_of(small.ask(quiet, by_key(rare.key))), HB_GONE);
  EXPECT_EQ(small.counters().ended_remembered, 8u);
  EXPECT_EQ(check_invariants(small.broker), "");
}

TEST_F(QuotaTest, TheAdminSeesAllAccountsAndScopesOthersTheirOwn) {
  const SessionId a = connect(2001);
  exported(a, simple("1", 8 * kKiB));
  connect(2002, {}, 3);
  const SessionId admin = connect_admin();
  const QuotaListed own = std::get<QuotaListed>(ask(a, QuotaListRequest{}));
  ASSERT_EQ(own.accounts.size(), 1u);
  EXPECT_EQ(own.accounts[0].uid, 2001u);
  EXPECT_EQ(own.accounts[0].scope, "main");
  std::vector<AccountView> all;
  std::uint64_t cursor = 0;
  do {
    const QuotaListed page = std::get<QuotaListed>(ask(admin, QuotaListRequest{cursor}));
    all.insert(all.end(), page.accounts.begin(), page.accounts.end());
    cursor = page.next_cursor;
  } while (cursor != 0);
  ASSERT_EQ(all.size(), 2u + 10u);  // accounts; scopes, the main one among them
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const AccountView& v) { return v.whole_scope; }), 10);
  const auto main = std::find_if(all.begin(), all.end(),
                                 [](const AccountView& v) { return v.whole_scope && v.scope == "main"; });
  EXPECT_EQ(main->used[static_cast<std::size_t>(Resource::kBytes)], 8 * kKiB);
}

}  // namespace
}  // namespace hb::test
