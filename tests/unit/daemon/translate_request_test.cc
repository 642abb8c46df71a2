// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/translate_request.h"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "hipbroker/v1/broker.pb.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

namespace v1 = hipbroker::v1;
using ipc::RequestReader;

std::string bytes_of(const google::protobuf::MessageLite& message) { return message.SerializeAsString(); }

tl::expected<core::Request, ipc::EdgeError> read(FrameType type, const std::string& body,
                                                 std::size_t fds = 0) {
  RequestReader reader;
  return reader.read(type, std::as_bytes(std::span(body.data(), body.size())), fds);
}

v1::Export good_export() {
  v1::Export message;
  message.set_name("weights");
  message.set_metadata("meta");
  message.set_handle_kind(1);
  message.mutable_device()->set_uuid("GPU-1");
  message.mutable_device()->set_pci("0000:03:00.0");
  message.mutable_device()->set_partition(2);
  message.add_peers()->set_pci("0000:83:00.0");
  v1::AclEntry* entry = message.add_acl();
  entry->set_kind(v1::AclEntry::GID);
  entry->set_id(44);
  entry->set_access(3);
  message.set_lifetime(1);
  message.set_linger_ns(99);
  message.set_total_chunks(10);
  message.set_total_size(4096);
  message.set_distinct_handles(1);
  message.set_max_access(1);
  v1::Chunk* chunk = message.add_chunks();
  chunk->set_handle(1);
  chunk->set_offset(8192);
  chunk->set_size(4096);
  chunk->set_identity(5);
  chunk->set_object_size(6);
  chunk->set_opaque("op");
  return message;
}

TEST(TranslateRequest, Export) {
  const auto request = read(FrameType::kExport, bytes_of(good_export()), 1);
  ASSERT_TRUE(request) << request.error().message;
  const auto& made = std::get<core::ExportRequest>(*request);
  EXPECT_EQ(made.name, "weights");
  EXPECT_EQ(made.metadata, "meta");
  EXPECT_EQ(made.kind, core::HandleKind::kMemfd);
  EXPECT_EQ(made.placement,
            (core::Placement{{"GPU-1", "0000:03:00.0", 2}, {core::Device{"", "0000:83:00.0", 0}}}));
  EXPECT_EQ(made.acl,
            (std::vector<core::AclEntry>{{core::AclEntry::Kind::kGid, 44, core::Access::kReadWrite}}));
  EXPECT_EQ(made.lifetime, core::Lifetime::kLinger);
  EXPECT_EQ(made.linger_ns, 99u);
  EXPECT_EQ(made.total_chunks, 10u);
  EXPECT_EQ(made.total_size, 4096u);
  EXPECT_EQ(made.distinct_handles, 1u);
  EXPECT_EQ(made.max_access, core::Access::kRead);
  ASSERT_EQ(made.chunks.size(), 1u);
  EXPECT_EQ(made.chunks[0].handle, 0u) << "the wire counts from 1";
  EXPECT_EQ(made.chunks[0].offset, 8192u);
  EXPECT_EQ(made.chunks[0].size, 4096u);
  EXPECT_EQ(made.chunks[0].identity, 5u);
  EXPECT_EQ(made.chunks[0].object_size, 6u);
  EXPECT_EQ(made.chunks[0].opaque, "op");
  EXPECT_TRUE(made.handles.empty());
}

