// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Exports, acquires and their ends, with the daemon killed at each step.
#include "integration/restart_crash.h"

namespace hb::test {

TEST_P(Crash, AtEveryStep) {
  for (const std::string_view point :
       {"received", "applied", "parking", "parked", "recorded", "unparked", "carried-out"}) {
    for (int number = 1; number <= 8; ++number) {
      SCOPED_TRACE(std::string(point) + " " + std::to_string(number));
      const bool died = run(point, number);
      expect_alone();
      if (HasFailure() || !died) break;
    }
    if (HasFailure()) break;
  }
}

namespace {

const Case kCases[] = {
    {"Export", false,
     [](World& w) { return frame(FrameType::kExport, export_of("new", 2, kPage), borrow(w.fds)); },
     [](World& w, const std::string& body) {
       const auto made = parsed<pb::ExportReply>(body);
       EXPECT_TRUE(made.complete());
       EXPECT_EQ(count_of(w, "new"), 1u);
       const auto lease = w.consumer.acquire(made.key());
       ASSERT_EQ(lease.fds.size(), 2u) << lease.error.message();
       EXPECT_EQ(pattern_error(lease.fds[1].get(), 0, kPage, 71), "");
     }},
    {"ExportChunks", false,
     [](World& w) {
       pb::ExportChunks more;
       more.set_export_id(w.half);
       more.set_first(1);
       more.add_chunks()->set_handle(1);
       more.mutable_chunks(0)->set_size(kPage);
       return frame(FrameType::kExportChunks, more, {w.fds[1].get()});
     },
     [](World& w, const std::string& body) {
       const auto made = parsed<pb::ExportReply>(body);
       EXPECT_TRUE(made.complete());
       const auto lease = w.consumer.acquire(made.key());
       ASSERT_EQ(lease.fds.size(), 2u) << lease.error.message();
       EXPECT_EQ(pattern_error(lease.fds[0].get(), 0, kPage, 70), "");
       EXPECT_EQ(pattern_error(lease.fds[1].get(), 0, kPage, 71), "");
     }},
    {"ExportAbort", false,
     [](World& w) {
       pb::ExportAbort abort;
       abort.set_export_id(w.half);
       return one_way(FrameType::kExportAbort, abort);
     },
     [](World& w, const std::string&) {
       EXPECT_EQ(w.owner.export_fds("half", borrow(w.fds)).status, HB_OK) << "its name is still taken";
     }},
    {"Acquire", true,
     [](World& w) {
       pb::Acquire acquire;
       acquire.mutable_target()->set_key(w.kv.key());
       acquire.set_access(1);
       acquire.set_max_handles(16);
       return frame(FrameType::kAcquire, acquire);
     },
     [](World& w, const std::string& body) {
       EXPECT_NE(parsed<pb::AcquireReply>(body).lease_id(), w.lease);
       EXPECT_EQ(holders_of(w).size(), 2u);
     }},
    {"Release", true,
     [](World& w) {
       pb::Release release;
       release.set_lease_id(w.lease);
       return one_way(FrameType::kRelease, release);
     },
     [](World& w, const std::string&) { EXPECT_EQ(holders_of(w).size(), 0u); }},
    {"AckStep", true,
     [](World& w) {
       pb::AckStep ack;
       ack.set_lease_id(w.lease);
       ack.set_step(1);
       return one_way(FrameType::kAckStep, ack);
     },
     [](World& w, const std::string&) {
       const auto held = holders_of(w);
       ASSERT_EQ(held.size(), 1u);
       EXPECT_EQ(held[0].acked_step(), 1u);
     }},
    {"Withdraw", false,
     [](World& w) {
       pb::Withdraw withdraw;
       withdraw.mutable_target()->set_export_id(w.kv.export_id());
       return frame(FrameType::kWithdraw, withdraw);
     },
     [](World& w, const std::string& body) {
       EXPECT_EQ(parsed<pb::WithdrawReply>(body).withdrawn(), 1u);
       EXPECT_EQ(w.consumer.acquire(w.kv.key()).status, HB_GONE);
     }},
    {"Revoke", false,
     [](World& w) {
       pb::Revoke revoke;
       revoke.mutable_target()->set_export_id(w.kv.export_id());
       return frame(FrameType::kRevoke, revoke);
     },
     [](World& w, const std::string&) { EXPECT_EQ(w.consumer.acquire(w.kv.key()).status, HB_REVOKED); }},
    {"Suspend", false,
     [](World& w) {
       pb::Suspend suspend;
       suspend.set_export_id(w.kv.export_id());
       return frame(FrameType::kSuspend, suspend);
     },
     [](World& w, const std::string&) {
       EXPECT_EQ(info_of(w).state(), 4u);
       EXPECT_EQ(info_of(w).layout_version(), 2u);
     }},
    {"Replace", false,
     [](World& w) {
       pb::Change change;
       change.set_export_id(w.kv.export_id());
       change.set_kind(pb::Change::REPLACE);
       change.set_first(1);
       change.set_total_chunks(1);
       change.set_total_size(kPage);
       change.set_distinct_handles(1);
       change.add_chunks()->set_handle(1);
       change.mutable_chunks(0)->set_size(kPage);
       // The first chunk's own memory: a duplicate is no descriptor more.
       const auto again = w.consumer.acquire(w.kv.key());
       w.fds[0] = again.fds.at(0).duplicate();
       w.consumer.release(again.reply.lease_id());
       return frame(FrameType::kChange, change, {w.fds[0].get()});
     },
     [](World& w, const std::string&) {
       EXPECT_EQ(info_of(w).layout_version(), 2u);
       const auto now = w.consumer.acquire(w.kv.key());
       ASSERT_EQ(now.fds.size(), 1u) << now.error.message();
       EXPECT_EQ(pattern_error(now.fds[0].get(), 0, kPage, 10), "");
       EXPECT_EQ(w.owner.withdraw_id(w.kv.export_id()).status, HB_OK);
     }},
    {"MakeTicket", false,
     [](World& w) {
       pb::MakeTicket ticket;
       ticket.set_export_id(w.kv.export_id());
       ticket.set_access(1);
       ticket.set_ttl_ns(60'000'000'000);
       return frame(FrameType::kMakeTicket, ticket);
     },
     [](World& w, const std::string& body) {
       EXPECT_EQ(info_of(w).tickets(), 1u);
       EXPECT_EQ(w.consumer.acquire(parsed<pb::MakeTicketReply>(body).ticket()).status, HB_OK);
       EXPECT_EQ(info_of(w).tickets(), 0u);
     }},
    {"DropTicket", false,
     [](World& w) {
       pb::MakeTicket ticket;
       ticket.set_export_id(w.kv.export_id());
       ticket.set_access(1);
       ticket.set_ttl_ns(60'000'000'000);
       pb::DropTicket drop;
       drop.set_ticket(w.owner.call<pb::MakeTicketReply>(FrameType::kMakeTicket, ticket).reply.ticket());
       return frame(FrameType::kDropTicket, drop);
     },
     [](World& w, const std::string&) { EXPECT_EQ(info_of(w).tickets(), 0u); }},
    {"Publish", false,
     [](World& w) {
       pb::Publish publish;
       publish.set_export_id(w.kv.export_id());
       publish.set_step(2);
       return frame(FrameType::kPublish, publish);
     },
     [](World& w, const std::string&) { EXPECT_EQ(info_of(w).step(), 2u); }},
};
INSTANTIATE_TEST_SUITE_P(Verbs, Crash, testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

// The start itself ends before anybody is told: the next one finds what that one found.
class CrashAtStart : public RestartTest {
 protected:
  CrashAtStart() : RestartTest(crashing()) {}
  static const std::string& crash_file() {
    static const TempDir* const dir = new TempDir;
    static const std::string file = *dir / "crash";
    return file;
  }
  static DaemonOptions crashing() {
    DaemonOptions options = stored();
    options.program = crashing_daemon_program();
    options.process.env = {{"HB_CRASH_FILE", crash_file()}};
    options.args = {"--sandbox", "off"};
    return options;
  }
};

TEST_F(CrashAtStart, LosesNothing) {
  RawPeer owner = resuming();
  const auto made = shared(owner, "kv", 4, 10);
  daemon().kill9();
  write_file(crash_file(), "taken-over 1");
  EXPECT_THROW(daemon().start(), std::runtime_error);
  std::filesystem::remove(crash_file());
  daemon().start();
  EXPECT_EQ(resumed(owner).restarts(), 2u);
  EXPECT_EQ(wrong_bytes(owner, made.key(), 10), "");
}

}  // namespace
}  // namespace hb::test
