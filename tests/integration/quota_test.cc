// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Each resource at its limit, with the real daemon: the refusal tells what, how much, of how much and whose;
// another uid notices nothing; what is given back can be used again. Raw sessions: the library would not get
// that far with some of them.
#include "integration/quota_fixture.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

constexpr std::uint32_t kTenant = 2001;
constexpr std::uint32_t kOther = 2002;

// Of kTenant; kOther has the built-in limits.
class Quotas : public QuotaTest {
 protected:
  Quotas()
      : QuotaTest(with_quotas("[[quota.override]]\nuid = [2001]\nsessions = 3\nexports = 2\nchunks = 5\n"
                              "bytes = \"64K\"\ndescriptors = 4\nleases = 2\nstagings = 1\nwaits = 1\n"
                              "tickets = 1\ngroups = 1\nevents = 2\n")) {}

  static std::vector<UniqueFd> memory(std::size_t count, std::uint64_t bytes = kPage) {
    std::vector<UniqueFd> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(sealed_memfd(bytes, i));
    return out;
  }
  static RawAnswer<pb::ExportReply> share(RawPeer& peer, const std::string& name, std::size_t chunks,
                                          std::uint64_t bytes = kPage) {
    return peer.export_fds(name, borrow(memory(chunks, bytes)), bytes);
  }
};

TEST_F(Quotas, Sessions) {
  RawPeer first = peer_as(kTenant);
  RawPeer second = peer_as(kTenant);
  {
    const RawPeer third = peer_as(kTenant);
    RawPeer fourth = connect_as(kTenant);
    expect_quota(fourth.hello(), "sessions", 3, 3, kTenant);
    RawPeer other = peer_as(kOther);
    EXPECT_EQ(other.ping(), HB_OK);
    EXPECT_EQ(first.ping(), HB_OK);
  }
  EXPECT_TRUE(poll_until([&] { return used(kTenant, "sessions") == 2; }));
  EXPECT_EQ(peer_as(kTenant).ping(), HB_OK);
}

TEST_F(Quotas, Exports) {
  RawPeer tenant = peer_as(kTenant);
  RawPeer again = peer_as(kTenant);
  const auto first = share(tenant, "a", 1);
  ASSERT_EQ(first.status, HB_OK);
  EXPECT_EQ(share(again, "b", 1).status, HB_OK);
  expect_quota(share(again, "c", 1), "exports", 2, 2, kTenant);
  RawPeer other = peer_as(kOther);
  EXPECT_EQ(share(other, "c", 1).status, HB_OK);
  EXPECT_EQ(tenant.withdraw_id(first.reply.export_id()).status, HB_OK);
  EXPECT_EQ(share(again, "c", 1).status, HB_OK);
}

TEST_F(Quotas, Chunks) {
  RawPeer tenant = peer_as(kTenant);
  // All of one object: descriptors are another resource.
  const UniqueFd object = sealed_memfd(8 * kPage, 1);
  const auto share_pages = [&](RawPeer& peer, const std::string& name, std::size_t pages) {
    pb::Export body = export_of(name, pages, kPage);
    body.set_distinct_handles(1);
    for (std::size_t i = 0; i < pages; ++i) {
      body.mutable_chunks(static_cast<int>(i))->set_handle(1);
      body.mutable_chunks(static_cast<int>(i))->set_offset(i * kPage);
    }
    return peer.call<pb::ExportReply>(FrameType::kExport, body, {object.get()});
  };
  const auto first = share_pages(tenant, "a", 3);
  ASSERT_EQ(first.status, HB_OK) << first.error.message();
  expect_quota(share_pages(tenant, "b", 3), "chunks", 3, 5, kTenant);
  RawPeer other = peer_as(kOther);
  EXPECT_EQ(share_pages(other, "b", 6).status, HB_OK);
  EXPECT_EQ(tenant.withdraw_id(first.reply.export_id()).status, HB_OK);
  EXPECT_EQ(share_pages(tenant, "b", 5).status, HB_OK);
}

