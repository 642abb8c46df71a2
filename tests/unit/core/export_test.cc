// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <gmock/gmock.h>

#include "core/broker.h"
#include "unit/core/broker_driver.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using namespace core;
using testing::HasSubstr;

class ExportTest : public testing::Test, public BrokerDriver {
 protected:
  // The request is refused, nothing of it stays.
  Error refused(ExportRequest request) {
    const SessionId session = connect(1000);
    const Counters before = counters();
    const std::uint64_t fds = broker.fds_used();
    const std::vector<HandleFacts> handles = request.handles;
    const ReplyBody body = ask(session, std::move(request));
    EXPECT_EQ(counters().exports, before.exports);
    EXPECT_EQ(counters().allocations, before.allocations);
    EXPECT_EQ(counters().stagings, before.stagings);
    EXPECT_EQ(broker.fds_used(), fds);
    for (const HandleFacts& handle : handles) EXPECT_TRUE(is_closed(handle.id));
    const Error error = error_of(body);
    disconnect(session);
    return error;
  }
};

TEST_F(ExportTest, AnExportIsLiveWithAKeyOverAllOfIt) {
  const SessionId owner = connect(1000);
  const Exported out = exported(owner, chunked("kv", 3, 2 * kMiB));
  EXPECT_TRUE(out.complete);
  EXPECT_EQ(out.generation, 1u);
  EXPECT_EQ(out.layout_version, 1u);
  EXPECT_EQ(out.access, Access::kReadWrite);
  const KeyFields key = decode_key(out.key);
  EXPECT_EQ(key.offset, 0u);
  EXPECT_EQ(key.length, 6 * kMiB);
  EXPECT_EQ(key.export_id, out.id.value);
  EXPECT_TRUE(key_is_authentic(out.key, out.secret));
  EXPECT_EQ(counters().exports, 1u);
  EXPECT_EQ(counters().bytes, 6 * kMiB);
}

TEST_F(ExportTest, B03_SizesUpTo120GiBAreReportedExactly) {
  const SessionId owner = connect(1000);
  for (const std::uint64_t size : std::initializer_list<std::uint64_t>{(1ull << 31) - 4096, 1ull << 31,
                                                                       (1ull << 32) + 2 * kMiB, 120 * kGiB}) {
    const Exported out = exported(owner, simple("big", size));
    const Acquired got = acquired(owner, by_key(out.key));
    EXPECT_EQ(got.exported.size, size);
    EXPECT_EQ(got.length, size);
    EXPECT_EQ(acquired(owner, ranged(by_key(out.key), size - 4096, 4096)).offset, size - 4096);
    EXPECT_EQ(status_of(ask(owner, ranged(by_key(out.key), size - 4096, 8192))), HB_RANGE);
    const auto listed = std::get<Listed>(ask(owner, ListRequest{}));
    ASSERT_EQ(listed.exports.size(), 1u);
    EXPECT_EQ(listed.exports[0].view.size, size);
    EXPECT_EQ(status_of(ask(owner, WithdrawRequest{out.id, false})), HB_OK);
  }
}

