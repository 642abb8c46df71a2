// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Requests of an export's life, of events, steps and groups.
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "hipbroker/v1/broker.pb.h"
#include "ipc/translate_request.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

namespace v1 = hipbroker::v1;

tl::expected<core::Request, ipc::EdgeError> read(FrameType type, const google::protobuf::MessageLite& message,
                                                 std::size_t fds = 0) {
  ipc::RequestReader reader;
  const std::string body = message.SerializeAsString();
  return reader.read(type, std::as_bytes(std::span(body.data(), body.size())), fds);
}

template <class Made>
Made made(FrameType type, const google::protobuf::MessageLite& message, std::size_t fds = 0) {
  const auto request = read(type, message, fds);
  EXPECT_TRUE(request) << request.error().message;
  if (!request || !std::holds_alternative<Made>(*request)) {
    ADD_FAILURE() << "not made";
    return {};
  }
  return std::get<Made>(*request);
}

void expect_invalid(FrameType type, const google::protobuf::MessageLite& message, const std::string& words) {
  const auto refused = read(type, message);
  ASSERT_FALSE(refused) << words;
  EXPECT_EQ(refused.error().status, HB_INVALID) << refused.error().message;
  EXPECT_NE(refused.error().message.find(words), std::string::npos) << refused.error().message;
}

void expect_quota(FrameType type, const google::protobuf::MessageLite& message, const char* what,
                  std::uint64_t used, std::uint64_t limit, std::size_t fds = 0) {
  const auto refused = read(type, message, fds);
  ASSERT_FALSE(refused) << what;
  EXPECT_EQ(refused.error().status, HB_QUOTA) << refused.error().message;
  EXPECT_EQ(refused.error().what, what);
  EXPECT_EQ(refused.error().used, used);
  EXPECT_EQ(refused.error().limit, limit);
}

v1::Change good_change() {
  v1::Change message;
  message.set_export_id(5);
  message.set_kind(v1::Change::REPLACE);
  message.mutable_device()->set_uuid("GPU-1");
  message.set_first(3);
  message.set_total_chunks(2);
  message.set_total_size(8192);
  message.set_distinct_handles(1);
  for (int i = 0; i < 2; ++i) {
    message.add_chunks()->set_handle(1);
    message.mutable_chunks(i)->set_size(4096);
  }
  return message;
}

TEST(TranslateRequestLife, FieldsThatOlderRequestsGained) {
  v1::Export exported;
  exported.set_handle_kind(1);
  exported.set_max_size(1u << 30);
  exported.set_replace(true);
  const auto whole = made<core::ExportRequest>(FrameType::kExport, exported);
  EXPECT_EQ(whole.max_size, 1u << 30);
  EXPECT_TRUE(whole.replace);
  v1::Withdraw withdraw;
  withdraw.set_all(true);
  withdraw.set_wait_ns(UINT64_MAX);
  EXPECT_EQ(made<core::WithdrawRequest>(FrameType::kWithdraw, withdraw).wait_ns, UINT64_MAX);
  v1::List list;
  list.set_ended(true);
  EXPECT_TRUE(made<core::ListRequest>(FrameType::kList, list).ended);
  EXPECT_FALSE(made<core::ListRequest>(FrameType::kList, v1::List()).ended);
}

TEST(TranslateRequestLife, Change) {
  const auto change = made<core::ChangeRequest>(FrameType::kChange, good_change(), 1);
  EXPECT_EQ(change.id.value, 5u);
  EXPECT_EQ(change.kind, core::ChangeRequest::Kind::kReplace);
  EXPECT_EQ(change.device.uuid, "GPU-1");
  EXPECT_EQ(change.first, 3u);
  EXPECT_EQ(change.total_chunks, 2u);
  EXPECT_EQ(change.total_size, 8192u);
  EXPECT_EQ(change.distinct_handles, 1u);
  ASSERT_EQ(change.chunks.size(), 2u);
  EXPECT_EQ(change.chunks[1].handle, 0u) << "the wire counts from 1";
  EXPECT_EQ(change.chunks[1].size, 4096u);
  EXPECT_TRUE(change.handles.empty());
  v1::Change other = good_change();
  other.set_kind(v1::Change::APPEND);
  EXPECT_EQ(made<core::ChangeRequest>(FrameType::kChange, other, 1).kind, core::ChangeRequest::Kind::kAppend);
  other.set_kind(v1::Change::RESUME);
  EXPECT_EQ(made<core::ChangeRequest>(FrameType::kChange, other, 1).kind, core::ChangeRequest::Kind::kResume);
}

