// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The daemon ends between any two steps of a request. Its client sends again what was not answered, and then
// everything is as if it had happened once.
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "integration/restart_fixture.h"

namespace hb::test {

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
  std::uint64_t half = 0;     // an export of two pages, of which one came
};

struct Case {
  const char* name;
  bool by_consumer;
  std::function<Frame(World&)> send;
  // What it came to; `body` of the answer, empty for one without.
  std::function<void(World&, const std::string& body)> check;
};
inline std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }

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
    pb::Export half = export_of("half", 2, kPage);
    half.mutable_chunks()->RemoveLast();
    const auto sent = made.owner.call<pb::ExportReply>(FrameType::kExport, half, {made.fds[0].get()});
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

inline std::size_t count_of(World& made, const std::string& name) {
  const auto list = made.owner.list(name).reply;
  return static_cast<std::size_t>(list.exports_size());
}
inline pb::ExportInfo info_of(World& made) {
  pb::Show question;
  question.mutable_target()->set_export_id(made.kv.export_id());
  return made.owner.call<pb::ShowReply>(FrameType::kShow, question).reply.info();
}
inline std::vector<pb::Holder> holders_of(World& made) {
  pb::Who question;
  question.mutable_target()->set_export_id(made.kv.export_id());
  const auto answer = made.owner.call<pb::WhoReply>(FrameType::kWho, question).reply;
  return {answer.holders().begin(), answer.holders().end()};
}

}  // namespace hb::test
