// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Answers of an export's life, of events, steps and groups.
#include <gtest/gtest.h>

#include <string>

#include "hipbroker/v1/broker.pb.h"
#include "ipc/translate_reply.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

namespace v1 = hipbroker::v1;

class TranslateReplyLife : public testing::Test {
 protected:
  template <class Message>
  Message written(FrameType type, core::ReplyBody body, std::size_t fds = 0) {
    const core::Reply reply{core::SessionId{1}, 42, static_cast<std::uint16_t>(type), false, std::move(body)};
    const auto frame = decode_frame(writer_.reply(reply, {}));
    EXPECT_TRUE(frame);
    if (!frame) return {};
    EXPECT_EQ(frame->header.type, type);
    EXPECT_EQ(frame->header.flags, kFlagReply);
    EXPECT_EQ(frame->header.fd_count, fds);
    EXPECT_EQ(frame->header.request_id, 42u);
    Message message;
    EXPECT_TRUE(message.ParseFromArray(frame->body.data(), static_cast<int>(frame->body.size())));
    return message;
  }
  template <class Message>
  void expect_empty(FrameType type, core::ReplyBody body, std::size_t fds = 0) {
    EXPECT_EQ(written<Message>(type, std::move(body), fds).ByteSizeLong(), 0u);
  }

  // A grant with `handles` descriptors and one chunk more than those.
  core::Acquired grant(std::uint64_t lease, std::size_t handles, bool read_only) {
    core::Acquired made;
    made.lease = core::LeaseId{lease};
    made.page.read_only = read_only;
    made.page.chunks = std::span(chunks_).first(handles + 1);
    for (std::size_t i = 0; i < handles; ++i) {
      made.page.handles.push_back(core::HandleId{lease * 1000 + i});
      made.page.sizes.push_back(4096 * (i + 1));
      made.page.handle_of.push_back(static_cast<std::uint16_t>(i));
    }
    made.page.handle_of.push_back(0);
    return made;
  }

  ipc::ReplyWriter writer_;
  const core::ProcessInfo process_{UINT32_MAX, std::string(15, 'c'), std::string(128, 'g'), ""};
  const core::SessionInfo session_{core::SessionId{9}, 1001, 1002, &process_, 5};
  const std::vector<core::Chunk> chunks_ =
      std::vector<core::Chunk>(300, {core::AllocationId{11}, 0, 4096, 0});
};

core::Holder holder_of(const core::SessionInfo& session) {
  core::Holder holder;
  holder.lease = core::LeaseId{UINT64_MAX};
  holder.exported = core::ExportId{UINT64_MAX};
  holder.session = session;
  holder.access = core::Access::kReadWrite;
  holder.level = core::Level::kSealed;
  holder.offset = holder.length = holder.age_ns = UINT64_MAX;
  holder.unread_ns = UINT64_MAX;
  holder.listens = true;
  holder.unmap_asked = true;
  holder.ticket = core::TicketId{UINT64_MAX - 1};
  holder.ticket_left_ns = UINT64_MAX - 2;
  holder.acked_step = UINT64_MAX - 3;
  holder.state = 7;
  return holder;
}

TEST_F(TranslateReplyLife, FieldsThatOlderAnswersGained) {
  core::Exported exported;
  exported.size = 4096;
  EXPECT_EQ(written<v1::ExportReply>(FrameType::kExport, exported).size(), 0u) << "not complete";
  exported.complete = true;
  EXPECT_EQ(written<v1::ExportReply>(FrameType::kChange, exported).size(), 4096u);
  core::Acquired acquired;
  acquired.exported.max_size = 8192;
  acquired.follows = true;
  const auto grant = written<v1::AcquireReply>(FrameType::kAcquire, acquired);
  EXPECT_EQ(grant.max_size(), 8192u);
  EXPECT_TRUE(grant.follows());
  core::Counters counters;
  counters.ended_held = 1;
  counters.tickets = 2;
  counters.groups = 3;
  counters.events_pending = 4;
  const auto status = written<v1::StatusReply>(FrameType::kStatus, counters);
  EXPECT_EQ(status.ended_held(), 1u);
  EXPECT_EQ(status.tickets(), 2u);
  EXPECT_EQ(status.groups(), 3u);
  EXPECT_EQ(status.events_pending(), 4u);
  core::ExportInfo info;
  info.view.max_size = 1;
  info.linger_ns = 2;
  info.linger_left_ns = 3;
  info.tickets = 4;
  info.descriptors = 5;
  info.step = 6;
  const auto list = written<v1::ListReply>(FrameType::kList, core::Listed{{info}, 0});
  EXPECT_EQ(list.exports(0).max_size(), 1u);
  EXPECT_EQ(list.exports(0).linger_ns(), 2u);
  EXPECT_EQ(list.exports(0).linger_left_ns(), 3u);
  EXPECT_EQ(list.exports(0).tickets(), 4u);
  EXPECT_EQ(list.exports(0).descriptors(), 5u);
  EXPECT_EQ(list.exports(0).step(), 6u);
}