TEST(TranslateRequestLife, BoundsOfAChange) {
  for (const int kind : {0, 4, -1}) {
    v1::Change message = good_change();
    message.set_kind(static_cast<v1::Change::Kind>(kind));
    expect_invalid(FrameType::kChange, message, "kind " + std::to_string(kind));
  }
  v1::Change message = good_change();
  while (static_cast<std::size_t>(message.chunks_size()) < limits::kPageChunks)
    message.add_chunks()->set_handle(1);
  EXPECT_TRUE(read(FrameType::kChange, message, 1));
  message.add_chunks()->set_handle(1);
  expect_quota(FrameType::kChange, message, "chunks of one page", limits::kPageChunks + 1,
               limits::kPageChunks, 1);
  message = good_change();
  message.mutable_chunks(1)->set_opaque(std::string(limits::kOpaqueBytes + 1, 'o'));
  expect_quota(FrameType::kChange, message, "opaque bytes of a chunk", limits::kOpaqueBytes + 1,
               limits::kOpaqueBytes, 1);
  EXPECT_EQ(read(FrameType::kChange, message, 1).error().chunk, 2u);
  message = good_change();
  message.mutable_chunks(1)->set_handle(2);
  EXPECT_EQ(read(FrameType::kChange, message, 1).error().status, HB_INVALID);
  EXPECT_EQ(read(FrameType::kChange, good_change(), 2).error().status, HB_INVALID)
      << "descriptor 2 is nobody's";
}

TEST(TranslateRequestLife, RefreshAndSleep) {
  v1::Refresh refresh;
  refresh.set_lease_id(7);
  refresh.set_have_version(8);
  const auto refreshed = made<core::RefreshRequest>(FrameType::kRefresh, refresh);
  EXPECT_EQ(refreshed.lease.value, 7u);
  EXPECT_EQ(refreshed.have_version, 8u);
  v1::Suspend suspend;
  suspend.set_export_id(5);
  suspend.set_wait_ns(6);
  const auto suspended = made<core::SuspendRequest>(FrameType::kSuspend, suspend);
  EXPECT_EQ(suspended.id.value, 5u);
  EXPECT_EQ(suspended.wait_ns, 6u);
  v1::Unmapped unmapped;
  unmapped.set_lease_id(7);
  unmapped.set_layout_version(9);
  const auto said = made<core::UnmappedRequest>(FrameType::kUnmapped, unmapped);
  EXPECT_EQ(said.lease.value, 7u);
  EXPECT_EQ(said.layout_version, 9u);
}

TEST(TranslateRequestLife, Revoke) {
  v1::Revoke message;
  message.mutable_target()->set_export_id(5);
  message.set_grace_ns(6);
  const auto revoke = made<core::RevokeRequest>(FrameType::kRevoke, message);
  EXPECT_EQ(std::get<core::ExportId>(revoke.target).value, 5u);
  EXPECT_EQ(revoke.grace_ns, 6u);
  message.mutable_target()->set_key("short");
  expect_invalid(FrameType::kRevoke, message, "64 bytes, this one has 5");
  message.mutable_target()->mutable_name()->set_name(std::string(limits::kNameBytes + 1, 'n'));
  expect_quota(FrameType::kRevoke, message, "name bytes", limits::kNameBytes + 1, limits::kNameBytes);
}

TEST(TranslateRequestLife, Claim) {
  v1::Claim message;
  message.mutable_target()->mutable_name()->set_name("w");
  message.set_lifetime(1);
  message.set_linger_ns(6);
  const auto claim = made<core::ClaimRequest>(FrameType::kClaim, message);
  EXPECT_EQ(std::get<core::NameRef>(claim.target).name, "w");
  EXPECT_EQ(claim.lifetime, core::Lifetime::kLinger);
  EXPECT_EQ(claim.linger_ns, 6u);
  message.set_lifetime(3);
  expect_invalid(FrameType::kClaim, message, "lifetime is 3");
  message.set_lifetime(2);
  message.mutable_target()->set_key(std::string(64, 'k'));
  EXPECT_EQ(std::get<KeyBytes>(made<core::ClaimRequest>(FrameType::kClaim, message).target)[0], 'k');
  message.mutable_target()->set_key(std::string(65, 'k'));
  expect_invalid(FrameType::kClaim, message, "64 bytes, this one has 65");
  message.mutable_target()->mutable_name()->set_name(std::string(limits::kNameBytes + 1, 'n'));
  expect_quota(FrameType::kClaim, message, "name bytes", limits::kNameBytes + 1, limits::kNameBytes);
  message.mutable_target()->set_export_id(5);
  expect_invalid(FrameType::kClaim, message, "a claim names its export by key or by name");
  message.clear_target();
  expect_invalid(FrameType::kClaim, message, "a claim needs the key or the name");
}