// 64 KiB. An allocation counts once for a uid, however often it exports it, and once for each uid.
TEST_F(Quotas, Bytes) {
  RawPeer tenant = peer_as(kTenant);
  RawPeer again = peer_as(kTenant);
  RawPeer other = peer_as(kOther);
  const UniqueFd object = sealed_memfd(48 << 10, 1);
  const auto first = tenant.export_fds("a", {object.get()}, 48 << 10);
  ASSERT_EQ(first.status, HB_OK);
  const auto second = again.export_fds("b", {object.get()}, 48 << 10);
  ASSERT_EQ(second.status, HB_OK) << second.error.message();
  EXPECT_EQ(used(kTenant, "bytes"), 48u << 10);
  EXPECT_EQ(used(kTenant, "descriptors"), 1u);
  EXPECT_EQ(other.export_fds("a", {object.get()}, 48 << 10).status, HB_OK);
  EXPECT_EQ(used(kTenant, "bytes"), 48u << 10);
  EXPECT_EQ(used(kOther, "bytes"), 48u << 10);

  ASSERT_EQ(tenant.withdraw_id(first.reply.export_id()).status, HB_OK);
  EXPECT_EQ(used(kTenant, "bytes"), 48u << 10);  // "b" is there
  expect_quota(share(tenant, "c", 1, 32 << 10), "bytes", 48 << 10, 64 << 10, kTenant);
  EXPECT_EQ(share(other, "c", 1, 32 << 10).status, HB_OK);
  ASSERT_EQ(again.withdraw_id(second.reply.export_id()).status, HB_OK);
  EXPECT_EQ(used(kTenant, "bytes"), 0u);
  EXPECT_EQ(share(tenant, "c", 1, 64 << 10).status, HB_OK);
}

TEST_F(Quotas, Descriptors) {
  RawPeer tenant = peer_as(kTenant);
  const auto first = share(tenant, "a", 3);
  ASSERT_EQ(first.status, HB_OK);
  expect_quota(share(tenant, "b", 2), "descriptors", 3, 4, kTenant);
  RawPeer other = peer_as(kOther);
  EXPECT_EQ(share(other, "b", 5).status, HB_OK);
  ASSERT_EQ(tenant.withdraw_id(first.reply.export_id()).status, HB_OK);
  EXPECT_EQ(share(tenant, "b", 4).status, HB_OK);
}

TEST_F(Quotas, Leases) {
  RawPeer owner = peer_as(kOther);
  const auto shared = owner.export_fds("kv", borrow(memory(1)), kPage, {acl_uid(kTenant, 1)});
  ASSERT_EQ(shared.status, HB_OK);
  RawPeer tenant = peer_as(kTenant);
  RawPeer again = peer_as(kTenant);
  const auto lease = tenant.acquire(shared.reply.key());
  ASSERT_EQ(lease.status, HB_OK) << lease.error.message();
  ASSERT_EQ(again.acquire(shared.reply.key()).status, HB_OK);
  expect_quota(again.acquire(shared.reply.key()), "leases", 2, 2, kTenant);
  EXPECT_EQ(owner.acquire(shared.reply.key()).status, HB_OK);
  tenant.release(lease.reply.lease_id());
  EXPECT_EQ(tenant.ping(), HB_OK);
  EXPECT_EQ(again.acquire(shared.reply.key()).status, HB_OK);
}

TEST_F(Quotas, ExportsHalfSent) {
  RawPeer tenant = peer_as(kTenant);
  RawPeer again = peer_as(kTenant);
  const auto begin = [&](RawPeer& peer, const std::string& name) {
    pb::Export body = export_of(name, 1, kPage);
    body.set_total_chunks(2);
    body.set_total_size(2 * kPage);
    body.set_distinct_handles(2);
    return peer.call<pb::ExportReply>(FrameType::kExport, body, borrow(memory(1)));
  };
  const auto half = begin(tenant, "a");
  ASSERT_EQ(half.status, HB_OK) << half.error.message();
  expect_quota(begin(again, "b"), "exports half sent", 1, 1, kTenant);
  RawPeer other = peer_as(kOther);
  EXPECT_EQ(begin(other, "b").status, HB_OK);
  pb::ExportAbort abort;
  abort.set_export_id(half.reply.export_id());
  tenant.send_one_way(FrameType::kExportAbort, abort);
  EXPECT_EQ(tenant.ping(), HB_OK);
  EXPECT_EQ(begin(again, "b").status, HB_OK);
}

