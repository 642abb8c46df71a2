// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Sleep: the daemon lets go at once, holders are waited for, waking brings new memory under the same key.
#include <gmock/gmock.h>

#include "core/broker.h"
#include "unit/core/broker_driver.h"

namespace hb::test {
namespace {

using namespace core;

class SuspendTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId owner = connect(1000);
  SessionId first = connect(1000);
  SessionId second = connect(1000);

  Withdrawn suspended(ExportId id, std::uint64_t wait_ns = 0) {
    const ReplyBody body = ask(owner, SuspendRequest{id, wait_ns});
    if (const auto* out = std::get_if<Withdrawn>(&body)) return *out;
    ADD_FAILURE() << error_of(body).message;
    return {};
  }
  ReplyBody resume(ExportId id, std::size_t chunks, std::uint64_t size = 4096) {
    ExportRequest fresh = chunked("", chunks, size);
    ChangeRequest request;
    request.id = id;
    request.kind = ChangeRequest::Kind::kResume;
    request.total_chunks = chunks;
    request.total_size = chunks * size;
    request.distinct_handles = chunks;
    request.chunks = std::move(fresh.chunks);
    request.handles = std::move(fresh.handles);
    return ask(owner, std::move(request));
  }
  void unmap(SessionId session, LeaseId lease, std::uint64_t version) {
    send(session, UnmappedRequest{lease, version});
  }
};

TEST_F(SuspendTest, HandlesCloseAtOnceAndTheAnswerNamesWhoHasNotUnmapped) {
  const Exported made = exported(owner, chunked("kv", 3, 4096));
  const Acquired a = acquired(first, by_key(made.key));
  const Acquired b = acquired(second, by_key(made.key));
  const Withdrawn after = suspended(made.id);
  EXPECT_EQ(open_handles(), 0u);
  EXPECT_EQ(after.layout_version, 2u);
  EXPECT_EQ(after.holder_count, 2u);
  EXPECT_EQ(word(first, a.validity_slot), 0u);
  EXPECT_EQ(word(second, b.validity_slot), 0u);
  unmap(first, a.lease, after.layout_version);
  const Withdrawn again = suspended(made.id);
  ASSERT_EQ(again.holders.size(), 1u);
  EXPECT_EQ(again.holders[0].lease, b.lease);
  EXPECT_EQ(again.exports, 0u);  // by this call
  // Key and name are there, and say how it stands.
  EXPECT_EQ(status_of(ask(first, by_key(made.key))), HB_SUSPENDED);
  EXPECT_EQ(status_of(ask(first, by_name("kv"))), HB_SUSPENDED);
  EXPECT_EQ(status_of(ask(first, FetchRequest{a.lease, 0, 1})), HB_SUSPENDED);
  EXPECT_EQ(status_of(ask(first, RefreshRequest{a.lease, 1, {}})), HB_SUSPENDED);
}

TEST_F(SuspendTest, TheAnswerWaitsForTheLastOneByWord) {
  const Exported made = exported(owner, simple("kv"));
  const Acquired a = acquired(first, by_key(made.key));
  const Acquired b = acquired(second, by_key(made.key));
  const std::uint64_t asked = send(owner, SuspendRequest{made.id, kSecond});
  EXPECT_EQ(answer_to(owner, asked), nullptr);
  EXPECT_EQ(open_handles(), 0u);
  unmap(first, a.lease, 1);  // of an earlier layout: not this sleep
  unmap(first, a.lease, 0);  // whichever there is
  unmap(first, a.lease, 2);  // twice
  EXPECT_EQ(answer_to(owner, asked), nullptr);
  unmap(second, b.lease, 2);
  const Reply* answer = answer_to(owner, asked);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(std::get<Withdrawn>(answer->body).holder_count, 0u);
}

TEST_F(SuspendTest, AnEndedLeaseOrSessionNeedsNoWordAndTheTimeEndsTheWait) {
  const Exported made = exported(owner, simple("kv"));
  const Acquired a = acquired(first, by_key(made.key));
  acquired(second, by_key(made.key));
  const SessionId third = connect(1000);
  const Acquired c = acquired(third, by_key(made.key));
  const std::uint64_t asked = send(owner, SuspendRequest{made.id, kSecond});
  send(first, ReleaseRequest{a.lease});
  disconnect(second);
  EXPECT_EQ(answer_to(owner, asked), nullptr);
  advance(kSecond);
  const Reply* answer = answer_to(owner, asked);
  ASSERT_NE(answer, nullptr);
  const Withdrawn& left = std::get<Withdrawn>(answer->body);
  ASSERT_EQ(left.holders.size(), 1u);
  EXPECT_EQ(left.holders[0].lease, c.lease);
  EXPECT_EQ(left.holders[0].session.id, third);
}

TEST_F(SuspendTest, ResumeBringsNewMemoryUnderTheSameKeyAndAllIsChanged) {
  const Exported made = exported(owner, chunked("kv", 2, 4096));
  const Acquired a = acquired(first, by_key(made.key));
  suspended(made.id);
  unmap(first, a.lease, 0);
  EXPECT_EQ(status_of(resume(made.id, 1)), HB_MISMATCH);
  EXPECT_EQ(status_of(resume(made.id, 2, 8192)), HB_MISMATCH);
  EXPECT_EQ(open_handles(), 0u);
  const ReplyBody body = resume(made.id, 2);
  ASSERT_EQ(status_of(body), HB_OK) << error_of(body).message;
  EXPECT_EQ(std::get<Exported>(body).layout_version, 3u);
  EXPECT_EQ(std::get<Exported>(body).key, made.key);
  EXPECT_EQ(word(first, a.validity_slot), 0u);
  EXPECT_EQ(status_of(ask(first, FetchRequest{a.lease, 0, 1})), HB_STALE);
  const ReplyBody refreshed = ask(first, RefreshRequest{a.lease, 1, {}});
  ASSERT_EQ(status_of(refreshed), HB_OK);
  const Refreshed& after = std::get<Refreshed>(refreshed);
  ASSERT_EQ(after.changed.size(), 1u);
  EXPECT_EQ(after.changed[0].first, 0u);
  EXPECT_EQ(after.changed[0].count, 2u);
  EXPECT_EQ(word(first, a.validity_slot), after.grant.validity_value);
  EXPECT_EQ(acquired(second, by_key(made.key)).exported.layout_version, 3u);
}

TEST_F(SuspendTest, AWaitForTheNameEndsWithTheResume) {
  const Exported made = exported(owner, simple("kv"));
  suspended(made.id);
  const std::uint64_t asked = send(first, waiting(by_name("kv"), kSecond));
  EXPECT_EQ(answer_to(first, asked), nullptr);
  resume(made.id, 1);
  bool retried = answer_to(first, asked) != nullptr;
  for (const Effect& effect : effects) retried = retried || std::holds_alternative<Retry>(effect);
  EXPECT_TRUE(retried);
}

TEST_F(SuspendTest, ASleepIsNoneOfOthersAndEndsWithItsOwner) {
  ExportRequest request = simple("kv");
  request.lifetime = Lifetime::kLinger;
  request.linger_ns = kSecond;
  const Exported made = exported(owner, std::move(request));
  EXPECT_EQ(status_of(ask(first, SuspendRequest{made.id, 0})), HB_DENIED);
  const Acquired a = acquired(first, by_key(made.key));
  EXPECT_EQ(status_of(ask(second, UnmappedRequest{a.lease, 0})), HB_NOT_HELD);
  suspended(made.id);
  disconnect(owner);
  EXPECT_EQ(status_of(ask(first, by_key(made.key))), HB_GONE);
  EXPECT_EQ(status_of(ask(first, RefreshRequest{a.lease, 1, {}})), HB_GONE);
}

TEST_F(SuspendTest, AWithdrawalAnswersWhoWaitsAndNoChangeIsTakenAsleep) {
  const Exported made = exported(owner, simple("kv"));
  acquired(first, by_key(made.key));
  const std::uint64_t asked = send(owner, SuspendRequest{made.id, kSecond});
  ChangeRequest replace;
  replace.id = made.id;
  replace.kind = ChangeRequest::Kind::kReplace;
  ExportRequest fresh = chunked("", 1, 4096);
  replace.total_chunks = replace.distinct_handles = 1;
  replace.total_size = 4096;
  replace.chunks = fresh.chunks;
  replace.handles = fresh.handles;
  EXPECT_EQ(status_of(ask(owner, replace)), HB_SUSPENDED);
  EXPECT_TRUE(is_closed(fresh.handles[0].id));
  ask(owner, WithdrawRequest{made.id, false});
  const Reply* answer = answer_to(owner, asked);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(status_of(answer->body), HB_GONE);
}

TEST_F(SuspendTest, WhoSleepsThroughTwoSleepsAnswersBoth) {
  const Exported made = exported(owner, simple("kv"));
  const Acquired a = acquired(first, by_key(made.key));
  suspended(made.id);
  unmap(first, a.lease, 0);
  resume(made.id, 1);
  EXPECT_EQ(suspended(made.id).holder_count, 1u);  // as far as the daemon knows it has mapped since
  unmap(first, a.lease, 2);                        // of the first
  EXPECT_EQ(suspended(made.id).holder_count, 1u);
  unmap(first, a.lease, 0);
  EXPECT_EQ(suspended(made.id).holder_count, 0u);
}

}  // namespace
}  // namespace hb::test
