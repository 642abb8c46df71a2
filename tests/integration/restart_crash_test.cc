// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The daemon ends between any two steps of any verb that changes something. Its client sends again what was not
// answered, and then everything is as if it had happened once.
#include <filesystem>
#include <functional>

#include "integration/restart_fixture.h"

namespace hb::test {
namespace {

struct Frame {
  FrameType type{};
  std::string body;
  std::vector<int> fds;
  bool one_way = false;
};

template <class Message>
Frame frame(FrameType type, const Message& message, std::vector<int> fds = {}) {
  return {type, message.SerializeAsString(), std::move(fds)};
}
template <class Message>
Frame one_way(FrameType type, const Message& message) {
  return {type, message.SerializeAsString(), {}, true};
}

// An owner with an export of two chunks, a consumer with a lease on it.
struct World {
  World(RawPeer with_owner, RawPeer with_consumer)
      : owner(std::move(with_owner)), consumer(std::move(with_consumer)) {}
  RawPeer owner;
  RawPeer consumer;
  pb::ExportReply kv;
  std::uint64_t lease = 0;
  std::vector<UniqueFd> fds;  // for what a verb sends
  std::string ticket;
  std::uint64_t half = 0;  // an export of two pages, of which one came
};

struct Case {
  const char* name;
  bool by_consumer;
  std::function<Frame(World&)> send;
  // What it came to; `body` of the answer, empty for one without.
  std::function<void(World&, const std::string& body)> check;
};
std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }

template <class Message>
Message parsed(const std::string& body) {
  Message message;
  EXPECT_TRUE(message.ParseFromString(body));
  return message;
}

class Crash : public RestartTest, public testing::WithParamInterface<Case> {
 protected:
  Crash() : RestartTest(crashing()) {}
  static const std::string& crash_file() {
    static const TempDir* const dir = new TempDir;
    static const std::string file = *dir / "crash";
    return file;
  }
  static DaemonOptions crashing() {
    DaemonOptions options = stored();
    options.program = crashing_daemon_program();
    options.process.env = {{"HB_CRASH_FILE", crash_file()}};
    options.args = {"--sandbox", "off"};  // it reads that file
    return options;
  }

