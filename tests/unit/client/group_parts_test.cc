// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Parts of a join: the answer taken apart, and addresses for a row of mappings.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flat_addresses.h"
#include "member_grant.h"

namespace hb::client {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// ---- the answer ---------------------------------------------------------------------------------
class JoinAnswer : public testing::Test {
 protected:
  // A member with chunks of these descriptors, counted over the frame from 1.
  void add(std::initializer_list<std::uint32_t> handles) {
    msg::Member member;
    member.grant.emplace();
    for (const std::uint32_t handle : handles) {
      msg::Chunk chunk;
      chunk.handle = handle;
      chunk.size = 4096;
      member.grant->chunks.push_back(chunk);
    }
    joined_.members.push_back(std::move(member));
  }
  Result<std::vector<MemberGrant>> taken_apart(std::size_t fds, bool truncated = false) {
    Reply reply;
    reply.fds_truncated = truncated;
    for (std::size_t i = 0; i < fds; ++i) {
      reply.fds.emplace_back(::dup(STDERR_FILENO));
      numbers_.push_back(reply.fds.back().get());
    }
    return take_apart(session_, joined_, reply);
  }

  static std::shared_ptr<Session> session_over(UniqueFd* peer) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    *peer = UniqueFd(ends[1]);
    return std::make_shared<Session>(UniqueFd(ends[0]), "/nowhere", ProcessMark::take().value());
  }

  UniqueFd peer_;  // takes the leases that are given back
  std::shared_ptr<Session> session_ = session_over(&peer_);
  msg::JoinReply joined_;
  std::vector<int> numbers_;
};

TEST_F(JoinAnswer, EachMemberGetsItsDescriptors) {
  add({1, 2, 1});
  joined_.members.emplace_back();  // the caller's own
  add({});
  add({3});
  const auto members = taken_apart(3);
  ASSERT_TRUE(members) << members.error().message;
  EXPECT_EQ((*members)[0].fds.size(), 2u);
  EXPECT_EQ((*members)[1].reply, nullptr);
  EXPECT_TRUE((*members)[2].fds.empty());
  ASSERT_EQ((*members)[3].fds.size(), 1u);
  EXPECT_EQ((*members)[3].fds[0].get(), numbers_[2]);
  EXPECT_EQ((*members)[3].handles_before, 2u);
}

TEST_F(JoinAnswer, DescriptorsThatDidNotAllComeAreNotUsed) {
  add({1, 2});
  add({3});
  const auto members = taken_apart(2, true);
  ASSERT_TRUE(members) << members.error().message;
  EXPECT_TRUE((*members)[0].fds.empty());
  EXPECT_TRUE((*members)[1].fds.empty());
}

TEST_F(JoinAnswer, AChunkOfAnotherMembersDescriptorIsRefused) {
  add({1, 2});
  add({2});
  const auto members = taken_apart(2);
  ASSERT_FALSE(members);
  EXPECT_EQ(members.error().status, HB_PROTO);
}

TEST_F(JoinAnswer, AChunkOfNoDescriptorIsRefused) {
  add({1});
  add({3});
  const auto members = taken_apart(2);
  ASSERT_FALSE(members);
  EXPECT_EQ(members.error().status, HB_PROTO);
}

// ---- the row ------------------------------------------------------------------------------------
bool is_free(void* at, std::uint64_t bytes) {
  void* const got = ::mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return false;
  ::munmap(got, bytes);
  return got == at;
}

TEST(FlatAddressesTest, SlotsLieSideBySideAndAreFreeOnceTaken) {
  char* first = nullptr;
  {
    auto row = FlatAddresses::find(nullptr, 3 * kMiB, 4, 64 * kMiB);
    ASSERT_TRUE(row) << row.error().message;
    first = static_cast<char*>(row->take(0));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % (64 * kMiB), 0u);
    EXPECT_TRUE(is_free(first, 3 * kMiB));
    EXPECT_FALSE(is_free(first + 3 * kMiB, kMiB));
    EXPECT_EQ(row->take(1), first + 3 * kMiB);
    EXPECT_FALSE(is_free(first + 11 * kMiB, kMiB));
  }
  EXPECT_TRUE(is_free(first, 12 * kMiB));
}

TEST(FlatAddressesTest, AWishedBaseIsTakenOrRefused) {
  void* const base = reinterpret_cast<void*>(0x7e90'0000'0000);
  auto row = FlatAddresses::find(base, kMiB, 2, 4096);
  ASSERT_TRUE(row) << row.error().message;
  const auto again = FlatAddresses::find(static_cast<char*>(base) + kMiB, kMiB, 2, 4096);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().status, HB_ADDRESS);
  EXPECT_EQ(row->take(0), base);
}

TEST(FlatAddressesTest, MoreThanAProcessHasIsNamed) {
  const auto row = FlatAddresses::find(nullptr, std::uint64_t{1} << 46, 8, 4096);
  ASSERT_FALSE(row);
  EXPECT_EQ(row.error().status, HB_RANGE);
  EXPECT_EQ(row.error().used, std::uint64_t{1} << 46);
}

}  // namespace
}  // namespace hb::client
