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

Principal of_uid(std::uint32_t uid) {
  Principal principal;
  principal.uid = uid;
  return principal;
}

BrokerConfig roomy() {
  BrokerConfig config = BrokerDriver::default_config();
  config.fd_limit = 1'000'000;
  return config;
}

TEST(Bounds, OneUidCannotLockTheOthersOut) {
  Broker broker(roomy());
  for (std::size_t i = 0; i < limits::kUidSessions; ++i) ASSERT_TRUE(broker.connect(of_uid(1000), {}, 1));
  const auto refused = broker.connect(of_uid(1000), {}, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, HB_QUOTA);
  EXPECT_EQ(refused.error().what, "sessions");
  EXPECT_EQ(refused.error().used, limits::kUidSessions);
  EXPECT_EQ(refused.error().who, "uid 1000");
  EXPECT_TRUE(broker.connect(of_uid(1001), {}, 1));
}

TEST(Bounds, AllSessionsTogetherAreBounded) {
  Broker broker(roomy());
  SessionId last;
  for (std::uint32_t i = 0; i < limits::kSessions; ++i) {
    const auto session = broker.connect(of_uid(1000 + i / 1000), {}, 1);
    ASSERT_TRUE(session);
    last = *session;
  }
  EXPECT_EQ(broker.connect(of_uid(1), {}, 1).error().limit, limits::kSessions);
  Effects out;
  broker.disconnect(last, 1, out);
  EXPECT_TRUE(broker.connect(of_uid(1), {}, 1));
}

TEST(Bounds, B23_ADaemonWithoutFreeDescriptorsRefusesAndServesOn) {
  BrokerConfig config = BrokerDriver::default_config();
  config.fd_limit = 40;  // a quarter, 10, is kept
  BrokerDriver driver(config);
  const SessionId session = driver.connect(1000);
  driver.exported(session, driver.chunked("fits", 14, 4096));
  EXPECT_EQ(driver.broker.fds_used(), 26u);
  const ReplyBody body = driver.ask(session, driver.chunked("more", 10, 4096));
  EXPECT_EQ(status_of(body), HB_NO_FDS);
  EXPECT_EQ(error_of(body).what, "RLIMIT_NOFILE");
  EXPECT_EQ(error_of(body).used, 26u);
  EXPECT_EQ(error_of(body).limit, 40u);
  EXPECT_EQ(driver.open_handles(), 14u);
  EXPECT_EQ(std::get<Listed>(driver.ask(session, ListRequest{})).exports.size(), 1u);
  driver.exported(session, driver.chunked("exact", 4, 4096));
  const auto refused = driver.broker.connect(of_uid(1), {}, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, HB_NO_FDS);
}

TEST(Bounds, TheAdminGetsInWhereTheTableIsFull) {
  BrokerConfig config = BrokerDriver::default_config();
  config.fd_limit = 40;
  BrokerDriver driver(config);
  const SessionId session = driver.connect(1000);
  driver.exported(session, driver.chunked("full", 18, 4096));
  EXPECT_FALSE(driver.broker.connect(of_uid(1), {}, 1));
  const SessionId admin = driver.connect_admin();
  EXPECT_EQ(std::get<Listed>(driver.ask(admin, ListRequest{})).exports.size(), 1u);
  EXPECT_EQ(status_of(driver.ask(session, driver.simple("more"))), HB_NO_FDS);
}

TEST(Bounds, DescriptorsOfTheEdgeCount) {
  BrokerDriver driver;
  const std::uint64_t before = driver.broker.fds_used();
  driver.broker.note_extra_fds(7);
  EXPECT_EQ(driver.broker.fds_used(), before + 7);
  driver.broker.note_extra_fds(-7);
  EXPECT_EQ(driver.broker.fds_used(), before);
}

TEST(Bounds, ASessionHoldsOnlySoManyLeases) {
  Broker broker(roomy());
  BrokerDriver maker;
  const SessionId session = *broker.connect(of_uid(1000), {}, 1);
  Effects out;
  broker.apply(session, 1, 0, maker.simple("kv"), 1, out);
  for (std::uint32_t i = 0; i < limits::kSessionLeases; ++i) {
    out.clear();
    broker.apply(session, 0, 0, by_name("kv"), 1, out);
  }
  EXPECT_EQ(std::get<Acquired>(std::get<Reply>(out.at(1)).body).validity_slot, limits::kSessionLeases - 1);
  out.clear();
  broker.apply(session, 0, 0, by_name("kv"), 1, out);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(std::get<Audit>(out[0]).kind, AuditKind::kQuota);
  const ReplyBody& body = std::get<Reply>(out[1]).body;
  EXPECT_EQ(status_of(body), HB_QUOTA);
  EXPECT_EQ(error_of(body).what, "leases");
  EXPECT_EQ(broker.counters().leases, limits::kSessionLeases);
  EXPECT_EQ(check_invariants(broker), "");
}

}  // namespace
}  // namespace hb::test