TEST_F(TranslateReplyLife, WithdrawnRevokedAndSuspended) {
  core::Withdrawn withdrawn;
  withdrawn.exports = 1;
  withdrawn.holders.assign(limits::kListEntries, holder_of(session_));
  withdrawn.more_holders = true;
  withdrawn.holder_count = 65;
  withdrawn.layout_version = 3;
  for (const FrameType type : {FrameType::kWithdraw, FrameType::kRevoke, FrameType::kSuspend}) {
    const auto message = written<v1::WithdrawReply>(type, withdrawn);
    EXPECT_EQ(message.withdrawn(), 1u);
    EXPECT_TRUE(message.more_holders());
    EXPECT_EQ(message.holder_count(), 65u);
    EXPECT_EQ(message.layout_version(), 3u);
    ASSERT_EQ(static_cast<std::size_t>(message.holders_size()), limits::kListEntries);
    const v1::Holder& holder = message.holders(63);
    EXPECT_EQ(holder.process().pid(), UINT32_MAX);
    EXPECT_EQ(holder.unread_ns(), UINT64_MAX);
    EXPECT_TRUE(holder.listens());
    EXPECT_TRUE(holder.unmap_asked());
    EXPECT_EQ(holder.ticket(), UINT64_MAX - 1);
    EXPECT_EQ(holder.ticket_left_ns(), UINT64_MAX - 2);
    EXPECT_EQ(holder.acked_step(), UINT64_MAX - 3);
    EXPECT_EQ(holder.state(), 7u);
  }
}

TEST_F(TranslateReplyLife, Refreshed) {
  core::Refreshed refreshed;
  refreshed.grant.lease = core::LeaseId{7};
  refreshed.grant.length = 8192;
  refreshed.changed = {{1, 2}, {5, 1}};
  const auto message = written<v1::RefreshReply>(FrameType::kRefresh, refreshed);
  EXPECT_EQ(message.grant().lease_id(), 7u);
  EXPECT_EQ(message.grant().length(), 8192u);
  EXPECT_EQ(message.grant().chunks_size(), 0);
  ASSERT_EQ(message.changed_size(), 2);
  EXPECT_EQ(message.changed(0).first(), 1u);
  EXPECT_EQ(message.changed(0).count(), 2u);
  EXPECT_EQ(message.changed(1).first(), 5u);
}

TEST_F(TranslateReplyLife, TicketsAndEmptyAnswers) {
  core::TicketMade made;
  made.ticket.fill('t');
  EXPECT_EQ(written<v1::MakeTicketReply>(FrameType::kMakeTicket, made).ticket(), std::string(64, 't'));
  expect_empty<v1::DropTicketReply>(FrameType::kDropTicket, core::TicketDropped{});
  expect_empty<v1::PublishReply>(FrameType::kPublish, core::Published{});
  expect_empty<v1::ReadyReply>(FrameType::kReady, core::GroupReady{});
  expect_empty<v1::SubscribeReply>(FrameType::kSubscribe, core::Subscribed{}, 1);
}

TEST_F(TranslateReplyLife, EventsOfAWholePageFitAFrame) {
  core::EventsTaken taken;
  taken.more = true;
  const core::Event event{core::EventKind::kReplaced,
                          core::LeaseId{UINT64_MAX},
                          core::ExportId{UINT64_MAX - 1},
                          UINT32_MAX,
                          UINT64_MAX - 2,
                          UINT64_MAX - 3,
                          {UINT64_MAX - 4, UINT64_MAX - 5}};
  taken.events.assign(limits::kEventsPage, event);
  const auto message = written<v1::TakeEventsReply>(FrameType::kTakeEvents, taken);
  EXPECT_TRUE(message.more());
  ASSERT_EQ(static_cast<std::size_t>(message.events_size()), limits::kEventsPage);
  const v1::Event& last = message.events(static_cast<int>(limits::kEventsPage) - 1);
  EXPECT_EQ(last.kind(), v1::Event::REPLACED);
  EXPECT_EQ(last.lease_id(), UINT64_MAX);
  EXPECT_EQ(last.export_id(), UINT64_MAX - 1);
  EXPECT_EQ(last.generation(), UINT32_MAX);
  EXPECT_EQ(last.layout_version(), UINT64_MAX - 2);
  EXPECT_EQ(last.size(), UINT64_MAX - 3);
  EXPECT_EQ(last.first_chunk(), UINT64_MAX - 4);
  EXPECT_EQ(last.chunk_count(), UINT64_MAX - 5);
}

