// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The client's codec against libprotobuf, the daemon's. Both write the canonical form (fields in rising
// order, defaults left out, what is unknown behind the rest), so agreement is equality of bytes;
// schema_test.cc holds numbers to names.
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <array>

#include "counting_new.h"
#include "hipbroker/v1/broker.pb.h"
#include "message_values.h"
#include "messages.h"
#include "wire/message_codec.h"

namespace hb::test {
namespace {

namespace v1 = hipbroker::v1;
using msg::decode;
using msg::decode_into;
using msg::encode;
using Kind = msg::DecodeError::Kind;

constexpr int kRounds = 400;

msg::Bytes as_body(const std::string& bytes) { return std::as_bytes(std::span(bytes)); }

// X(what the client calls it, what the daemon calls it): a test type pair.
template <typename ClientMessage, typename DaemonMessage>
struct Both {
  using Client = ClientMessage;
  using Daemon = DaemonMessage;
};

template <typename Pair>
class Sent : public testing::Test {};
template <typename Pair>
class Got : public testing::Test {};  // "Received" is the packet socket's

struct PairNames {
  template <typename Pair>
  static std::string GetName(int) {
    return Pair::Client::kName;
  }
};

// The lists begin with a comma each; the leading void is dropped.
template <typename, typename... Pairs>
using WithoutFirst = testing::Types<Pairs...>;
#define HB_PAIR(Name) , Both<msg::Name, v1::Name>
using SentPairs = WithoutFirst<void HB_EVERY_SENT_MESSAGE(HB_PAIR)>;
using ReceivedPairs = WithoutFirst<void HB_EVERY_RECEIVED_MESSAGE(HB_PAIR)>;
#undef HB_PAIR
TYPED_TEST_SUITE(Sent, SentPairs, PairNames);
TYPED_TEST_SUITE(Got, ReceivedPairs, PairNames);

TYPED_TEST(Sent, LibprotobufReadsWhatTheClientWrites) {
  RandomMessages messages(11);
  std::string bytes;
  for (int round = 0; round < kRounds; ++round) {
    encode(messages.make<typename TypeParam::Client>(), bytes);
    typename TypeParam::Daemon parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes)) << "round " << round;
    ASSERT_EQ(parsed.SerializeAsString(), bytes) << "round " << round;
    messages.forget();
  }
}

TYPED_TEST(Sent, DefaultsAreNotWritten) {
  std::string bytes = "old content";
  encode(typename TypeParam::Client{}, bytes);
  EXPECT_EQ(bytes, typename TypeParam::Daemon{}.SerializeAsString());
  EXPECT_EQ(bytes, "");
}

// Random values, written by libprotobuf.
template <typename Pair>
std::string written_by_daemon(const typename Pair::Client& message) {
  std::string bytes;
  encode(message, bytes);
  typename Pair::Daemon parsed;
  EXPECT_TRUE(parsed.ParseFromString(bytes));
  return parsed.SerializeAsString();
}

TYPED_TEST(Got, ClientReadsWhatLibprotobufWrites) {
  RandomMessages messages(12);
  typename TypeParam::Client reused;
  for (int round = 0; round < kRounds; ++round) {
    const auto message = messages.make<typename TypeParam::Client>();
    const std::string bytes = written_by_daemon<TypeParam>(message);
    const auto read = decode_into(as_body(bytes), reused);
    ASSERT_TRUE(read.has_value()) << read.error().text() << ", round " << round;
    ASSERT_TRUE(equal(reused, message)) << "round " << round;
    messages.forget();
  }
}

TYPED_TEST(Got, EmptyBodyIsAllDefaults) {
  RandomMessages messages(13);
  auto message = messages.make<typename TypeParam::Client>();
  ASSERT_TRUE(decode_into(msg::Bytes{}, message).has_value());
  EXPECT_TRUE(equal(message, typename TypeParam::Client{})) << "nothing of an earlier message may remain";
}

TYPED_TEST(Got, UnknownFieldsAreSkipped) {
  // Fields 1000 to 1003: a varint, 64 bits, two bytes, 32 bits.
  const std::string unknown = {
      "\xc0\x3e\xff\x01\xc9\x3e"
      "12345678\xd2\x3e\x02"
      "ab\xdd\x3e"
      "1234"};
  RandomMessages messages(14);
  for (int round = 0; round < 50; ++round) {
    const auto message = messages.make<typename TypeParam::Client>();
    const std::string bytes = unknown + written_by_daemon<TypeParam>(message) + unknown;
    const auto read = decode<typename TypeParam::Client>(as_body(bytes));
    ASSERT_TRUE(read.has_value()) << read.error().text();
    ASSERT_TRUE(equal(*read, message));
  }
}

