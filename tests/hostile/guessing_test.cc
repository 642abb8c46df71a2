// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Keys, leases and ids that were not given to who presents them.
#include <array>
#include <cstring>
#include <random>

#include "support/fixture.h"
#include "support/memfd.h"
#include "wire/key.h"

namespace hb::test {
namespace {

class Guessing : public DaemonTest {
 protected:
  // Many acquires at once, answers counted by status.
  static std::map<hb_status, int> try_keys(RawPeer& raw, const std::vector<std::string>& keys) {
    std::map<hb_status, int> out;
    constexpr std::size_t kAtOnce = 64;
    for (std::size_t from = 0; from < keys.size(); from += kAtOnce) {
      std::vector<std::uint64_t> ids;
      for (std::size_t i = from; i < std::min(keys.size(), from + kAtOnce); ++i) {
        pb::Acquire body;
        body.mutable_target()->set_key(keys[i]);
        body.set_access(1);
        body.set_max_handles(1);
        ids.push_back(raw.send(FrameType::kAcquire, body));
      }
      for (const std::uint64_t id : ids) ++out[raw.await<pb::AcquireReply>(id).status];
    }
    return out;
  }
};

TEST_F(Guessing, AHundredThousandKeys) {
  RawPeer owner = peer();
  const UniqueFd memory = sealed_memfd(4 * kPage, 1);
  const auto exported = owner.export_fds("x", {memory.get()}, 4 * kPage);
  ASSERT_EQ(exported.status, HB_OK);
  const std::string key = exported.reply.key();
  ASSERT_EQ(key.size(), 64u);
  std::minstd_rand random(99);
  std::vector<std::string> keys;
  for (int i = 0; i < 50'000; ++i) {
    std::string guess(64, '\0');
    for (char& c : guess) c = static_cast<char>(random());
    // Of a version and kind that exist, and every other one of this broker.
    guess.replace(0, i % 2 == 0 ? 20 : 4, key, 0, i % 2 == 0 ? 20 : 4);
    keys.push_back(guess);
  }
  for (int i = 0; i < 50'000; ++i) {  // one to three bits away from the truth
    std::string guess = key;
    for (auto flips = 1 + random() % 3; flips > 0; --flips) {
      // Version and kind are told apart before the MAC; everything behind them is under it.
      const std::size_t at = 4 + random() % 60;
      guess[at] = static_cast<char>(guess[at] ^ (1u << (random() % 8)));
    }
    if (guess != key) keys.push_back(guess);
  }
  RawPeer raw = peer();
  const auto answers = try_keys(raw, keys);
  EXPECT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers.count(HB_NOT_FOUND) == 1 ? answers.at(HB_NOT_FOUND) : 0, static_cast<int>(keys.size()));
  for (const auto& [status, count] : answers)
    if (status != HB_NOT_FOUND) ADD_FAILURE() << count << " keys were answered with status " << status;
  EXPECT_EQ(raw.acquire(key).status, HB_OK) << "the true one works";
  EXPECT_EQ(owner.list().reply.exports(0).leases(), 1u);
}

TEST_F(Guessing, KeysOfOtherVersionsKindsAndLengths) {
  RawPeer owner = peer();
  const UniqueFd memory = sealed_memfd(kPage, 1);
  const std::string key = owner.export_fds("x", {memory.get()}).reply.key();
  std::string other = key;
  other[0] = 2;
  EXPECT_EQ(owner.acquire(other).status, HB_VERSION);
  other = key;
  other[2] = 1;
  EXPECT_NE(owner.acquire(other).status, HB_OK);
  for (const std::size_t length : {0u, 1u, 63u, 65u, 1000u}) {
    const auto answer = owner.acquire(std::string(length, 'k'));
    EXPECT_TRUE(answer.status == HB_INVALID || answer.status == HB_PROTO || answer.status == HB_NOT_FOUND ||
                answer.ended)
        << length;
    if (answer.ended) return;
  }
}

// A holder may cut keys; nobody can make one that reaches past what the secret covers.
TEST_F(Guessing, KeysCutByAHolder) {
  RawPeer owner = peer();
  const UniqueFd memory = sealed_memfd(4 * kPage, 1);
  const auto exported = owner.export_fds("x", {memory.get()}, 4 * kPage);
  KeyBytes whole{};
  std::memcpy(whole.data(), exported.reply.key().data(), whole.size());
  Secret secret{};
  ASSERT_EQ(exported.reply.secret().size(), secret.size());
  std::memcpy(secret.data(), exported.reply.secret().data(), secret.size());
  KeyFields fields = decode_key(whole);
  const auto acquire = [&] {
    const KeyBytes made = encode_key(fields, secret);
    return owner.acquire(std::string(reinterpret_cast<const char*>(made.data()), made.size()));
  };
  fields.offset = kPage;
  fields.length = kPage;
  const auto part = acquire();
  ASSERT_EQ(part.status, HB_OK) << part.error.message();
  EXPECT_EQ(part.reply.offset(), kPage);
  EXPECT_EQ(part.reply.length(), kPage);
  for (const auto& [offset, length] : {std::pair<std::uint64_t, std::uint64_t>{kPage, 4 * kPage},
                                       {UINT64_MAX, 2},
                                       {4 * kPage, 1},
                                       {0, UINT64_MAX},
                                       {UINT64_MAX, UINT64_MAX}}) {
    fields.offset = offset;
    fields.length = length;
    EXPECT_EQ(acquire().status, HB_RANGE) << offset << "+" << length;
  }
  fields.offset = 0;
  fields.length = kPage;
  fields.generation += 1;
  EXPECT_EQ(acquire().status, HB_NOT_FOUND) << "a generation that never was";
  fields.generation -= 1;
  fields.export_id += 1;
  EXPECT_EQ(acquire().status, HB_NOT_FOUND);
}

TEST_F(Guessing, LeasesOfOthersAreNobodysElse) {
  RawPeer owner = peer();
  const UniqueFd memory = sealed_memfd(kPage, 1);
  ASSERT_EQ(owner.export_fds("x", {memory.get()}).status, HB_OK);
  RawPeer holder = peer();
  const auto lease = holder.acquire_name("x");
  ASSERT_EQ(lease.status, HB_OK);
  RawPeer thief = peer();
  for (const std::uint64_t id :
       {lease.reply.lease_id(), lease.reply.lease_id() + 1, std::uint64_t{0}, UINT64_MAX}) {
    pb::Fetch fetch;
    fetch.set_lease_id(id);
    fetch.set_max_handles(1);
    const auto answer = thief.call<pb::FetchReply>(FrameType::kFetch, fetch);
    EXPECT_EQ(answer.status, HB_NOT_HELD) << answer.error.message();
    EXPECT_TRUE(answer.fds.empty());
    thief.release(id);
  }
  EXPECT_EQ(thief.ping(), HB_OK);
  EXPECT_EQ(owner.list().reply.exports(0).leases(), 1u);
  pb::Fetch fetch;
  fetch.set_lease_id(lease.reply.lease_id());
  fetch.set_first(1);  // past the end of what was granted
  fetch.set_max_handles(1);
  EXPECT_EQ(holder.call<pb::FetchReply>(FrameType::kFetch, fetch).status, HB_RANGE);
  holder.release(lease.reply.lease_id());
  fetch.set_first(0);
  EXPECT_EQ(holder.call<pb::FetchReply>(FrameType::kFetch, fetch).status, HB_NOT_HELD);
  EXPECT_EQ(owner.list().reply.exports(0).leases(), 0u);
}

TEST_F(Guessing, ExportIdsOpenNothing) {
  RawPeer owner = peer();
  const UniqueFd memory = sealed_memfd(kPage, 1);
  const std::uint64_t id = owner.export_fds("x", {memory.get()}).reply.export_id();
  RawPeer other = peer();
  pb::Acquire body;
  body.mutable_target()->set_export_id(id);
  body.set_access(1);
  body.set_max_handles(1);
  const auto answer = other.call<pb::AcquireReply>(FrameType::kAcquire, body);
  EXPECT_NE(answer.status, HB_OK);
  EXPECT_TRUE(answer.fds.empty());
}

// Many names and many leases: the bounds are said with their numbers.
TEST_F(Guessing, SessionsOfOneUidAreBounded) {
  std::vector<RawPeer> flood;
  bool refused = false;
  for (int i = 0; i < 5'000 && !refused; ++i) {
    RawPeer raw(daemon().socket());
    const auto answer = raw.hello();
    if (answer.status == HB_OK) {
      flood.push_back(std::move(raw));
      continue;
    }
    refused = true;
    EXPECT_TRUE(answer.ended || answer.status == HB_QUOTA || answer.status == HB_NO_FDS)
        << answer.error.message();
  }
  EXPECT_TRUE(refused) << flood.size() << " sessions of one uid";
  EXPECT_EQ(flood.front().ping(), HB_OK);
  flood.clear();
  expect_baseline("after the flood");
}

}  // namespace
}  // namespace hb::test
