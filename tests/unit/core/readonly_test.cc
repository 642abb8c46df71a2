// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <gmock/gmock.h>

#include "core/broker.h"
#include "unit/core/broker_driver.h"

namespace hb::test {
namespace {

using namespace core;
using testing::HasSubstr;

class ReadOnlyTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId owner = connect(1000);
  SessionId reader = connect(1001);
  Exported shared(ExportRequest request) {
    request.acl = {uid_reads(1001), uid_reads(0)};
    return exported(owner, std::move(request));
  }
  // As the edge does: finds the candidates and says the same level of all.
  AcquireRequest with_facts(SessionId session, AcquireRequest request, Level level) {
    for (const auto& candidate : broker.readonly_candidates(session, request))
      request.facts.push_back({candidate.allocation, level});
    return request;
  }
};

TEST_F(ReadOnlyTest, WithoutAFactOnlyTheReadersIntentHolds) {
  const Exported out = shared(simple("kv"));
  const Acquired got = acquired(reader, by_key(out.key));
  EXPECT_EQ(got.level, Level::kIntent);
  EXPECT_TRUE(got.page.read_only);  // where the edge has reopened it for another
  EXPECT_EQ(acquired(owner, writing(by_key(out.key))).level, Level::kNone);
}

TEST_F(ReadOnlyTest, AFactOfTheEdgeMakesItPerReader) {
  const Exported out = shared(chunked("kv", 3, 4096));
  const auto candidates = broker.readonly_candidates(reader, by_key(out.key));
  ASSERT_EQ(candidates.size(), 3u);
  EXPECT_EQ(candidates[0].owner_uid, 1000u);
  EXPECT_EQ(candidates[0].reader_uid, 1001u);
  EXPECT_EQ(broker.handle_of(candidates[0].allocation), candidates[0].handle);
  const Acquired got = acquired(reader, with_facts(reader, by_key(out.key), Level::kPerReader));
  EXPECT_EQ(got.level, Level::kPerReader);
  EXPECT_TRUE(got.page.read_only);
  EXPECT_TRUE(std::get<Fetched>(ask(reader, FetchRequest{got.lease, 1, 1})).page.read_only);
}

TEST_F(ReadOnlyTest, TheWeakestChunkOfTheRangeDecides) {
  ExportRequest request = chunked("kv", 3, 4096);
  request.handles[0].sealed = true;
  request.handles[1].sealed = true;
  const Exported out = shared(std::move(request));
  EXPECT_EQ(acquired(reader, by_key(out.key)).level, Level::kIntent);
  EXPECT_EQ(acquired(reader, ranged(by_key(out.key), 0, 8192)).level, Level::kSealed);
  EXPECT_EQ(acquired(owner, ranged(by_key(out.key), 0, 8192)).level, Level::kSealed);
  EXPECT_EQ(broker.readonly_candidates(reader, by_key(out.key)).size(), 1u);
  EXPECT_EQ(acquired(reader, with_facts(reader, by_key(out.key), Level::kPerReader)).level,
            Level::kPerReader);
  AcquireRequest partly = with_facts(reader, by_key(shared(chunked("b", 2, 4096)).key), Level::kPerReader);
  partly.facts.pop_back();
  EXPECT_EQ(acquired(reader, partly).level, Level::kIntent);
}

TEST_F(ReadOnlyTest, NeitherTheOwnersUidNorRootIsBoundByAReopening) {
  const Exported out = shared(simple("kv"));
  const AllocationId allocation = broker.readonly_candidates(reader, by_key(out.key)).at(0).allocation;
  for (const std::uint32_t uid : {1000u, 0u}) {
    const SessionId session = connect(uid);
    EXPECT_TRUE(broker.readonly_candidates(session, by_key(out.key)).empty());
    AcquireRequest request = by_key(out.key);
    request.facts = {{allocation, Level::kPerReader}};
    EXPECT_EQ(acquired(session, request).level, Level::kIntent);
    request.facts = {{allocation, Level::kSealed}};
    EXPECT_EQ(acquired(session, request).level, Level::kSealed);
  }
}

TEST_F(ReadOnlyTest, ASealedExportIsSealedForAll) {
  ExportRequest request = chunked("kv", 2, 4096);
  for (HandleFacts& handle : request.handles) handle.sealed = true;
  const Exported out = shared(std::move(request));
  for (const SessionId session : {owner, reader, connect(0)}) {
    EXPECT_TRUE(broker.readonly_candidates(session, by_key(out.key)).empty());
    EXPECT_EQ(acquired(session, by_key(out.key)).level, Level::kSealed);
  }
  EXPECT_EQ(std::get<Shown>(ask(reader, ShowRequest{out.key, 0})).info.level, Level::kSealed);
}

TEST_F(ReadOnlyTest, ADemandStrongerThanWhatHoldsNamesBothLevels) {
  const Exported out = shared(simple("kv"));
  AcquireRequest request = by_key(out.key);
  request.demand = Level::kPerReader;
  const ReplyBody body = ask(reader, request);
  EXPECT_EQ(status_of(body), HB_LEVEL);
  EXPECT_THAT(error_of(body).message, HasSubstr("per-reader"));
  EXPECT_THAT(error_of(body).message, HasSubstr("intent"));
  EXPECT_EQ(counters().leases, 0u);
  EXPECT_EQ(acquired(reader, with_facts(reader, request, Level::kPerReader)).level, Level::kPerReader);
  request.demand = Level::kSealed;
  EXPECT_EQ(status_of(ask(reader, with_facts(reader, request, Level::kPerReader))), HB_LEVEL);
  request.demand = static_cast<Level>(4);
  EXPECT_EQ(status_of(ask(reader, request)), HB_INVALID);
}

TEST_F(ReadOnlyTest, AReadOnlyDescriptorGoesByTheFactsToo) {
  ExportRequest request = simple("kv");
  request.handles[0].writable = false;
  const Exported out = shared(std::move(request));
  EXPECT_EQ(acquired(reader, by_key(out.key)).level, Level::kIntent);
  EXPECT_EQ(acquired(reader, with_facts(reader, by_key(out.key), Level::kPerReader)).level,
            Level::kPerReader);
}

TEST_F(ReadOnlyTest, CandidatesTellNothingToThoseWhoMayNotRead) {
  const Exported out = shared(simple("kv"));
  EXPECT_TRUE(broker.readonly_candidates(connect(1002), by_key(out.key)).empty());
  EXPECT_TRUE(broker.readonly_candidates(reader, writing(by_key(out.key))).empty());
  EXPECT_TRUE(broker.readonly_candidates(reader, ranged(by_key(out.key), 0, 1 << 30)).empty());
  EXPECT_TRUE(broker.readonly_candidates(SessionId{99}, by_key(out.key)).empty());
}

TEST_F(ReadOnlyTest, AWaiterWhoseLevelNeedsFactsIsTriedAgainWithThem) {
  AcquireRequest request = waiting(by_name("kv", 1000), 10 * kSecond);
  request.demand = Level::kPerReader;
  const std::uint64_t id = send(reader, request);
  advance(4 * kSecond);
  shared(simple("kv"));
  EXPECT_EQ(answer_to(reader, id), nullptr);
  const Retry* retry = nullptr;
  for (const Effect& effect : effects)
    if (const auto* found = std::get_if<Retry>(&effect)) retry = found;
  ASSERT_NE(retry, nullptr);
  EXPECT_EQ(retry->session, reader);
  EXPECT_EQ(retry->request_id, id);
  EXPECT_EQ(retry->request.wait_ns, 6 * kSecond);
  EXPECT_EQ(counters().waits, 0u);
  const AcquireRequest again = with_facts(reader, retry->request, Level::kPerReader);
  EXPECT_EQ(std::get<Acquired>(ask_as(reader, id, again)).level, Level::kPerReader);
}

TEST_F(ReadOnlyTest, AnEdgeThatDoesNotRetryGetsAnAnswerAtLevelIntent) {
  BrokerConfig config = default_config();
  config.retries = false;
  BrokerDriver plain(config);
  const SessionId exporter = plain.connect(1000);
  const SessionId waiter = plain.connect(1001);
  const std::uint64_t id = plain.send(waiter, waiting(by_name("kv", 1000), kNever));
  ExportRequest request = plain.simple("kv");
  request.acl = {uid_reads(1001)};
  plain.exported(exporter, std::move(request));
  const Reply* reply = plain.answer_to(waiter, id);
  ASSERT_NE(reply, nullptr);
  EXPECT_EQ(std::get<Acquired>(reply->body).level, Level::kIntent);
}

TEST_F(ReadOnlyTest, ARetryIsAnsweredHoweverManyAnswersWereGivenMeanwhile) {
  const std::uint64_t id = send(reader, waiting(by_name("kv", 1000), kNever));
  for (int i = 0; i < 40; ++i) ask(reader, by_name("missing"));
  shared(simple("kv"));
  AcquireRequest again;
  for (const Effect& effect : effects)
    if (const auto* retry = std::get_if<Retry>(&effect)) again = retry->request;
  EXPECT_EQ(status_of(ask_as(reader, id, again)), HB_OK);
}

}  // namespace
}  // namespace hb::test