TYPED_TEST(Got, AKnownNumberOfAnotherTypeIsAnUnknownField) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  for (std::uint32_t number = 1; number <= 30; ++number) writer.add_fixed32(number, 7);
  typename TypeParam::Daemon parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  const auto read = decode<typename TypeParam::Client>(as_body(bytes));
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_TRUE(equal(*read, typename TypeParam::Client{}));
}

TYPED_TEST(Got, EveryTruncationIsJudgedAsByLibprotobuf) {
  const google::protobuf::LogSilencer quiet;  // it reports each text cut inside a character
  RandomMessages messages(15);
  for (int round = 0; round < 20; ++round) {
    const std::string bytes = written_by_daemon<TypeParam>(messages.make<typename TypeParam::Client>());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::string cut = bytes.substr(0, size);
      typename TypeParam::Daemon parsed;
      const auto read = decode<typename TypeParam::Client>(as_body(cut));
      ASSERT_EQ(read.has_value(), parsed.ParseFromString(cut)) << size << " of " << bytes.size();
      if (!read) {
        ASSERT_EQ(read.error().kind, Kind::kMalformed);
      }
    }
  }
}

TYPED_TEST(Got, FlippedBitsNeverCrash) {
  RandomMessages messages(16);
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = written_by_daemon<TypeParam>(messages.make<typename TypeParam::Client>());
    messages.forget();
    if (bytes.empty()) continue;
    for (int flip = 0; flip < 4; ++flip) {
      const std::uint64_t bit = messages.random()() % (bytes.size() * 8);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    }
    const auto read = decode<typename TypeParam::Client>(as_body(bytes));
    if (!read) {
      EXPECT_NE(read.error().text().find(TypeParam::Client::kName), std::string::npos);
    }
  }
}

// ---- single facts ------------------------------------------------------------------------------

TEST(Codec, ErrorByName) {
  v1::Error error;
  error.set_status(-7);
  error.set_message("too many");
  error.set_what("chunks");
  error.set_used(1025);
  error.set_limit(~std::uint64_t{0});
  error.set_who("uid 1000");
  error.set_sys_errno(-24);
  error.set_operation("recvmsg");
  error.set_chunk(3);
  const std::string bytes = error.SerializeAsString();
  const auto read = decode<msg::Error>(as_body(bytes));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->status, -7);
  EXPECT_EQ(read->message, "too many");
  EXPECT_EQ(read->what, "chunks");
  EXPECT_EQ(read->used, 1025u);
  EXPECT_EQ(read->limit, ~std::uint64_t{0});
  EXPECT_EQ(read->who, "uid 1000");
  EXPECT_EQ(read->sys_errno, -24);
  EXPECT_EQ(read->operation, "recvmsg");
  EXPECT_EQ(read->chunk, 3u);
}

TEST(Codec, AcquireByName) {
  std::string bytes;
  encode(msg::Acquire{.target = msg::Target::by_name("kv", 0),
                      .access = 3,
                      .offset = 4096,
                      .length = 8192,
                      .max_handles = 253,
                      .wait_ns = ~std::uint64_t{0},
                      .demand_level = 2},
         bytes);
  v1::Acquire parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  ASSERT_EQ(parsed.target().by_case(), v1::Target::kName);
  EXPECT_EQ(parsed.target().name().name(), "kv");
  EXPECT_EQ(parsed.target().name().owner_case(), v1::NameRef::kUid) << "uid 0 is not the caller's own";
  EXPECT_EQ(parsed.target().name().uid(), 0u);
  EXPECT_EQ(parsed.access(), 3u);
  EXPECT_EQ(parsed.offset(), 4096u);
  EXPECT_EQ(parsed.length(), 8192u);
  EXPECT_EQ(parsed.max_handles(), 253u);
  EXPECT_EQ(parsed.wait_ns(), ~std::uint64_t{0});
  EXPECT_EQ(parsed.demand_level(), 2u);
}