TEST_F(ExportTest, B03_61440ChunksOf2MiBAddUpTo120GiB) {
  BrokerConfig config = default_config();
  config.fd_limit = 100'000;
  BrokerDriver wide(config);
  const SessionId owner = wide.connect(1000);
  const Exported out = wide.exported_paged(owner, "slab", 61'440, 2 * kMiB, 253);
  const Acquired got = wide.acquired(owner, by_key(out.key));
  EXPECT_EQ(got.exported.size, 128'849'018'880u);
  EXPECT_EQ(got.chunk_count, 61'440u);
  EXPECT_EQ(wide.acquired(owner, ranged(by_key(out.key), 128'849'018'880u - 4096, 4096)).first_chunk,
            61'439u);
}

TEST_F(ExportTest, ANameIsTakenOnlyForItsOwnUid) {
  const SessionId first = connect(1000);
  const SessionId second = connect(1000);
  const SessionId other = connect(1001);
  exported(first, simple("a"));
  const ReplyBody body = ask(second, simple("a"));
  EXPECT_EQ(status_of(body), HB_EXISTS);
  EXPECT_THAT(error_of(body).message, HasSubstr("\"a\""));
  exported(other, simple("a"));
  exported(connect(1000, {}, 7), simple("a"));
}

TEST_F(ExportTest, B16_ANameUsedAgainIsAnotherExportAGenerationOn) {
  const SessionId owner = connect(1000);
  const Exported old = exported(owner, simple("x", 4 * kMiB));
  ask(owner, WithdrawRequest{NameRef{"x", {}}, false});
  const Exported young = exported(owner, simple("x", 8 * kMiB));
  EXPECT_NE(young.id, old.id);
  EXPECT_EQ(young.generation, 2u);
  EXPECT_EQ(status_of(ask(owner, by_key(old.key))), HB_STALE);
  EXPECT_EQ(acquired(owner, by_name("x")).exported.size, 8 * kMiB);
  EXPECT_NE(young.secret, old.secret);
}

TEST_F(ExportTest, AnonymousExportsAreNeverTheSame) {
  const SessionId owner = connect(1000);
  const Exported a = exported(owner, simple(""));
  ask(owner, WithdrawRequest{a.id, false});
  EXPECT_NE(exported(owner, simple("")).id, a.id);
}

TEST_F(ExportTest, EmptyExportsAreRefused) {
  ExportRequest nothing;
  EXPECT_EQ(refused(nothing).status, HB_INVALID);
  ExportRequest request = simple("a");
  request.total_size = 0;
  EXPECT_THAT(refused(std::move(request)).message, HasSubstr("empty exports are refused"));
  request = chunked("a", 2, 4096);
  request.chunks[1].size = 0;
  const Error error = refused(std::move(request));
  EXPECT_EQ(error.status, HB_INVALID);
  EXPECT_EQ(error.chunk, 2u);
}

TEST_F(ExportTest, AChunkMustLieInsideItsObject) {
  ExportRequest smaller = chunked("a", 2, 8192);
  smaller.handles[1].size = 4096;
  Error error = refused(std::move(smaller));
  EXPECT_EQ(error.status, HB_RANGE);
  EXPECT_EQ(error.chunk, 2u);
  EXPECT_THAT(error.message, HasSubstr("4096"));
  ExportRequest overflowing = simple("a", 4096);
  overflowing.chunks[0].offset = UINT64_MAX - 100;
  EXPECT_EQ(refused(std::move(overflowing)).status, HB_RANGE);
  ExportRequest beyond = simple("a", 4096);
  beyond.chunks[0].offset = 1;
  EXPECT_EQ(refused(std::move(beyond)).status, HB_RANGE);
}

TEST_F(ExportTest, AnnouncedAndSentBytesMustAgree) {
  ExportRequest less = chunked("a", 2, 4096);
  less.total_size = 3 * 4096;
  EXPECT_EQ(refused(std::move(less)).chunk, 2u);
  ExportRequest more = chunked("a", 2, 4096);
  more.total_size = 4096;
  EXPECT_EQ(refused(std::move(more)).status, HB_INVALID);
  ExportRequest chunks = chunked("a", 2, 4096);
  chunks.total_chunks = 1;
  chunks.distinct_handles = 1;
  EXPECT_EQ(refused(std::move(chunks)).status, HB_PROTO);
}

TEST_F(ExportTest, ChunksOfAnotherKindAreMixed) {
  ExportRequest request = chunked("a", 3, 4096);
  request.handles[2].kind = HandleKind::kDmaBuf;
  const Error error = refused(std::move(request));
  EXPECT_EQ(error.status, HB_MIXED);
  EXPECT_EQ(error.chunk, 3u);
  ExportRequest all = chunked("a", 2, 4096);
  all.kind = HandleKind::kDmaBuf;
  EXPECT_EQ(refused(std::move(all)).status, HB_MIXED);
  ExportRequest unknown = simple("a");
  unknown.kind = static_cast<HandleKind>(99);
  EXPECT_EQ(refused(std::move(unknown)).status, HB_UNSUPPORTED);
}

TEST_F(ExportTest, HandlesAndChunksMustBelongTogether) {
  ExportRequest out_of_range = simple("a");
  out_of_range.chunks[0].handle = 1;
  EXPECT_EQ(refused(std::move(out_of_range)).status, HB_PROTO);
  ExportRequest unused = simple("a");
  unused.handles.push_back(memfd(4096));
  EXPECT_EQ(refused(std::move(unused)).status, HB_PROTO);
  ExportRequest none = simple("a");
  none.chunks[0].handle = NewChunk::kNoHandle;
  none.handles.clear();
  EXPECT_EQ(refused(std::move(none)).status, HB_PROTO);
  ExportRequest opaque = simple("a");
  opaque.chunks[0].opaque = "fabric";
  EXPECT_EQ(refused(std::move(opaque)).status, HB_UNSUPPORTED);
}

TEST_F(ExportTest, EveryBoundNamesWhatUsedAndLimit) {
  ExportRequest metadata = simple("a");
  metadata.metadata.assign(limits::kMetadataBytes + 1, 'x');
  const Error error = refused(std::move(metadata));
  EXPECT_EQ(error.status, HB_QUOTA);
  EXPECT_EQ(error.what, "metadata bytes");
  EXPECT_EQ(error.used, 4097u);
  EXPECT_EQ(error.limit, 4096u);
  EXPECT_EQ(error.who, "uid 1000");
  ExportRequest acl = simple("a");
  acl.acl.assign(limits::kAclEntries + 1, uid_reads(5));
  EXPECT_EQ(refused(std::move(acl)).limit, limits::kAclEntries);
  ExportRequest chunks = simple("a");
  chunks.total_chunks = limits::kExportChunks + 1;
  EXPECT_EQ(refused(std::move(chunks)).limit, limits::kExportChunks);
  ExportRequest bytes = simple("a");
  bytes.total_size = limits::kExportBytes + 1;
  EXPECT_EQ(refused(std::move(bytes)).limit, limits::kExportBytes);
  ExportRequest page = chunked("a", limits::kPageChunks + 1, 4096);
  EXPECT_EQ(refused(std::move(page)).status, HB_PROTO);
}

TEST_F(ExportTest, TermsThatMeanNothingAreRefused) {
  EXPECT_EQ(refused(simple("a//b")).status, HB_INVALID);
  EXPECT_EQ(refused(simple("..")).status, HB_INVALID);
  ExportRequest acl = simple("a");
  acl.acl = {{AclEntry::Kind::kUid, 1, static_cast<Access>(2)}};
  EXPECT_EQ(refused(std::move(acl)).status, HB_INVALID);
  ExportRequest most = simple("a");
  most.max_access = static_cast<Access>(2);
  EXPECT_EQ(refused(std::move(most)).status, HB_INVALID);
  ExportRequest lifetime = simple("a");
  lifetime.lifetime = static_cast<Lifetime>(3);
  EXPECT_EQ(refused(std::move(lifetime)).status, HB_UNSUPPORTED);
  ExportRequest persist = simple("a");
  persist.lifetime = Lifetime::kPersist;
  EXPECT_EQ(refused(std::move(persist)).status, HB_DENIED);
  ExportRequest linger = simple("a");
  linger.lifetime = Lifetime::kLinger;
  EXPECT_EQ(refused(std::move(linger)).status, HB_INVALID);
  ExportRequest growth = simple("a");
  growth.max_size = growth.total_size - 1;
  EXPECT_EQ(refused(std::move(growth)).status, HB_INVALID);
  ExportRequest nameless = simple("");
  nameless.replace = true;
  EXPECT_EQ(refused(std::move(nameless)).status, HB_INVALID);
  ExportRequest device = simple("a");
  device.placement.device.uuid = "GPU 1";
  EXPECT_EQ(refused(std::move(device)).status, HB_INVALID);
  ExportRequest handles = simple("a");
  handles.distinct_handles = 18'000;
  EXPECT_EQ(refused(std::move(handles)).status, HB_INVALID);
}

TEST_F(ExportTest, PeersAreDevicesOfMemoryThatIsOnADevice) {
  const Device owner{"GPU-0", "0000:03:00.0", 0};
  const auto with = [&](Device device, std::vector<Device> peers) {
    ExportRequest request = simple("a");
    request.placement = {std::move(device), std::move(peers)};
    return refused(std::move(request));
  };
  EXPECT_EQ(with({}, {owner}).status, HB_INVALID);
  EXPECT_EQ(with(owner, {owner, {}}).status, HB_INVALID);
  EXPECT_THAT(with(owner, {owner, {"GPU 1", "", 0}}).message, testing::HasSubstr("peer 1"));
  EXPECT_EQ(with(owner, {{"", std::string(limits::kDevicePciBytes + 1, '0'), 0}}).status, HB_INVALID);
  const Error many = with(owner, std::vector<Device>(limits::kExportPeers + 1, owner));
  EXPECT_EQ(many.status, HB_QUOTA);
  EXPECT_EQ(many.what, "peers");
  EXPECT_EQ(many.limit, limits::kExportPeers);

  const SessionId session = connect(1000);
  ExportRequest request = simple("a");
  request.placement = {owner, std::vector<Device>(limits::kExportPeers, {"", "0000:83:00.0", 1})};
  const Exported out = exported(session, std::move(request));
  const auto shown = std::get<Shown>(ask(session, ShowRequest{out.id, 0}));
  EXPECT_EQ(shown.info.view.peers->size(), limits::kExportPeers);
  EXPECT_EQ(shown.info.view.peers->front().pci, "0000:83:00.0");
}

TEST_F(ExportTest, ASizeTheKernelDoesNotTellMustBeDeclared) {
  ExportRequest request;
  request.kind = HandleKind::kDriver;
  request.total_chunks = 1;
  request.total_size = 4096;
  request.chunks.resize(1);
  request.chunks[0].handle = 0;
  request.chunks[0].size = 4096;
  ExportRequest silent = request;
  silent.handles = {driver_handle()};
  EXPECT_EQ(refused(std::move(silent)).status, HB_INVALID);
  request.handles = {driver_handle()};
  request.chunks[0].object_size = 8192;
  const SessionId owner = connect(1000);
  const Exported out = exported(owner, std::move(request));
  EXPECT_TRUE(std::get<Shown>(ask(owner, ShowRequest{out.id, 0})).info.size_declared);
}

TEST_F(ExportTest, TheAdminSocketExportsNothing) {
  EXPECT_EQ(status_of(ask(connect_admin(), simple("a"))), HB_DENIED);
}

TEST_F(ExportTest, ADeadSessionsExportIsTakenOverAndClosed) {
  const SessionId session = connect(1000);
  disconnect(session);
  ExportRequest request = simple("a");
  const HandleId handle = request.handles[0].id;
  send(session, std::move(request));
  EXPECT_TRUE(is_closed(handle));
  EXPECT_EQ(effects.size(), 1u);
}

TEST_F(ExportTest, AnExportEndsWithItsSession) {
  const SessionId owner = connect(1000);
  const SessionId reader = connect(1000);
  const Exported out = exported(owner, chunked("kv", 3, 4096));
  const Acquired held = acquired(reader, by_key(out.key));
  disconnect(owner);
  EXPECT_EQ(counters().exports, 0u);
  EXPECT_EQ(counters().allocations, 0u);
  EXPECT_EQ(word(reader, held.validity_slot), 0u);
  EXPECT_EQ(status_of(ask(reader, by_key(out.key))), HB_GONE);
  EXPECT_EQ(open_handles(), 0u);
  // Who still maps it is known until it gives the lease back.
  EXPECT_EQ(counters().leases, 1u);
  EXPECT_EQ(counters().ended_held, 1u);
  EXPECT_EQ(status_of(ask(reader, FetchRequest{held.lease, 0, 1})), HB_GONE);
  EXPECT_EQ(status_of(ask(reader, ReleaseRequest{held.lease})), HB_OK);
  EXPECT_EQ(counters().leases, 0u);
  EXPECT_EQ(counters().ended_held, 0u);
}

}  // namespace
}  // namespace hb::test
