// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/translate_reply.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "hipbroker/v1/broker.pb.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

namespace v1 = hipbroker::v1;

template <class Message>
Message parsed(std::span<const std::byte> bytes, FrameType type, std::uint16_t fds,
               std::uint64_t request_id) {
  const auto frame = decode_frame(bytes);
  EXPECT_TRUE(frame);
  EXPECT_EQ(frame->header.type, type);
  EXPECT_EQ(frame->header.flags, kFlagReply);
  EXPECT_EQ(frame->header.fd_count, fds);
  EXPECT_EQ(frame->header.request_id, request_id);
  Message message;
  EXPECT_TRUE(message.ParseFromArray(frame->body.data(), static_cast<int>(frame->body.size())));
  return message;
}

core::Reply reply_of(FrameType type, core::ReplyBody body) {
  return {core::SessionId{1}, 42, static_cast<std::uint16_t>(type), false, std::move(body)};
}

TEST(TranslateReply, Acquired) {
  const std::string name = "w";
  const std::string metadata = "meta";
  const core::Device device{"GPU-1", "0000:03:00.0", 3};
  const std::vector<core::Chunk> chunks{{core::AllocationId{11}, 0, 4096, 0},
                                        {core::AllocationId{12}, 8192, 4096, 4096},
                                        {core::AllocationId{11}, 4096, 4096, 8192}};
  core::Acquired acquired;
  acquired.lease = core::LeaseId{7};
  acquired.validity_slot = 3;
  acquired.validity_value = 9;
  acquired.access = core::Access::kRead;
  acquired.level = core::Level::kPerReader;
  acquired.offset = 10;
  acquired.length = 20;
  acquired.first_chunk = 1;
  acquired.chunk_count = 3;
  acquired.chunk_base = 4;
  const std::vector<core::Device> peers{{"GPU-2", "0000:83:00.0", 0}, {"", "0000:c3:00.0", 1}};
  acquired.exported = {core::ExportId{5},         &name, &metadata, &device, 1001, 2, 6, 12288,
                       core::HandleKind::kDmaBuf, &peers};
  acquired.object_bytes = 40'000;
  acquired.secret.fill(0xab);
  acquired.page.chunks = chunks;
  acquired.page.handles = {core::HandleId{1}, core::HandleId{2}};
  acquired.page.sizes = {8192, 16'384};
  acquired.page.handle_of = {0, 1, 0};
  ipc::ReplyWriter writer;
  const auto bytes = writer.reply(reply_of(FrameType::kAcquire, acquired), {});
  const auto message = parsed<v1::AcquireReply>(bytes, FrameType::kAcquire, 2, 42);
  EXPECT_EQ(message.lease_id(), 7u);
  EXPECT_EQ(message.validity_slot(), 3u);
  EXPECT_EQ(message.validity_value(), 9u);
  EXPECT_EQ(message.access(), 1u);
  EXPECT_EQ(message.level(), 2u);
  EXPECT_EQ(message.offset(), 10u);
  EXPECT_EQ(message.length(), 20u);
  EXPECT_EQ(message.first_chunk(), 1u);
  EXPECT_EQ(message.chunk_count(), 3u);
  EXPECT_EQ(message.chunk_base(), 4u);
  EXPECT_EQ(message.export_id(), 5u);
  EXPECT_EQ(message.generation(), 2u);
  EXPECT_EQ(message.layout_version(), 6u);
  EXPECT_EQ(message.export_size(), 12288u);
  EXPECT_EQ(message.handle_kind(), 2u);
  EXPECT_EQ(message.device().uuid(), "GPU-1");
  EXPECT_EQ(message.device().partition(), 3u);
  ASSERT_EQ(message.peers_size(), 2);
  EXPECT_EQ(message.peers(0).uuid(), "GPU-2");
  EXPECT_EQ(message.peers(1).pci(), "0000:c3:00.0");
  EXPECT_EQ(message.peers(1).partition(), 1u);
  EXPECT_EQ(message.object_bytes(), 40'000u);
  EXPECT_EQ(message.metadata(), "meta");
  EXPECT_EQ(message.secret(), std::string(16, '\xab'));
  EXPECT_EQ(message.name(), "w");
  EXPECT_EQ(message.owner_uid(), 1001u);
  ASSERT_EQ(message.chunks_size(), 3);
  EXPECT_EQ(message.chunks(0).handle(), 1u);
  EXPECT_EQ(message.chunks(1).handle(), 2u);
  EXPECT_EQ(message.chunks(2).handle(), 1u);
  EXPECT_EQ(message.chunks(1).offset(), 8192u);
  EXPECT_EQ(message.chunks(0).object_size(), 8192u);
  EXPECT_EQ(message.chunks(1).object_size(), 16'384u);
  EXPECT_EQ(message.chunks(2).object_size(), 8192u);
  EXPECT_EQ(message.chunks(0).identity(), message.chunks(2).identity());
  EXPECT_NE(message.chunks(0).identity(), message.chunks(1).identity());
  // A later answer carries nothing of this one.
  const auto next = writer.reply(reply_of(FrameType::kAcquire, core::Acquired{}), {});
  EXPECT_EQ(parsed<v1::AcquireReply>(next, FrameType::kAcquire, 0, 42).chunks_size(), 0);
}

TEST(TranslateReply, AnExportShowsItsSecretsOnlyWhenComplete) {
  core::Exported exported;
  exported.id = core::ExportId{5};
  exported.received_chunks = 1024;
  exported.key.fill(1);
  exported.secret.fill(2);
  ipc::ReplyWriter writer;
  auto message = parsed<v1::ExportReply>(writer.reply(reply_of(FrameType::kExport, exported), {}),
                                         FrameType::kExport, 0, 42);
  EXPECT_EQ(message.received_chunks(), 1024u);
  EXPECT_TRUE(message.key().empty());
  EXPECT_TRUE(message.secret().empty());
  exported.complete = true;
  message = parsed<v1::ExportReply>(writer.reply(reply_of(FrameType::kExport, exported), {}),
                                    FrameType::kExport, 0, 42);
  EXPECT_EQ(message.key().size(), 64u);
  EXPECT_EQ(message.secret().size(), 16u);
}

TEST(TranslateReply, Errors) {
  ipc::EdgeError error = ipc::over_limit("chunks", 5, 4);
  error.who = "uid 7";
  error.sys_errno = 24;
  error.operation = "memfd_create";
  error.chunk = 3;
  ipc::ReplyWriter writer;
  const auto message = parsed<v1::Error>(writer.error(9, error), FrameType::kError, 0, 9);
  EXPECT_EQ(message.status(), HB_QUOTA);
  EXPECT_EQ(message.what(), "chunks");
  EXPECT_EQ(message.used(), 5u);
  EXPECT_EQ(message.limit(), 4u);
  EXPECT_EQ(message.who(), "uid 7");
  EXPECT_EQ(message.sys_errno(), 24);
  EXPECT_EQ(message.operation(), "memfd_create");
  EXPECT_EQ(message.chunk(), 3u);
}

TEST(TranslateReply, StatusAddsWhatTheEdgeKnows) {
  core::Counters counters;
  counters.leases = 3;
  ipc::EdgeCounters edge;
  edge.fds_used = 10;
  edge.fds_limit = 20;
  edge.quarantined = 2;
  ipc::ReplyWriter writer;
  const auto message = parsed<v1::StatusReply>(writer.reply(reply_of(FrameType::kStatus, counters), edge),
                                               FrameType::kStatus, 0, 42);
  EXPECT_EQ(message.leases(), 3u);
  EXPECT_EQ(message.fds_used(), 10u);
  EXPECT_EQ(message.fds_limit(), 20u);
  EXPECT_EQ(message.quarantined(), 2u);
}

// Everything at its longest: a page of a list, and the largest acquire, still are one frame.
TEST(TranslateReply, TheLongestAnswersFitAFrame) {
  const std::string name(limits::kNameBytes, 'n');
  const std::string metadata(limits::kMetadataBytes, 'm');
  const core::Device device{std::string(limits::kDeviceUuidBytes, 'u'),
                            std::string(limits::kDevicePciBytes, 'p'), UINT32_MAX};
  const std::vector<core::Device> peers(limits::kExportPeers, device);
  const core::ProcessInfo process{UINT32_MAX, std::string(15, 'c'), std::string(128, 'g'), ""};
  core::ExportInfo info;
  info.view = {
      core::ExportId{UINT64_MAX}, &name, &metadata, &device, UINT32_MAX, UINT32_MAX, UINT64_MAX, UINT64_MAX,
      core::HandleKind::kDriver};
  info.owner = {core::SessionId{UINT64_MAX}, UINT32_MAX, UINT32_MAX, &process, UINT64_MAX};
  info.chunks = info.allocations = info.leases = info.age_ns = UINT64_MAX;
  info.view.max_size = info.linger_ns = info.linger_left_ns = UINT64_MAX;
  info.tickets = info.descriptors = info.step = UINT64_MAX;
  core::Listed listed;
  listed.exports.assign(limits::kListEntries, info);
  listed.next_cursor = UINT64_MAX;
  ipc::ReplyWriter writer;
  const auto list =
      parsed<v1::ListReply>(writer.reply(reply_of(FrameType::kList, listed), {}), FrameType::kList, 0, 42);
  EXPECT_EQ(static_cast<std::size_t>(list.exports_size()), limits::kListEntries);
  EXPECT_LE(list.exports(0).ByteSizeLong() + 3, limits::kListEntryBytes);
  info.view.peers = &peers;

  core::Holder holder;
  holder.lease = core::LeaseId{UINT64_MAX};
  holder.exported = core::ExportId{UINT64_MAX};
  holder.session = info.owner;
  holder.access = core::Access::kReadWrite;
  holder.level = core::Level::kSealed;
  holder.offset = holder.length = holder.age_ns = holder.unread_ns = UINT64_MAX;
  holder.listens = holder.unmap_asked = true;
  holder.ticket = core::TicketId{UINT64_MAX};
  holder.ticket_left_ns = holder.acked_step = UINT64_MAX;
  holder.state = UINT8_MAX;
  core::WhoListed who{std::vector<core::Holder>(limits::kListEntries, holder), UINT64_MAX};
  const auto holders =
      parsed<v1::WhoReply>(writer.reply(reply_of(FrameType::kWho, who), {}), FrameType::kWho, 0, 42);
  EXPECT_EQ(static_cast<std::size_t>(holders.holders_size()), limits::kListEntries);

  const std::vector<core::Chunk> chunks(limits::kPageChunks,
                                        {core::AllocationId{UINT64_MAX}, UINT64_MAX, UINT64_MAX, UINT64_MAX});
  core::Acquired acquired;
  acquired.exported = info.view;
  acquired.offset = acquired.length = acquired.first_chunk = acquired.chunk_count = UINT64_MAX;
  acquired.chunk_base = acquired.object_bytes = UINT64_MAX;
  acquired.follows = true;
  acquired.page.chunks = chunks;
  acquired.page.handles.assign(limits::kFrameFds, core::HandleId{UINT64_MAX});
  acquired.page.sizes.assign(limits::kFrameFds, UINT64_MAX);
  acquired.page.handle_of.assign(limits::kPageChunks, limits::kFrameFds - 1);
  const auto page = parsed<v1::AcquireReply>(writer.reply(reply_of(FrameType::kAcquire, acquired), {}),
                                             FrameType::kAcquire, limits::kFrameFds, 42);
  EXPECT_EQ(static_cast<std::size_t>(page.chunks_size()), limits::kPageChunks);
  EXPECT_EQ(static_cast<std::size_t>(page.peers_size()), limits::kExportPeers);

  core::Shown shown;
  shown.info = info;
  shown.acl.assign(limits::kAclEntries, {core::AclEntry::Kind::kGid, UINT32_MAX, core::Access::kReadWrite});
  shown.chunks.assign(limits::kListEntries,
                      {UINT64_MAX, UINT64_MAX, core::AllocationId{UINT64_MAX}, UINT64_MAX, UINT64_MAX});
  const auto show =
      parsed<v1::ShowReply>(writer.reply(reply_of(FrameType::kShow, shown), {}), FrameType::kShow, 0, 42);
  EXPECT_EQ(static_cast<std::size_t>(show.info().peers_size()), limits::kExportPeers);
}

TEST(TranslateReply, WhatDoesNotFitIsAnErrorAndNotAHalf) {
  const std::string metadata(limits::kFrameBytes, 'm');
  core::Acquired acquired;
  acquired.exported.metadata = &metadata;
  ipc::ReplyWriter writer;
  const auto message =
      parsed<v1::Error>(writer.reply(reply_of(FrameType::kAcquire, acquired), {}), FrameType::kError, 0, 42);
  EXPECT_EQ(message.status(), HB_INTERNAL);
}

}  // namespace
}  // namespace hb::test