  World world() {
    World made(resuming(), resuming());
    made.kv = shared(made.owner, "kv", 2, 10);
    const auto lease = made.consumer.acquire(made.kv.key());
    EXPECT_EQ(lease.status, HB_OK);
    made.lease = lease.reply.lease_id();
    made.fds = objects(2, 70);
    pb::Publish first;
    first.set_export_id(made.kv.export_id());
    first.set_step(1);
    EXPECT_EQ(made.owner.call<pb::PublishReply>(FrameType::kPublish, first).status, HB_OK);
    pb::MakeTicket ticket;
    ticket.set_export_id(made.kv.export_id());
    ticket.set_access(1);
    ticket.set_ttl_ns(60'000'000'000);
    made.ticket = made.owner.call<pb::MakeTicketReply>(FrameType::kMakeTicket, ticket).reply.ticket();
    pb::Export half = export_of("half", 2, kPage);
    half.mutable_chunks()->RemoveLast();
    const auto sent =
        made.owner.call<pb::ExportReply>(FrameType::kExport, half, {made.fds[0].get()});
    EXPECT_EQ(sent.status, HB_OK) << sent.error.message();
    made.half = sent.reply.export_id();
    return made;
  }

  void expect_alone() {
    EXPECT_TRUE(poll_until([&] { return status().sessions() == 1; }));
    EXPECT_EQ(status().exports(), 0u);
  }

  // One request, with the daemon's end at the `number`-th passing of a point. False: it was not passed.
  bool run(std::string_view point, int number) {
    World made = world();
    RawPeer& sender = GetParam().by_consumer ? made.consumer : made.owner;
    Frame sent = GetParam().send(made);
    write_file(crash_file(), std::string(point) + " " + std::to_string(number));
    const std::uint64_t id = sent.one_way ? 0 : sender.next_id();
    const FrameHeader header{sent.type, 0, static_cast<std::uint16_t>(sent.fds.size()), id};
    EXPECT_TRUE(sender.send_frame(header, sent.body, sent.fds));
    // What a session does after it is answered after it.
    const std::uint64_t ping = sender.send(FrameType::kPing, pb::Ping());
    const pid_t pid = daemon().pid();
    std::string body;
    bool answered = sent.one_way;
    bool ponged = false;
    const auto take = [&](const RawFrame& came) {
      if (came.outcome != ReceiveOutcome::kPacket) return;
      EXPECT_NE(came.header.type, FrameType::kError) << parsed<pb::Error>(came.body).message();
      if (came.header.request_id == id && id != 0) {
        answered = true;
        body = came.body;
      }
      ponged = ponged || came.header.request_id == ping;
    };
    EXPECT_TRUE(poll_until([&] {
      if (wait_readable(sender.fd(), 0)) take(sender.receive(0));
      return process_state(pid) == 'Z' || (answered && ponged);
    }));
    const bool died = process_state(pid) == 'Z';
    std::filesystem::remove(crash_file());
    if (died) {
      EXPECT_TRUE(daemon().process().wait());
      while (wait_readable(sender.fd(), 0)) take(sender.receive(0));
      daemon().start();
      resumed(sender);
      if (!answered) {
        EXPECT_TRUE(sender.send_frame(header, sent.body, sent.fds));
      }
      if (!ponged) sender.send_frame({FrameType::kPing, 0, 0, ping}, "");
      while (!(answered && ponged)) {
        const RawFrame came = sender.receive();
        if (came.outcome != ReceiveOutcome::kPacket) {
          ADD_FAILURE() << "the session ended, or nothing came";
          break;
        }
        take(came);
      }
    }
    GetParam().check(made, body);
    EXPECT_EQ(wrong_bytes_of_what_is_left(made), "");
    const pb::StatusReply after = status();
    EXPECT_TRUE(after.restart_safe()) << after.restart_reason();
    return died;
  }

  static std::string wrong_bytes_of_what_is_left(World& made) {
    const pb::ListReply list = made.owner.list().reply;
    for (const pb::ExportInfo& info : list.exports()) {
      if (info.export_id() == made.kv.export_id() && info.state() == 1)
        return wrong_bytes(made.consumer, made.kv.key(), 10);
    }
    return {};
  }
};

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

std::size_t count_of(World& made, const std::string& name) {
  const auto list = made.owner.list(name).reply;
  return static_cast<std::size_t>(list.exports_size());
}
pb::ExportInfo info_of(World& made) {
  pb::Show question;
  question.mutable_target()->set_export_id(made.kv.export_id());
  return made.owner.call<pb::ShowReply>(FrameType::kShow, question).reply.info();
}
std::vector<pb::Holder> holders_of(World& made) {
  pb::Who question;
  question.mutable_target()->set_export_id(made.kv.export_id());
  const auto answer = made.owner.call<pb::WhoReply>(FrameType::kWho, question).reply;
  return {answer.holders().begin(), answer.holders().end()};
}

const Case kCases[] = {
    {"Export", false, [](World& w) { return frame(FrameType::kExport, export_of("new", 2, kPage), borrow(w.fds)); },
     [](World& w, const std::string& body) {
       const auto made = parsed<pb::ExportReply>(body);
       EXPECT_TRUE(made.complete());
       EXPECT_EQ(made.generation(), 1u);
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
       EXPECT_EQ(info_of(w).tickets(), 2u);
       EXPECT_EQ(w.consumer.acquire(parsed<pb::MakeTicketReply>(body).ticket()).status, HB_OK);
       EXPECT_EQ(info_of(w).tickets(), 1u);
     }},
    {"DropTicket", false,
     [](World& w) {
       pb::DropTicket drop;
       drop.set_ticket(w.ticket);
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
INSTANTIATE_TEST_SUITE_P(Verbs, Crash, testing::ValuesIn(kCases), [](const auto& one) { return std::string(one.param.name); });

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
