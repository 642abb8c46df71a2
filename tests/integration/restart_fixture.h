// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A daemon that a service manager starts again with all that it stored, and raw sessions that go on with it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/fake_service_manager.h"
#include "support/fixture.h"
#include "support/memfd.h"

namespace hb::test {

class RestartTest : public DaemonTest {
 protected:
  explicit RestartTest(DaemonOptions options = stored()) : DaemonTest(std::move(options)) {}

  static DaemonOptions stored() {
    DaemonOptions options;
    options.store = true;
    options.activated = true;
    options.policy = "[[rule]]\nallow = \"all\"\n";
    return options;
  }

  RawPeer resuming() {
    RawPeer peer(daemon().socket());
    const auto answer = peer.hello({"resume"});
    EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
    EXPECT_EQ(answer.reply.features_size(), 1) << daemon().log();
    return peer;
  }
  // Of a session that goes on: what it is told before anything else.
  static pb::Resumed resumed(RawPeer& peer) {
    pb::Resumed told;
    for (;;) {
      const RawFrame frame = peer.receive();
      EXPECT_EQ(frame.outcome, ReceiveOutcome::kPacket) << "the session ended, or nothing came";
      if (frame.outcome != ReceiveOutcome::kPacket) return told;
      if (frame.header.type != FrameType::kResumed) continue;
      EXPECT_TRUE(told.ParseFromString(frame.body));
      return told;
    }
  }
  // `objects` numbered from `first` on, as one export.
  static std::vector<UniqueFd> objects(std::size_t count, std::uint64_t first) {
    std::vector<UniqueFd> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(sealed_memfd(kPage, first + i));
    return out;
  }
  static pb::ExportReply shared(RawPeer& owner, const std::string& name, std::size_t count, std::uint64_t first,
                                std::uint32_t lifetime = 0, const std::vector<pb::AclEntry>& acl = {}) {
    const std::vector<UniqueFd> fds = objects(count, first);
    pb::Export body = export_of(name, count, kPage);
    body.set_lifetime(lifetime);
    if (lifetime == 1) body.set_linger_ns(60'000'000'000);
    for (const pb::AclEntry& entry : acl) *body.add_acl() = entry;
    const auto answer = owner.call<pb::ExportReply>(FrameType::kExport, body, borrow(fds));
    EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
    return answer.reply;
  }
  // Its memory as a reader gets it; empty where it is right.
  static std::string wrong_bytes(RawPeer& reader, const std::string& key, std::uint64_t first) {
    const auto lease = reader.acquire(key);
    if (lease.status != HB_OK) return lease.error.message();
    std::string wrong;
    for (std::size_t i = 0; i < lease.fds.size(); ++i)
      wrong += pattern_error(lease.fds[i].get(), 0, kPage, first + i);
    reader.release(lease.reply.lease_id());
    return wrong;
  }
  pb::StatusReply status() {
    RawPeer admin = admin_peer();
    return admin.status().reply;
  }
  static pb::ExportInfo shown(RawPeer& peer, std::uint64_t id) {
    pb::Show question;
    question.mutable_target()->set_export_id(id);
    const auto answer = peer.call<pb::ShowReply>(FrameType::kShow, question);
    EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
    return answer.reply.info();
  }
  static std::vector<pb::Holder> holders(RawPeer& peer, std::uint64_t id) {
    pb::Who question;
    question.mutable_target()->set_export_id(id);
    const auto answer = peer.call<pb::WhoReply>(FrameType::kWho, question);
    EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
    return {answer.reply.holders().begin(), answer.reply.holders().end()};
  }
};

}  // namespace hb::test
