// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Growth, sleep, succession, events and groups, with the daemon killed at each step.
#include "integration/restart_crash.h"

namespace hb::test {
namespace {

Frame change_of(World& w, pb::Change::Kind kind, std::size_t chunks) {
  pb::Change change;
  change.set_export_id(w.kv.export_id());
  change.set_kind(kind);
  change.set_total_chunks(chunks);
  change.set_total_size(chunks * kPage);
  change.set_distinct_handles(chunks);
  for (std::size_t i = 0; i < chunks; ++i) {
    change.add_chunks()->set_handle(static_cast<std::uint32_t>(i + 1));
    change.mutable_chunks(static_cast<int>(i))->set_size(kPage);
  }
  return frame(FrameType::kChange, change, borrow(w.fds));
}

void suspend(World& w) {
  pb::Suspend request;
  request.set_export_id(w.kv.export_id());
  EXPECT_EQ(w.owner.call<pb::WithdrawReply>(FrameType::kSuspend, request).status, HB_OK);
}

// A group of one rank, which has met and not yet mapped.
std::uint64_t met(World& w) {
  pb::Join join;
  join.set_name("ranks");
  join.set_world(1);
  join.set_export_id(w.kv.export_id());
  join.set_access(1);
  const auto answer = w.owner.call<pb::JoinReply>(FrameType::kJoin, join);
  EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
  return answer.reply.group_id();
}

std::uint64_t groups(World& w, std::uint64_t id) {
  pb::Ready ready;
  ready.set_group_id(id);
  return static_cast<std::uint64_t>(w.owner.call<pb::ReadyReply>(FrameType::kReady, ready).status);
}

const Case kLife[] = {
    {"Resume", false,
     [](World& w) {
       suspend(w);
       return change_of(w, pb::Change::RESUME, 2);
     },
     [](World& w, const std::string& body) {
       EXPECT_TRUE(parsed<pb::ExportReply>(body).complete());
       EXPECT_EQ(info_of(w).layout_version(), 3u);
       const auto now = w.consumer.acquire(w.kv.key());
       ASSERT_EQ(now.fds.size(), 2u) << now.error.message();
       EXPECT_EQ(pattern_error(now.fds[1].get(), 0, kPage, 71), "");
       EXPECT_EQ(w.owner.withdraw_id(w.kv.export_id()).status, HB_OK);
     }},
    {"Unmapped", true,
     [](World& w) {
       suspend(w);
       pb::Unmapped unmapped;
       unmapped.set_lease_id(w.lease);
       return one_way(FrameType::kUnmapped, unmapped);
     },
     [](World& w, const std::string&) {
       const auto held = holders_of(w);
       ASSERT_EQ(held.size(), 1u);
       EXPECT_FALSE(held[0].unmap_asked());
     }},
    {"Join", false,
     [](World& w) {
       pb::Join join;
       join.set_name("ranks");
       join.set_world(1);
       join.set_export_id(w.kv.export_id());
       join.set_access(1);
       return frame(FrameType::kJoin, join);
     },
     [](World& w, const std::string& body) {
       EXPECT_EQ(groups(w, parsed<pb::JoinReply>(body).group_id()), 0u);
     }},
    {"Ready", false,
     [](World& w) {
       pb::Ready ready;
       ready.set_group_id(met(w));
       return frame(FrameType::kReady, ready);
     },
     [](World& w, const std::string&) { EXPECT_EQ(info_of(w).state(), 1u); }},
    {"Leave", false,
     [](World& w) {
       pb::Leave leave;
       leave.set_group_id(met(w));
       return one_way(FrameType::kLeave, leave);
     },
     [](World& w, const std::string&) { EXPECT_NE(met(w), 0u) << "the name is still taken"; }},
    {"Subscribe", true, [](World&) { return frame(FrameType::kSubscribe, pb::Subscribe()); },
     [](World& w, const std::string&) {
       EXPECT_EQ(w.owner.withdraw_id(w.kv.export_id()).status, HB_OK);
       const auto news = w.consumer.call<pb::TakeEventsReply>(FrameType::kTakeEvents, pb::TakeEvents());
       EXPECT_GE(news.reply.events_size(), 1);
     }},
    {"SharePage", true, [](World&) { return frame(FrameType::kSharePage, pb::SharePage()); },
     [](World& w, const std::string& body) {
       EXPECT_GT(parsed<pb::SharePageReply>(body).slots(), 0u);
       EXPECT_EQ(w.consumer.acquire(w.kv.key()).status, HB_OK);
     }},
};
INSTANTIATE_TEST_SUITE_P(Life, Crash, testing::ValuesIn(kLife),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace hb::test
