// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "observe/audit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "observe/json.h"
#include "observe/bounds.h"

namespace hb::test {
namespace {

using core::Audit;
using core::AuditKind;

constexpr std::uint64_t kSecond = 1'000'000'000;

Audit of(AuditKind kind, std::uint32_t uid, const std::string& name = {}) {
  Audit audit;
  audit.kind = kind;
  audit.uid = uid;
  audit.process = std::make_shared<const core::ProcessInfo>(core::ProcessInfo{42, "python3", {}, {}});
  audit.name = name;
  audit.owner_uid = 5;
  audit.count = 1;
  if (kind == AuditKind::kRefused) audit.status = HB_DENIED;
  return audit;
}

class AuditTrailTest : public testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> all() const { return trail_.read(0, 0, 0, 1u << 30).records; }
  void add(Audit audit) { trail_.add(std::move(audit), now_); }

  observe::AuditTrail trail_;
  core::Time now_ = 100 * kSecond;
};

TEST_F(AuditTrailTest, OneRefusalManyTimesIsOneRecordAndOneWithTheCount) {
  for (int i = 0; i < 1000; ++i) add(of(AuditKind::kRefused, 7, "x"));
  EXPECT_EQ(all().size(), 1u);
  EXPECT_EQ(trail_.next_flush(), now_ + observe::AuditTrail::kPeriodNs);
  now_ = trail_.next_flush();
  trail_.flush(now_);
  const auto records = all();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_NE(records[0].find("\"count\":1}"), std::string::npos) << records[0];
  EXPECT_NE(records[1].find("\"count\":999}"), std::string::npos) << records[1];
  EXPECT_EQ(trail_.next_flush(), core::kNever);
  add(of(AuditKind::kRefused, 7, "x"));
  EXPECT_EQ(all().size(), 3u) << "a new period begins";
}

TEST_F(AuditTrailTest, OtherRefusalsAreOtherRecords) {
  add(of(AuditKind::kRefused, 7, "x"));
  add(of(AuditKind::kRefused, 8, "x"));
  add(of(AuditKind::kRefused, 7, "y"));
  Audit other = of(AuditKind::kRefused, 7, "x");
  other.status = HB_BAD_HANDLE;
  add(other);
  other = of(AuditKind::kRefused, 7, "x");
  other.verb = "revoke";
  add(other);
  EXPECT_EQ(all().size(), 5u);
}

TEST_F(AuditTrailTest, GuessedKeysAreOneThing) {
  for (std::uint64_t i = 1; i <= 50; ++i) {
    Audit guess = of(AuditKind::kRefused, 7);
    guess.status = HB_NOT_FOUND;
    guess.exported = core::ExportId{i};
    add(guess);
  }
  EXPECT_EQ(all().size(), 1u);
}

TEST_F(AuditTrailTest, AcquiresAreNeverTakenForRepeats) {
  for (int i = 0; i < 5; ++i) {
    add(of(AuditKind::kAcquired, 7, "x"));
    add(of(AuditKind::kReleased, 7, "x"));
  }
  EXPECT_EQ(all().size(), 10u);
}

// Nobody pushes what others did out of the ring, or out of the writer's queue.
TEST_F(AuditTrailTest, APrincipalHasAShare) {
  add(of(AuditKind::kAcquired, 9, "first"));
  for (std::size_t i = 0; i < limits::kAuditShare + 1000; ++i) add(of(AuditKind::kAcquired, 7, "x"));
  add(of(AuditKind::kAcquired, 9, "second"));
  EXPECT_EQ(all().size(), limits::kAuditShare + 2);
  trail_.flush(trail_.next_flush());
  const auto records = all();
  ASSERT_EQ(records.size(), limits::kAuditShare + 3);
  EXPECT_NE(records.back().find("\"event\":\"left-out\",\"scope\":\"main\",\"uid\":7"), std::string::npos)
      << records.back();
  EXPECT_NE(records.back().find("\"count\":1000"), std::string::npos) << records.back();
}

TEST_F(AuditTrailTest, WhatTheAdminDoesIsNeverLeftOut) {
  Audit revoked = of(AuditKind::kRevoked, 0, "x");
  revoked.admin = true;
  for (std::size_t i = 0; i < limits::kAuditShare + 10; ++i) add(revoked);
  EXPECT_EQ(all().size(), limits::kAuditShare + 10);
}

TEST_F(AuditTrailTest, TheEndTellsWhatWasCounted) {
  add(of(AuditKind::kRefused, 7, "x"));
  add(of(AuditKind::kRefused, 7, "x"));
  trail_.flush_all();
  EXPECT_EQ(all().size(), 2u);
}

TEST_F(AuditTrailTest, PagesOfIt) {
  for (int i = 0; i < 10; ++i) add(of(AuditKind::kAcquired, 7, "x" + std::to_string(i)));
  auto page = trail_.read(0, 0, 4, 1u << 20);
  EXPECT_EQ(page.records.size(), 4u);
  EXPECT_EQ(page.last, 4u);
  EXPECT_TRUE(page.more);
  EXPECT_EQ(page.lost, 0u);
  page = trail_.read(page.last, 0, 0, page.records[0].size() * 2 + 1);
  EXPECT_EQ(page.records.size(), 2u);
  EXPECT_EQ(page.last, 6u);
  EXPECT_TRUE(page.more);
  page = trail_.read(6, 0, 0, 1);
  EXPECT_EQ(page.records.size(), 1u) << "one always fits";
  page = trail_.read(7, 0, 0, 1u << 20);
  EXPECT_EQ(page.records.size(), 3u);
  EXPECT_FALSE(page.more);
  page = trail_.read(10, 0, 0, 1u << 20);
  EXPECT_TRUE(page.records.empty());
  EXPECT_EQ(page.last, 10u);
  EXPECT_TRUE(trail_.read(0, UINT64_MAX, 0, 1u << 20).records.empty()) << "all are older";
  EXPECT_TRUE(trail_.read(UINT64_MAX, 0, 0, 1u << 20).records.empty());
}

TEST_F(AuditTrailTest, TheRingIsBoundedAndSaysWhatItLost) {
  Audit revoked = of(AuditKind::kRevoked, 0, "x");
  revoked.admin = true;
  for (std::size_t i = 0; i < limits::kAuditRecords + 100; ++i) add(revoked);
  const auto page = trail_.read(0, 0, 10, 1u << 20);
  EXPECT_EQ(page.lost, 100u);
  EXPECT_EQ(page.last, 110u);
  EXPECT_EQ(trail_.read(50, 0, 1, 1u << 20).lost, 50u);
  EXPECT_EQ(trail_.read(100, 0, 1, 1u << 20).lost, 0u);
  revoked.reason = std::string(1u << 20, 'r');
  for (int i = 0; i < 100; ++i) add(revoked);
  EXPECT_LE(all().size(), limits::kAuditBytes >> 20);
}

TEST(AuditRecord, JsonIsOneLineAndTellsAll) {
  Audit audit = of(AuditKind::kQuota, 1001, "a \"name\"\n\xff");
  audit.exported = core::ExportId{77};
  audit.generation = 3;
  audit.status = HB_QUOTA;
  audit.verb = "acquire";
  audit.what = "leases";
  audit.used = 10;
  audit.limit = 10;
  audit.who = "uid 1001";
  audit.reason = "limit of leases reached";
  const observe::AuditRecord record(5, 1'700'000'000'123'456'789, audit);
  EXPECT_EQ(record.line(),
            "{\"number\":5,\"time\":\"2023-11-14T22:13:20.123456Z\",\"event\":\"quota\",\"scope\":\"main\","
            "\"uid\":1001,\"pid\":42,\"command\":\"python3\",\"export\":{\"id\":77,\"name\":\"a "
            "\\\"name\\\"\\u000a\xef\xbf\xbd\",\"owner_uid\":5,\"generation\":3},\"verb\":\"acquire\",\"status\":"
            "\"HB_QUOTA\",\"reason\":\"limit of leases reached\",\"what\":\"leases\",\"used\":10,\"limit\":10,"
            "\"who\":\"uid 1001\",\"count\":1}");
}

TEST(AuditRecord, AnUnknownPidIsNotZero) {
  Audit audit = of(AuditKind::kReleased, 1001, "x");
  audit.process = std::make_shared<const core::ProcessInfo>();
  audit.held_ns = 1'500'000'000;
  const observe::AuditRecord record(1, 0, audit);
  EXPECT_NE(record.line().find("\"pid\":null"), std::string::npos);
  EXPECT_NE(record.line().find("\"held_s\":1.500000"), std::string::npos);
  const auto fields = record.fields();
  for (const std::string& field : fields) EXPECT_NE(field.rfind("HIPBROKER_PID=", 0), 0u);
}

TEST(AuditRecord, EveryKindHasItsNameAndMessageId) {
  std::vector<std::string> ids;
  for (int kind = 0; kind <= static_cast<int>(AuditKind::kLeftOut); ++kind) {
    const auto fields = observe::AuditRecord(1, 0, of(static_cast<AuditKind>(kind), 1)).fields();
    for (const std::string& field : fields)
      if (field.rfind("MESSAGE_ID=", 0) == 0) ids.push_back(field);
  }
  ASSERT_EQ(ids.size(), 10u);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
  for (const std::string& id : ids) EXPECT_EQ(id.size(), 11u + 32u);
}

TEST(Json, WhatIsNoUtf8IsReplaced) {
  EXPECT_EQ(observe::json_string("a\x80z"), "\"a\xef\xbf\xbdz\"");
  EXPECT_EQ(observe::json_string("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");          // overlong
  EXPECT_EQ(observe::json_string("\xed\xa0\x80").size(), 2u + 9u);                       // a surrogate
  EXPECT_EQ(observe::json_string("\xf0\x9f\x98\x80"), "\"\xf0\x9f\x98\x80\"");           // one of four bytes
  EXPECT_EQ(observe::json_string("\xf4\x90\x80\x80").size(), 2u + 12u);                  // beyond the last
  EXPECT_EQ(observe::json_string("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");           // cut off
  EXPECT_EQ(observe::json_string(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\\u007f\"");
}

}  // namespace
}  // namespace hb::test