// One field at its limit passes, one more is refused with both numbers.
TEST(TranslateRequest, BoundsOfAnExport) {
  struct Case {
    const char* what;
    std::uint64_t limit;
    void (*set)(v1::Export&, std::size_t);
  };
  const Case cases[] = {
      {"name bytes", limits::kNameBytes,
       [](v1::Export& m, std::size_t n) { m.set_name(std::string(n, 'n')); }},
      {"metadata bytes", limits::kMetadataBytes,
       [](v1::Export& m, std::size_t n) { m.set_metadata(std::string(n, 'm')); }},
      {"device UUID bytes", limits::kDeviceUuidBytes,
       [](v1::Export& m, std::size_t n) { m.mutable_device()->set_uuid(std::string(n, 'u')); }},
      {"device PCI address bytes", limits::kDevicePciBytes,
       [](v1::Export& m, std::size_t n) { m.mutable_device()->set_pci(std::string(n, 'p')); }},
      {"device UUID bytes", limits::kDeviceUuidBytes,
       [](v1::Export& m, std::size_t n) { m.mutable_peers(0)->set_uuid(std::string(n, 'u')); }},
      {"peers", limits::kExportPeers,
       [](v1::Export& m, std::size_t n) {
         while (static_cast<std::size_t>(m.peers_size()) < n) m.add_peers()->set_pci("p");
       }},
      {"opaque bytes of a chunk", limits::kOpaqueBytes,
       [](v1::Export& m, std::size_t n) { m.mutable_chunks(0)->set_opaque(std::string(n, 'o')); }},
      {"access list entries", limits::kAclEntries,
       [](v1::Export& m, std::size_t n) {
         while (static_cast<std::size_t>(m.acl_size()) < n) m.add_acl()->set_access(1);
       }},
      {"chunks of one page", limits::kPageChunks,
       [](v1::Export& m, std::size_t n) {
         while (static_cast<std::size_t>(m.chunks_size()) < n) m.add_chunks()->set_handle(1);
       }},
  };
  for (const Case& c : cases) {
    v1::Export at = good_export();
    c.set(at, c.limit);
    const auto passed = read(FrameType::kExport, bytes_of(at), 1);
    EXPECT_TRUE(passed) << c.what << ": " << passed.error().message;
    v1::Export over = good_export();
    c.set(over, c.limit + 1);
    const auto refused = read(FrameType::kExport, bytes_of(over), 1);
    ASSERT_FALSE(refused) << c.what;
    EXPECT_EQ(refused.error().status, HB_QUOTA) << c.what;
    EXPECT_EQ(refused.error().what, c.what);
    EXPECT_EQ(refused.error().used, c.limit + 1);
    EXPECT_EQ(refused.error().limit, c.limit);
  }
}

TEST(TranslateRequest, ValuesOutsideTheirRange) {
  struct Case {
    hb_status status;
    void (*set)(v1::Export&);
  };
  const Case cases[] = {
      {HB_UNSUPPORTED, [](v1::Export& m) { m.set_handle_kind(4); }},
      {HB_UNSUPPORTED, [](v1::Export& m) { m.set_handle_kind(0); }},
      {HB_INVALID, [](v1::Export& m) { m.set_lifetime(3); }},
      {HB_INVALID, [](v1::Export& m) { m.set_max_access(2); }},
      {HB_INVALID, [](v1::Export& m) { m.mutable_acl(0)->set_access(0); }},
      {HB_INVALID, [](v1::Export& m) { m.mutable_acl(0)->set_kind(static_cast<v1::AclEntry::Kind>(2)); }},
      {HB_INVALID, [](v1::Export& m) { m.mutable_chunks(0)->set_handle(2); }},
      {HB_INVALID, [](v1::Export& m) { m.mutable_chunks(0)->set_handle(UINT32_MAX); }},
      {HB_INVALID, [](v1::Export& m) { m.mutable_chunks(0)->set_handle(0); }},  // descriptor 1 is nobody's
  };
  for (const Case& c : cases) {
    v1::Export message = good_export();
    c.set(message);
    const auto refused = read(FrameType::kExport, bytes_of(message), 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, c.status) << refused.error().message;
    EXPECT_FALSE(refused.error().message.empty());
  }
}