TEST_F(Quotas, WaitingRequests) {
  RawPeer tenant = peer_as(kTenant);
  RawPeer again = peer_as(kTenant);
  pb::Acquire wait;
  wait.mutable_target()->mutable_name()->set_name("comes later");
  wait.set_access(1);
  wait.set_max_handles(1);
  wait.set_wait_ns(UINT64_MAX);
  const std::uint64_t waiting = tenant.send(FrameType::kAcquire, wait);
  ASSERT_TRUE(poll_until([&] { return used(kTenant, "waits") == 1; }));
  expect_quota(again.call<pb::AcquireReply>(FrameType::kAcquire, wait), "waiting requests", 1, 1, kTenant);
  RawPeer other = peer_as(kOther);
  other.send(FrameType::kAcquire, wait);
  EXPECT_TRUE(poll_until([&] { return used(kOther, "waits") == 1; }));
  pb::Cancel cancel;
  cancel.set_request_id(waiting);
  tenant.send_one_way(FrameType::kCancel, cancel);
  EXPECT_NE(tenant.await<pb::AcquireReply>(waiting).status, HB_OK);
  again.send(FrameType::kAcquire, wait);
  EXPECT_TRUE(poll_until([&] { return used(kTenant, "waits") == 1; }));
}

TEST_F(Quotas, Tickets) {
  const auto make = [](RawPeer& peer, std::uint64_t export_id) {
    pb::MakeTicket wanted;
    wanted.set_export_id(export_id);
    wanted.set_access(1);
    wanted.set_ttl_ns(limits::kTicketNs);
    return peer.call<pb::MakeTicketReply>(FrameType::kMakeTicket, wanted);
  };
  RawPeer tenant = peer_as(kTenant);
  RawPeer again = peer_as(kTenant);
  const auto one = share(tenant, "a", 1);
  const auto two = share(again, "b", 1);
  const auto ticket = make(tenant, one.reply.export_id());
  ASSERT_EQ(ticket.status, HB_OK) << ticket.error.message();
  expect_quota(make(again, two.reply.export_id()), "tickets", 1, 1, kTenant);
  RawPeer other = peer_as(kOther);
  const auto theirs = make(other, share(other, "c", 1).reply.export_id());
  EXPECT_EQ(theirs.status, HB_OK);
  // They hold the memory until they are used, dropped or too old, whoever has gone by then.
  const auto drop = [](RawPeer& peer, const std::string& key) {
    pb::DropTicket wanted;
    wanted.set_ticket(key);
    return peer.call<pb::DropTicketReply>(FrameType::kDropTicket, wanted).status;
  };
  EXPECT_EQ(drop(other, theirs.reply.ticket()), HB_OK);
  EXPECT_EQ(drop(tenant, ticket.reply.ticket()), HB_OK);
  const auto next = make(again, two.reply.export_id());
  EXPECT_EQ(next.status, HB_OK);
  EXPECT_EQ(drop(again, next.reply.ticket()), HB_OK);
}

TEST_F(Quotas, Groups) {
  const auto join = [](RawPeer& peer, const std::string& name, std::uint64_t export_id) {
    pb::Join wanted;
    wanted.set_name(name);
    wanted.set_world(1);
    wanted.set_attempt(1);
    wanted.set_wait_ns(UINT64_MAX);
    wanted.set_export_id(export_id);
    wanted.set_access(1);
    wanted.set_max_handles(1);
    return peer.call<pb::JoinReply>(FrameType::kJoin, wanted);
  };
  RawPeer tenant = peer_as(kTenant);
  const std::uint64_t one = share(tenant, "a", 1).reply.export_id();
  const std::uint64_t two = share(tenant, "b", 1).reply.export_id();
  const auto joined = join(tenant, "ranks", one);
  ASSERT_EQ(joined.status, HB_OK) << joined.error.message();
  expect_quota(join(tenant, "more", two), "groups joined", 1, 1, kTenant);
  RawPeer other = peer_as(kOther);
  EXPECT_EQ(join(other, "ranks", share(other, "c", 1).reply.export_id()).status, HB_OK);
  pb::Leave leave;
  leave.set_group_id(joined.reply.group_id());
  tenant.send_one_way(FrameType::kLeave, leave);
  EXPECT_EQ(tenant.ping(), HB_OK);
  EXPECT_EQ(join(tenant, "more", two).status, HB_OK);
}