TEST(Codec, OneofsKeepEmptyMembersApart) {
  const auto by_case = [](const msg::Target& target) {
    std::string bytes;
    encode(msg::Who{.target = target}, bytes);
    v1::Who parsed;
    EXPECT_TRUE(parsed.ParseFromString(bytes));
    return parsed.target().by_case();
  };
  EXPECT_EQ(by_case({}), v1::Target::BY_NOT_SET);
  EXPECT_EQ(by_case(msg::Target::by_key({})), v1::Target::kKey);
  EXPECT_EQ(by_case(msg::Target::by_name("")), v1::Target::kName);
  EXPECT_EQ(by_case(msg::Target::by_id(0)), v1::Target::kExportId);
  std::string bytes;
  encode(msg::Who{.target = msg::Target::by_name("x")}, bytes);
  v1::Who parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  EXPECT_EQ(parsed.target().name().owner_case(), v1::NameRef::OWNER_NOT_SET);
}

TEST(Codec, EmptyListEntriesAreKept) {
  msg::Chunk chunks[3];
  chunks[1].size = 5;
  std::string bytes;
  encode(msg::ExportChunks{.chunks = chunks}, bytes);
  v1::ExportChunks parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  ASSERT_EQ(parsed.chunks_size(), 3);
  EXPECT_EQ(parsed.chunks(1).size(), 5u);

  v1::FetchReply reply;
  reply.add_chunks();
  reply.add_chunks();
  const std::string reply_bytes = reply.SerializeAsString();
  const auto read = decode<msg::FetchReply>(as_body(reply_bytes));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->chunks.size(), 2u);
}

TEST(Codec, RepeatedScalarTakesTheLastAndSubMessagesMerge) {
  v1::AcquireReply first, second;
  first.set_lease_id(1);
  first.set_access(3);
  first.mutable_device()->set_uuid("GPU-1");
  second.set_lease_id(2);
  second.mutable_device()->set_partition(4);
  const std::string bytes = first.SerializeAsString() + second.SerializeAsString();
  const auto read = decode<msg::AcquireReply>(as_body(bytes));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->lease_id, 2u);
  EXPECT_EQ(read->access, 3u);
  EXPECT_EQ(read->device.uuid, "GPU-1");
  EXPECT_EQ(read->device.partition, 4u);
}

TEST(Codec, RepeatedNumbersAreReadPackedAndOneByOne) {
  v1::GroupAppendReply reply;
  for (const std::uint64_t version : {std::uint64_t{1}, std::uint64_t{300}, ~std::uint64_t{0}})
    reply.add_layout_versions(version);
  const std::string packed = reply.SerializeAsString();
  std::string one_by_one;
  protozero::pbf_writer writer(one_by_one);
  for (const std::uint64_t version : reply.layout_versions()) writer.add_uint64(1, version);
  ASSERT_NE(packed, one_by_one);
  for (const std::string& bytes : {packed, one_by_one, packed + one_by_one}) {
    ASSERT_TRUE(reply.ParseFromString(bytes));
    const auto read = decode<msg::GroupAppendReply>(as_body(bytes));
    ASSERT_TRUE(read.has_value()) << read.error().text();
    EXPECT_EQ(read->layout_versions,
              std::vector<std::uint64_t>(reply.layout_versions().begin(), reply.layout_versions().end()));
  }
  reply.clear_layout_versions();
  for (std::size_t i = 0; i < limits::kGroupWorld; ++i) reply.add_layout_versions(i);
  EXPECT_TRUE(decode<msg::GroupAppendReply>(as_body(reply.SerializeAsString())).has_value());
  reply.add_layout_versions(1);
  const std::string over = reply.SerializeAsString();
  const auto refused = decode<msg::GroupAppendReply>(as_body(over));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().text(), "GroupAppendReply: field 'layout_versions' is over the limit of " +
                                        std::to_string(limits::kGroupWorld));
}

TEST(Codec, AMemberWithoutAGrantIsNotOneWithAnEmptyGrant) {
  v1::JoinReply reply;
  reply.add_members()->set_rank(0);
  reply.add_members()->mutable_grant();
  reply.add_members()->mutable_grant()->add_chunks()->set_handle(7);
  const std::string bytes = reply.SerializeAsString();
  const auto read = decode<msg::JoinReply>(as_body(bytes));
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->members.size(), 3u);
  EXPECT_FALSE(read->members[0].grant.has_value());
  ASSERT_TRUE(read->members[1].grant.has_value());
  EXPECT_TRUE(read->members[1].grant->chunks.empty());
  ASSERT_TRUE(read->members[2].grant.has_value());
  EXPECT_EQ(read->members[2].grant->chunks.at(0).handle, 7u);
}