TEST_F(TranslateReplyLife, KindsOfEventsAreTheSameNumbers) {
  core::EventsTaken taken;
  for (int kind = 0; kind <= static_cast<int>(core::EventKind::kLost); ++kind)
    taken.events.push_back({static_cast<core::EventKind>(kind), {}, {}, 0, 0, 0, {}});
  const auto message = written<v1::TakeEventsReply>(FrameType::kTakeEvents, taken);
  for (int kind = v1::Event::Kind_MIN; kind <= v1::Event::Kind_MAX; ++kind)
    EXPECT_EQ(static_cast<int>(message.events(kind).kind()), kind);
  EXPECT_EQ(message.events_size(), v1::Event::Kind_ARRAYSIZE);
}

TEST_F(TranslateReplyLife, Steps) {
  EXPECT_EQ(written<v1::WaitStepReply>(FrameType::kWaitStep, core::StepWaited{6}).step(), 6u);
  core::AcksWaited acks;
  acks.acked = 3;
  acks.missing.assign(limits::kListEntries, holder_of(session_));
  acks.more_missing = true;
  auto message = written<v1::WaitAcksReply>(FrameType::kWaitAcks, acks);
  EXPECT_EQ(message.acked(), 3u);
  EXPECT_TRUE(message.more_missing());
  EXPECT_FALSE(message.more_left());
  EXPECT_EQ(static_cast<std::size_t>(message.missing_size()), limits::kListEntries);
  EXPECT_EQ(message.left_size(), 0);
  acks.left.assign(limits::kListEntries, holder_of(session_));
  acks.more_left = true;
  message = written<v1::WaitAcksReply>(FrameType::kWaitAcks, acks);
  EXPECT_EQ(static_cast<std::size_t>(message.left_size()), limits::kListEntries) << "both lists fit";
  EXPECT_TRUE(message.more_left());
}

// `handle` counts over the whole frame, in the order of the members, and each keeps what it allows.
TEST_F(TranslateReplyLife, JoinedMembersShareOneFrame) {
  core::Joined joined;
  joined.group = core::GroupId{4};
  joined.members.push_back({core::ExportId{50}, session_, grant(1, 2, true)});
  joined.members.push_back({core::ExportId{51}, session_, std::nullopt});
  joined.members.push_back({core::ExportId{52}, session_, grant(2, 3, false)});
  const auto message = written<v1::JoinReply>(FrameType::kJoin, joined, 5);
  EXPECT_EQ(message.group_id(), 4u);
  ASSERT_EQ(message.members_size(), 3);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(message.members(rank).rank(), static_cast<std::uint32_t>(rank));
    EXPECT_EQ(message.members(rank).export_id(), 50u + static_cast<unsigned>(rank));
    EXPECT_EQ(message.members(rank).process().uid(), 1001u);
    EXPECT_EQ(message.members(rank).has_grant(), rank != 1);
  }
  const auto handles = [&](int rank) {
    std::vector<std::uint32_t> made;
    for (const v1::Chunk& chunk : message.members(rank).grant().chunks()) made.push_back(chunk.handle());
    return made;
  };
  EXPECT_EQ(message.members(0).grant().lease_id(), 1u);
  EXPECT_EQ(handles(0), (std::vector<std::uint32_t>{1, 2, 1}));
  EXPECT_EQ(handles(2), (std::vector<std::uint32_t>{3, 4, 5, 3}));
  EXPECT_EQ(message.members(2).grant().chunks(1).object_size(), 8192u);
  std::vector<ipc::OutHandle> carried;
  ipc::append_handles(joined, carried);
  using Handle = core::HandleId;
  EXPECT_EQ(carried, (std::vector<ipc::OutHandle>{{Handle{1000}, true},
                                                  {Handle{1001}, true},
                                                  {Handle{2000}, false},
                                                  {Handle{2001}, false},
                                                  {Handle{2002}, false}}));
}

TEST_F(TranslateReplyLife, GroupAppended) {
  const auto message =
      written<v1::GroupAppendReply>(FrameType::kGroupAppend, core::GroupAppended{{1, 300, UINT64_MAX}});
  ASSERT_EQ(message.layout_versions_size(), 3);
  EXPECT_EQ(message.layout_versions(1), 300u);
  EXPECT_EQ(message.layout_versions(2), UINT64_MAX);
}

}  // namespace
}  // namespace hb::test