// Nobody asks for an event, so nobody can be refused one: who does not take them is told that it lost some,
// and its account stays at the limit.
TEST_F(Quotas, Events) {
  RawPeer owner = peer_as(kOther);
  RawPeer tenant = peer_as(kTenant);
  RawPeer bystander = peer_as(kOther);
  ASSERT_EQ(set_quota(kTenant, {{"leases", 10}}).status, HB_OK);
  std::vector<std::uint64_t> exports;
  for (int i = 0; i < 4; ++i) {
    const auto shared =
        owner.export_fds("kv" + std::to_string(i), borrow(memory(1)), kPage, {acl_uid(kTenant, 1)});
    ASSERT_EQ(shared.status, HB_OK);
    exports.push_back(shared.reply.export_id());
    EXPECT_EQ(tenant.acquire(shared.reply.key()).status, HB_OK);
    EXPECT_EQ(bystander.acquire(shared.reply.key()).status, HB_OK);
  }
  const auto subscribe = [](RawPeer& peer) {
    return peer.call<pb::SubscribeReply>(FrameType::kSubscribe, pb::Subscribe());
  };
  const auto bell = subscribe(tenant);
  const auto other_bell = subscribe(bystander);
  ASSERT_EQ(bell.status, HB_OK);
  for (const std::uint64_t id : exports) EXPECT_EQ(owner.withdraw_id(id).status, HB_OK);
  const auto events = [](RawPeer& peer) {
    std::map<int, int> kinds;
    for (bool more = true; more;) {
      const auto taken = peer.call<pb::TakeEventsReply>(FrameType::kTakeEvents, pb::TakeEvents());
      EXPECT_EQ(taken.status, HB_OK);
      for (const pb::Event& event : taken.reply.events()) ++kinds[event.kind()];
      more = taken.reply.more();
    }
    return kinds;
  };
  EXPECT_EQ(used(kTenant, "events"), 2u);
  EXPECT_EQ(events(tenant), (std::map<int, int>{{pb::Event::LOST, 1}, {pb::Event::WITHDRAWN, 2}}));
  EXPECT_EQ(events(bystander), (std::map<int, int>{{pb::Event::WITHDRAWN, 4}}));
  EXPECT_EQ(used(kTenant, "events"), 0u);
  EXPECT_EQ(set_quota(kTenant, {}, true).status, HB_OK);
}

// What the main socket answers is one's own account, not who else is there.
TEST_F(Quotas, ShowOneselfOnly) {
  RawPeer tenant = peer_as(kTenant);
  RawPeer other = peer_as(kOther);
  EXPECT_EQ(share(tenant, "a", 2).status, HB_OK);
  const auto own = tenant.call<pb::QuotaListReply>(FrameType::kQuotaList, pb::QuotaList());
  ASSERT_EQ(own.status, HB_OK) << own.error.message();
  ASSERT_EQ(own.reply.accounts_size(), 1);
  EXPECT_EQ(own.reply.accounts(0).uid(), kTenant);
  EXPECT_EQ(own.reply.accounts(0).scope(), "main");
  EXPECT_EQ(own.reply.next_cursor(), 0u);
  std::map<std::string, std::uint64_t> amounts;
  for (const pb::Amount& amount : own.reply.accounts(0).amounts()) amounts[amount.resource()] = amount.used();
  EXPECT_EQ(amounts["chunks"], 2u);
  EXPECT_EQ(amounts["bytes"], 2 * kPage);
  pb::QuotaSet wanted;
  wanted.set_uid(kTenant);
  wanted.set_clear(true);
  EXPECT_EQ(tenant.call<pb::QuotaSetReply>(FrameType::kQuotaSet, wanted).status, HB_DENIED);
}

}  // namespace
}  // namespace hb::test
