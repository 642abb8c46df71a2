// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Two bounds of the edge: how often a uid may connect, and how many answers may wait for it.
#include "ipc/connect_rate.h"

#include <gtest/gtest.h>

#include <memory>

#include "core/resource.h"
#include "ipc/unanswered.h"
#include "wire/limits_edge.h"

namespace hb::test {
namespace {

constexpr core::Time kSecond = 1'000'000'000;

TEST(ConnectRate, ABurstThenTheRate) {
  ipc::ConnectRate rate;
  constexpr std::uint64_t kPerSecond = 10;
  core::Time now = 5 * kSecond;
  for (std::uint64_t i = 0; i < kPerSecond * limits::kConnectBurst; ++i)
    ASSERT_FALSE(rate.admit({{}, 1001}, kPerSecond, now)) << i;
  const auto refused = rate.admit({{}, 1001}, kPerSecond, now);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, HB_QUOTA);
  EXPECT_EQ(refused->what, "connections a second");
  EXPECT_EQ(refused->used, kPerSecond * limits::kConnectBurst + 1);
  EXPECT_EQ(refused->limit, kPerSecond);
  EXPECT_EQ(refused->who, "uid 1001");
  EXPECT_FALSE(rate.admit({{}, 1002}, kPerSecond, now)) << "others have their own";
  EXPECT_FALSE(rate.admit({core::ScopeId{3}, 1001}, kPerSecond, now))
      << "and so has the uid of another scope";
  now += kSecond / 10;
  EXPECT_FALSE(rate.admit({{}, 1001}, kPerSecond, now));
  EXPECT_TRUE(rate.admit({{}, 1001}, kPerSecond, now));
  now += kSecond;
  for (std::uint64_t i = 0; i < kPerSecond; ++i) ASSERT_FALSE(rate.admit({{}, 1001}, kPerSecond, now)) << i;
  EXPECT_TRUE(rate.admit({{}, 1001}, kPerSecond, now));
}

TEST(ConnectRate, WhatThePolicySaysNowCounts) {
  ipc::ConnectRate rate;
  EXPECT_TRUE(rate.admit({{}, 1001}, 0, kSecond));
  ASSERT_FALSE(rate.admit({{}, 1002}, 1000, kSecond));
  EXPECT_TRUE(rate.admit({{}, 1002}, 0, kSecond));
  EXPECT_FALSE(rate.admit({{}, 1002}, 1000, 3 * kSecond));
}

TEST(ConnectRate, UidsThatHaveGoneAreForgotten) {
  ipc::ConnectRate rate;
  for (std::uint32_t uid = 0; uid < 100'000; ++uid)
    ASSERT_FALSE(rate.admit({{}, uid}, 10, kSecond * (1 + uid / 1000)));
  EXPECT_LT(rate.size(), 10'000u);
}

TEST(Unanswered, IsBoundedForEachPrincipal) {
  ipc::Unanswered waiting;
  core::Principal principal;
  principal.uid = 1001;
  auto few = std::make_shared<core::LimitSet>(core::LimitSet::built_in());
  few->set(core::Resource::kRequests, 2);
  principal.limits = few;
  const ipc::Unanswered::Who who = ipc::Unanswered::who(principal);
  waiting.add(who);
  EXPECT_FALSE(waiting.refuse(principal));
  waiting.add(who);
  const auto refused = waiting.refuse(principal);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, HB_QUOTA);
  EXPECT_EQ(refused->what, "unanswered requests");
  EXPECT_EQ(refused->used, 2u);
  EXPECT_EQ(refused->limit, 2u);
  EXPECT_EQ(refused->who, "uid 1001");
  core::Principal other = principal;
  other.uid = 1002;
  EXPECT_FALSE(waiting.refuse(other));
  waiting.remove(who, 2);
  EXPECT_FALSE(waiting.refuse(principal));
  EXPECT_TRUE(waiting.empty());
}

}  // namespace
}  // namespace hb::test