TEST(TranslateRequestLife, Tickets) {
  v1::MakeTicket message;
  message.set_access(3);
  expect_invalid(FrameType::kMakeTicket, message, "of an export or of a lease");
  message.set_export_id(5);
  message.set_offset(1);
  message.set_length(2);
  message.set_ttl_ns(3);
  auto ticket = made<core::MakeTicketRequest>(FrameType::kMakeTicket, message);
  EXPECT_EQ(ticket.id.value, 5u);
  EXPECT_FALSE(ticket.lease);
  EXPECT_EQ(ticket.offset, 1u);
  EXPECT_EQ(ticket.length, 2u);
  EXPECT_EQ(ticket.access, core::Access::kReadWrite);
  EXPECT_EQ(ticket.ttl_ns, 3u);
  message.set_lease_id(7);
  message.set_access(1);
  ticket = made<core::MakeTicketRequest>(FrameType::kMakeTicket, message);
  EXPECT_FALSE(ticket.id);
  EXPECT_EQ(ticket.lease.value, 7u);
  EXPECT_EQ(ticket.access, core::Access::kRead);
  for (const std::uint32_t access : {0u, 2u, 4u}) {
    message.set_access(access);
    expect_invalid(FrameType::kMakeTicket, message, "the access of a ticket is " + std::to_string(access));
  }
  v1::DropTicket drop;
  drop.set_ticket(std::string(64, 't'));
  EXPECT_EQ(made<core::DropTicketRequest>(FrameType::kDropTicket, drop).ticket[63], 't');
  for (const std::size_t size : {0u, 63u, 65u}) {
    drop.set_ticket(std::string(size, 't'));
    expect_invalid(FrameType::kDropTicket, drop,
                   "a ticket is 64 bytes, this one has " + std::to_string(size));
  }
}

TEST(TranslateRequestLife, EventsAndSteps) {
  made<core::SubscribeRequest>(FrameType::kSubscribe, v1::Subscribe());
  v1::TakeEvents take;
  take.set_max_events(9);
  EXPECT_EQ(made<core::TakeEventsRequest>(FrameType::kTakeEvents, take).max_events, 9u);
  v1::Publish publish;
  publish.set_export_id(5);
  publish.set_step(6);
  const auto published = made<core::PublishRequest>(FrameType::kPublish, publish);
  EXPECT_EQ(published.id.value, 5u);
  EXPECT_EQ(published.step, 6u);
  v1::WaitStep wait;
  wait.set_lease_id(7);
  wait.set_step(6);
  wait.set_wait_ns(8);
  const auto waited = made<core::WaitStepRequest>(FrameType::kWaitStep, wait);
  EXPECT_EQ(waited.lease.value, 7u);
  EXPECT_EQ(waited.step, 6u);
  EXPECT_EQ(waited.wait_ns, 8u);
  v1::AckStep ack;
  ack.set_lease_id(7);
  ack.set_step(6);
  const auto acked = made<core::AckStepRequest>(FrameType::kAckStep, ack);
  EXPECT_EQ(acked.lease.value, 7u);
  EXPECT_EQ(acked.step, 6u);
  v1::WaitAcks acks;
  acks.set_export_id(5);
  acks.set_step(6);
  acks.set_wait_ns(8);
  const auto all = made<core::WaitAcksRequest>(FrameType::kWaitAcks, acks);
  EXPECT_EQ(all.id.value, 5u);
  EXPECT_EQ(all.step, 6u);
  EXPECT_EQ(all.wait_ns, 8u);
}