TEST(Codec, AnOptionalMessageThatComesTwiceIsMerged) {
  v1::Member first, second;
  first.mutable_grant()->set_lease_id(5);
  second.mutable_grant()->set_offset(6);
  v1::JoinReply reply;
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_message(2, first.SerializeAsString() + second.SerializeAsString());
  ASSERT_TRUE(reply.ParseFromString(bytes));
  const auto read = decode<msg::JoinReply>(as_body(bytes));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->members.at(0).grant->lease_id, reply.members(0).grant().lease_id());
  EXPECT_EQ(read->members.at(0).grant->offset, reply.members(0).grant().offset());
  EXPECT_EQ(read->members.at(0).grant->lease_id, 5u);
}

TEST(Codec, TextsAndBytesPointIntoTheBody) {
  v1::AcquireReply reply;
  reply.set_metadata(std::string(100, 'm'));
  reply.set_name("kv");
  reply.add_chunks()->set_opaque("opaque");
  const std::string bytes = reply.SerializeAsString();
  const auto read = decode<msg::AcquireReply>(as_body(bytes));
  ASSERT_TRUE(read.has_value());
  const auto inside = [&](const void* at) { return at >= bytes.data() && at < bytes.data() + bytes.size(); };
  EXPECT_TRUE(inside(read->metadata.data()));
  EXPECT_TRUE(inside(read->name.data()));
  EXPECT_TRUE(inside(read->chunks[0].opaque.data()));
}

TEST(Codec, ListsAreBounded) {
  v1::AcquireReply reply;
  for (std::size_t i = 0; i < limits::kPageChunks; ++i) reply.add_chunks()->set_size(1);
  std::string bytes = reply.SerializeAsString();
  EXPECT_TRUE(decode<msg::AcquireReply>(as_body(bytes)).has_value());
  reply.add_chunks();
  bytes = reply.SerializeAsString();
  const auto read = decode<msg::AcquireReply>(as_body(bytes));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().kind, Kind::kLimit);
  EXPECT_EQ(read.error().text(), "AcquireReply: field 'chunks' is over the limit of 1024");
}

TEST(Codec, BytesAreBoundedAtEveryDepth) {
  v1::ListReply list;
  list.add_exports()->set_name(std::string(limits::kNameBytes, 'n'));
  std::string bytes = list.SerializeAsString();
  EXPECT_TRUE(decode<msg::ListReply>(as_body(bytes)).has_value());
  list.mutable_exports(0)->set_name(std::string(limits::kNameBytes + 1, 'n'));
  bytes = list.SerializeAsString();
  const auto read = decode<msg::ListReply>(as_body(bytes));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().text(), "ListReply: field 'name' is over the limit of 255");
}

TEST(Codec, SteadyStateAllocatesNothing) {
  const std::array<std::byte, 64> key{};
  v1::AcquireReply reply;
  reply.set_metadata(std::string(4096, 'm'));
  for (int i = 0; i < 253; ++i) reply.add_chunks()->set_size(2u << 20);
  const std::string reply_bytes = reply.SerializeAsString();
  std::string out;
  msg::AcquireReply read;
  const auto cycle = [&] {
    encode(msg::Acquire{.target = msg::Target::by_key(key), .access = 3, .wait_ns = 1}, out);
    EXPECT_TRUE(decode_into(as_body(reply_bytes), read).has_value());
    encode(msg::Release{.lease_id = ~std::uint64_t{0}}, out);
  };
  cycle();
  const std::size_t before = allocations();
  cycle();
  EXPECT_EQ(allocations(), before);
}

TEST(Codec, OutOfMemoryIsAnErrorNotAnException) {
  v1::FetchReply reply;
  reply.add_chunks()->set_size(1);
  const std::string bytes = reply.SerializeAsString();
  msg::FetchReply read;
  tl::expected<void, msg::DecodeError> result;
  {
    const NoMemory refused;
    result = decode_into(as_body(bytes), read);
  }
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, Kind::kNoMemory);
  EXPECT_TRUE(decode_into(as_body(bytes), read).has_value()) << "and the object is usable again";
}

}  // namespace
}  // namespace hb::test