TEST(TranslateRequest, Acquire) {
  v1::Acquire message;
  message.mutable_target()->mutable_name()->set_name("w");
  message.mutable_target()->mutable_name()->set_uid(0);
  message.set_access(3);
  message.set_offset(1);
  message.set_length(2);
  message.set_max_handles(3);
  message.set_wait_ns(UINT64_MAX);
  message.set_demand_level(2);
  const auto request = read(FrameType::kAcquire, bytes_of(message));
  ASSERT_TRUE(request) << request.error().message;
  const auto& made = std::get<core::AcquireRequest>(*request);
  const auto& name = std::get<core::NameRef>(made.target);
  EXPECT_EQ(name.name, "w");
  EXPECT_EQ(name.owner_uid, 0u) << "uid 0 named is not the same as no uid";
  EXPECT_EQ(made.access, core::Access::kReadWrite);
  EXPECT_EQ(made.offset, 1u);
  EXPECT_EQ(made.length, 2u);
  EXPECT_EQ(made.max_handles, 3u);
  EXPECT_EQ(made.wait_ns, UINT64_MAX);
  EXPECT_EQ(made.demand, core::Level::kPerReader);
  message.mutable_target()->mutable_name()->clear_owner();
  const auto own = read(FrameType::kAcquire, bytes_of(message));
  EXPECT_FALSE(std::get<core::NameRef>(std::get<core::AcquireRequest>(*own).target).owner_uid);
}

TEST(TranslateRequest, Targets) {
  v1::Acquire message;
  message.set_access(1);
  EXPECT_EQ(read(FrameType::kAcquire, bytes_of(message)).error().status, HB_INVALID) << "no target";
  message.mutable_target()->set_key(std::string(64, 'k'));
  const auto by_key = read(FrameType::kAcquire, bytes_of(message));
  ASSERT_TRUE(by_key);
  EXPECT_EQ(std::get<KeyBytes>(std::get<core::AcquireRequest>(*by_key).target)[63], 'k');
  for (const std::size_t size : {0u, 63u, 65u}) {
    message.mutable_target()->set_key(std::string(size, 'k'));
    EXPECT_EQ(read(FrameType::kAcquire, bytes_of(message)).error().status, HB_INVALID) << size;
  }
  message.mutable_target()->set_export_id(5);
  EXPECT_EQ(read(FrameType::kAcquire, bytes_of(message)).error().status, HB_INVALID) << "by id";
  v1::Show show;
  show.mutable_target()->set_export_id(5);
  const auto shown = read(FrameType::kShow, bytes_of(show));
  ASSERT_TRUE(shown);
  EXPECT_EQ(std::get<core::ExportId>(std::get<core::ShowRequest>(*shown).target).value, 5u);
  message.mutable_target()->mutable_name()->set_name(std::string(256, 'n'));
  EXPECT_EQ(read(FrameType::kAcquire, bytes_of(message)).error().status, HB_QUOTA);
}

TEST(TranslateRequest, BodiesThatDoNotParse) {
  for (const FrameType type :
       {FrameType::kExport, FrameType::kExportChunks, FrameType::kExportAbort, FrameType::kAcquire,
        FrameType::kFetch, FrameType::kRelease, FrameType::kWithdraw, FrameType::kList, FrameType::kShow,
        FrameType::kWho, FrameType::kStatus, FrameType::kCancel}) {
    const auto refused = read(type, "\xff\xff");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, HB_PROTO);
  }
}

TEST(TranslateRequest, Hello) {
  RequestReader reader;
  const auto read_hello = [&](const v1::Hello& message) {
    const std::string body = bytes_of(message);
    return reader.read_hello(std::as_bytes(std::span(body.data(), body.size())));
  };
  v1::Hello message;
  message.set_lowest_version(1);
  message.set_highest_version(9);
  message.set_library(std::string(limits::kLibraryBytes, 'l'));
  for (std::size_t i = 0; i < limits::kFeatures; ++i)
    message.add_features(std::string(limits::kFeatureBytes, 'f'));
  const auto hello = read_hello(message);
  ASSERT_TRUE(hello) << hello.error().message;
  EXPECT_EQ(hello->lowest_version, 1u);
  EXPECT_EQ(hello->highest_version, 9u);
  message.set_features(0, std::string(limits::kFeatureBytes + 1, 'f'));
  EXPECT_EQ(read_hello(message).error().status, HB_PROTO);
  message.set_features(0, "f");
  message.add_features("one more");
  EXPECT_EQ(read_hello(message).error().status, HB_PROTO);
}

}  // namespace
}  // namespace hb::test