TEST(TranslateRequestLife, Join) {
  v1::Join message;
  message.set_name(std::string(limits::kNameBytes, 'n'));
  message.set_rank(1);
  message.set_world(8);
  message.set_attempt(2);
  message.set_wait_ns(3);
  message.set_export_id(5);
  message.set_agreement(std::string(limits::kAgreementBytes, '\xff'));
  message.set_any_layout(true);
  message.set_access(3);
  message.set_max_handles(30);
  const auto join = made<core::JoinRequest>(FrameType::kJoin, message);
  EXPECT_EQ(join.name, message.name());
  EXPECT_EQ(join.rank, 1u);
  EXPECT_EQ(join.world, 8u);
  EXPECT_EQ(join.attempt, 2u);
  EXPECT_EQ(join.wait_ns, 3u);
  EXPECT_EQ(join.offer.value, 5u);
  EXPECT_EQ(join.agreement, message.agreement());
  EXPECT_TRUE(join.any_layout);
  EXPECT_EQ(join.access, core::Access::kReadWrite);
  EXPECT_EQ(join.max_handles, 30u);
  message.set_agreement(std::string(limits::kAgreementBytes + 1, 'a'));
  expect_quota(FrameType::kJoin, message, "agreement bytes", limits::kAgreementBytes + 1,
               limits::kAgreementBytes);
  message.clear_agreement();
  message.set_access(2);
  expect_invalid(FrameType::kJoin, message, "is 2, expected 1 (read) or 3");
  message.set_access(1);
  message.set_name(std::string(limits::kNameBytes + 1, 'n'));
  expect_quota(FrameType::kJoin, message, "name bytes", limits::kNameBytes + 1, limits::kNameBytes);
}

TEST(TranslateRequestLife, Ready) {
  v1::Ready message;
  message.set_group_id(4);
  message.set_status(HB_DEVICE);
  message.set_message("no GPU");
  message.set_wait_ns(3);
  message.set_round(2);
  const auto ready = made<core::ReadyRequest>(FrameType::kReady, message);
  EXPECT_EQ(ready.group.value, 4u);
  EXPECT_EQ(ready.status, HB_DEVICE);
  EXPECT_EQ(ready.message, "no GPU");
  EXPECT_EQ(ready.wait_ns, 3u);
  EXPECT_EQ(ready.round, 2u);
  message.set_status(-1000);
  EXPECT_EQ(made<core::ReadyRequest>(FrameType::kReady, message).status, -1000) << "of a newer client";
  message.set_status(1);
  expect_invalid(FrameType::kReady, message, "the status of a rank is 1");
}

// The reason of a rank is shortened to whole characters.
TEST(TranslateRequestLife, ALongReasonIsCutBetweenCharacters) {
  v1::Ready message;
  message.set_status(HB_SYSTEM);
  const std::size_t most = limits::kReadyMessageBytes;
  const auto cut = [&](const std::string& text) {
    message.set_message(text);
    return made<core::ReadyRequest>(FrameType::kReady, message).message;
  };
  EXPECT_EQ(cut(std::string(most, 'm')), std::string(most, 'm'));
  EXPECT_EQ(cut(std::string(most + 1, 'm')), std::string(most, 'm'));
  const std::string smile = "\xf0\x9f\x98\x80";  // 4 bytes
  for (std::size_t before = most - 4; before <= most; ++before) {
    const std::string whole = std::string(before, 'm') + (before == most - 4 ? smile : "");
    EXPECT_EQ(cut(std::string(before, 'm') + smile + smile), whole) << before;
  }
}

TEST(TranslateRequestLife, GroupAppendAndLeave) {
  v1::GroupAppend append;
  append.set_group_id(4);
  append.set_round(2);
  append.set_wait_ns(3);
  const auto appended = made<core::GroupAppendRequest>(FrameType::kGroupAppend, append);
  EXPECT_EQ(appended.group.value, 4u);
  EXPECT_EQ(appended.round, 2u);
  EXPECT_EQ(appended.wait_ns, 3u);
  v1::Leave leave;
  leave.set_group_id(4);
  EXPECT_EQ(made<core::LeaveRequest>(FrameType::kLeave, leave).group.value, 4u);
}

TEST(TranslateRequestLife, BodiesThatDoNotParse) {
  ipc::RequestReader reader;
  const std::string body = "\xff\xff";
  for (auto type = static_cast<std::uint16_t>(FrameType::kChange);
       type <= static_cast<std::uint16_t>(FrameType::kLeave); ++type) {
    const auto refused =
        reader.read(static_cast<FrameType>(type), std::as_bytes(std::span(body.data(), body.size())), 0);
    ASSERT_FALSE(refused) << type;
    EXPECT_EQ(refused.error().status, HB_PROTO) << type;
  }
}

}  // namespace
}  // namespace hb::test
