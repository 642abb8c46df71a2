// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A client whose daemon goes away and comes back, with the answers of one that knows what a restart is.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <future>
#include <optional>
#include <string>

#include "fake_peer.h"
#include "hipbroker/hipbroker.hpp"
#include "support/memfd.h"
#include "support/temp_dir.h"
#include "support/wait.h"
#include "wire/key.h"

namespace hb::test {

class AwayDaemon : public testing::Test {
 protected:
  AwayDaemon() : path_(dir_ / "broker.sock") {
    listener_.emplace(path_);
    auto opened = std::async(std::launch::async, [&] { client_.emplace(path_); });
    peer_.emplace(listener_->accept());
    peer_->answer_hello();
    opened.get();
  }

  void lose() {
    peer_.reset();
    listener_.reset();
    ::unlink(path_.c_str());
  }
  void come_back() { listener_.emplace(path_); }
  void greet() {
    peer_.emplace(listener_->accept());
    peer_->answer_hello();
  }
  void lose_and_come_back() {
    lose();
    come_back();
  }

  // What the call threw, in the background.
  struct Outcome {
    hb_status status = HB_OK;
    std::string message;
  };
  std::future<Outcome> start(std::function<void()> call) {
    return std::async(std::launch::async, [call = std::move(call)]() -> Outcome {
      try {
        call();
      } catch (const hipbroker::Error& error) {
        return {error.status(), error.what()};
      }
      return {};
    });
  }
  std::future<Outcome> ping() {
    return start([this] { client_->ping(); });
  }
  void answer_ping() { peer_->reply(peer_->expect(FrameType::kPing), pb::PingReply()); }
  // A call that meets the daemon anew and all there is to do.
  void expect_only_ping() {
    auto pinged = ping();
    answer_ping();
    EXPECT_EQ(pinged.get().status, HB_OK);
  }

  // The key as the daemon makes it, of all of an export.
  static std::string key_of(std::uint64_t id, std::uint64_t bytes) {
    KeyFields fields;
    fields.broker.fill(static_cast<decltype(fields.broker)::value_type>('b'));
    fields.export_id = id;
    fields.generation = 1;
    fields.length = bytes;
    Secret secret;
    std::memset(secret.data(), 's', secret.size());
    const KeyBytes key = encode_key(fields, secret);
    return std::string(reinterpret_cast<const char*>(key.data()), key.size());
  }
  static pb::ExportReply exported(std::uint64_t id, std::uint64_t bytes, std::uint64_t version,
                                  char token = 't') {
    pb::ExportReply reply;
    reply.set_export_id(id);
    reply.set_generation(1);
    reply.set_layout_version(version);
    reply.set_complete(true);
    reply.set_received_chunks(1);
    reply.set_key(key_of(id, bytes));
    reply.set_secret(std::string(16, 's'));
    reply.set_size(bytes);
    reply.set_access(3);
    if (token != '\0') reply.set_token(std::string(16, token));
    return reply;
  }
  // It is known, and its chunks are wanted.
  static pb::ExportReply wanted(std::uint64_t id, std::uint64_t bytes, std::uint64_t version, char token) {
    pb::ExportReply reply = exported(id, bytes, version, token);
    reply.set_complete(false);
    reply.set_received_chunks(0);
    return reply;
  }
  hipbroker::Export make(const std::function<hipbroker::Export()>& call, const pb::ExportReply& reply) {
    auto made = std::async(std::launch::async, call);
    peer_->reply(peer_->expect(FrameType::kExport), reply);
    return made.get();
  }
  hipbroker::Export export_memory(const hipbroker::Memory& memory,
                                  const hipbroker::ExportOptions& options = {}, char token = 't') {
    return make([&] { return client_->export_memory(memory, options); },
                exported(3, memory.size(), 1, token));
  }

  PeerFrame expect_reoffer(pb::Reoffer& out) {
    PeerFrame frame = peer_->expect(FrameType::kReoffer);
    EXPECT_TRUE(out.ParseFromString(frame.body));
    return frame;
  }
  PeerFrame expect_resume(pb::Change& out) {
    PeerFrame frame = peer_->expect(FrameType::kChange);
    EXPECT_TRUE(out.ParseFromString(frame.body));
    EXPECT_EQ(out.kind(), pb::Change::RESUME);
    return frame;
  }
  void refuse(const PeerFrame& request, hb_status status, const std::string& message) {
    pb::Error error;
    error.set_status(status);
    error.set_message(message);
    peer_->refuse(request, error);
  }

  TempDir dir_;
  std::string path_;
  std::optional<FakeListener> listener_;
  std::optional<FakePeer> peer_;
  std::optional<hipbroker::Client> client_;
};

}  // namespace hb::test
