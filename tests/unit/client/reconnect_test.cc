// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A daemon that goes away and comes back, and one that was never there.
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <optional>

#include "fake_peer.h"
#include "hipbroker/hipbroker.hpp"
#include "support/memfd.h"
#include "support/temp_dir.h"
#include "support/wait.h"

namespace hb::test {
namespace {

class AClient : public testing::Test {
 protected:
  AClient() : path_(dir_ / "broker.sock") {}
  void open() {
    listener_.emplace(path_);
    auto opened = std::async(std::launch::async, [&] { client_.emplace(path_); });
    peer_.emplace(listener_->accept());
    peer_->answer_hello();
    opened.get();
  }
  void lose_daemon() {
    peer_.reset();
    listener_.reset();
    ::unlink(path_.c_str());
  }
  hipbroker::Export export_page(hipbroker::Memory& memory) {
    memory = client_->allocate(kPage);
    auto made = std::async(std::launch::async, [&] { return client_->export_memory(memory); });
    const PeerFrame request = peer_->expect(FrameType::kExport);
    pb::ExportReply reply;
    reply.set_export_id(3);
    reply.set_generation(1);
    reply.set_complete(true);
    std::string key(64, '\0');
    key[0] = 1;
    key[20] = 3;         // export id
    key[28] = 1;         // generation
    key[40 + 1] = 0x10;  // length 4096
    reply.set_key(key);
    reply.set_secret(std::string(16, 's'));
    peer_->reply(request, reply);
    return made.get();
  }

  TempDir dir_;
  std::string path_;
  std::optional<FakeListener> listener_;
  std::optional<FakePeer> peer_;
  std::optional<hipbroker::Client> client_;
};

hb_status status_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const hipbroker::Error& error) {
    return error.status();
  }
  return HB_OK;
}

TEST_F(AClient, NeverConnectedDoesNotWait) {
  // Without a deadline: waiting would hang here.
  EXPECT_EQ(status_of([&] { hipbroker::Client client(path_); }), HB_NO_DAEMON);
}

// It was started again between the connect and the hello.
TEST_F(AClient, OpensThoughTheFirstConnectionWasCut) {
  listener_.emplace(path_);
  auto opened = std::async(std::launch::async, [&] { client_.emplace(path_); });
  static_cast<void>(listener_->accept());
  peer_.emplace(listener_->accept());
  peer_->answer_hello();
  opened.get();
  EXPECT_EQ(client_->stats().reconnects, 0u);
}

TEST_F(AClient, ADaemonThatAlwaysHangsUpIsNotAskedForEver) {
  listener_.emplace(path_);
  auto opened =
      std::async(std::launch::async, [&] { return status_of([&] { hipbroker::Client client(path_); }); });
  for (int i = 0; i < 4; ++i) static_cast<void>(listener_->accept());
  EXPECT_EQ(opened.get(), HB_CLOSED);
}

TEST_F(AClient, ConnectsAgainAtItsNextCall) {
  open();
  lose_daemon();
  auto ping = std::async(std::launch::async, [&] { return status_of([&] { client_->ping(); }); });
  // It waits: nothing is there yet.
  listener_.emplace(path_);
  peer_.emplace(listener_->accept());
  peer_->answer_hello();
  peer_->reply(peer_->expect(FrameType::kPing), pb::PingReply());
  EXPECT_EQ(ping.get(), HB_OK);
  EXPECT_EQ(client_->stats().reconnects, 1u);
}

TEST_F(AClient, GivesUpAtTheDeadline) {
  open();
  lose_daemon();
  EXPECT_EQ(status_of([&] { client_->ping(std::chrono::milliseconds(30)); }), HB_NO_DAEMON);
  EXPECT_EQ(client_->stats().refusals[-HB_NO_DAEMON], 1u);
}

TEST_F(AClient, ExportsOfALostSessionAreGone) {
  open();
  hipbroker::Memory memory;
  hipbroker::Export exported = export_page(memory);
  lose_daemon();
  EXPECT_EQ(status_of([&] { exported.withdraw(std::chrono::milliseconds(20)); }), HB_GONE);
  // Over a range there is nothing left to withdraw.
  EXPECT_EQ(client_->withdraw(memory.data(), kPage).exports, 0u);
}

TEST_F(AClient, AliasIsTheOwnersPointerAsLongAsTheExportLives) {
  open();
  hipbroker::Memory memory;
  hipbroker::Export exported = export_page(memory);
  hipbroker::ImportOptions options;
  options.alias = true;
  // The key's MAC is not one the library would make: a forged key is no way to a pointer.
  EXPECT_EQ(status_of([&] { client_->import(exported.key(), options); }), HB_NOT_FOUND);
  const hipbroker::Import part = client_->import(exported.subkey(16, 32), options);
  EXPECT_EQ(part.data(), static_cast<char*>(memory.data()) + 16);
  EXPECT_EQ(part.size(), 32u);
  EXPECT_TRUE(part.is_current());
  memory = hipbroker::Memory();
  static_cast<char*>(part.data())[0] = 1;  // kept alive by the alias
  auto ended = std::async(std::launch::async, [&] { return exported.withdraw(); });
  pb::WithdrawReply reply;
  reply.set_withdrawn(1);
  peer_->reply(peer_->expect(FrameType::kWithdraw), reply);
  EXPECT_EQ(ended.get().exports, 1u);
  EXPECT_FALSE(part.is_current());
}

TEST_F(AClient, AliasNeedsTheExporterInThisProcess) {
  open();
  hb_key key{};
  key.bytes[0] = 1;
  hipbroker::ImportOptions options;
  options.alias = true;
  EXPECT_EQ(status_of([&] { client_->import(hipbroker::Key(key), options); }), HB_INVALID);
}

TEST_F(AClient, ImportsOfALostSessionAreNotCurrentAndStayMapped) {
  open();
  const UniqueFd object = sealed_memfd(kPage, 5);
  auto importing = std::async(std::launch::async, [&] { return client_->import("x"); });
  peer_->answer_share_page(1);
  peer_->reply(peer_->expect(FrameType::kAcquire), one_chunk_grant(4, kPage), {object.get()});
  const hipbroker::Import imported = importing.get();
  EXPECT_TRUE(imported.is_current());
  EXPECT_EQ(client_->import("x").data(), imported.data());
  EXPECT_EQ(client_->stats().cache_hits, 1u);
  // A second export of imported memory is refused before the daemon hears of it.
  EXPECT_EQ(status_of([&] { client_->export_memory(imported.data(), 10); }), HB_NOT_SHAREABLE);
  lose_daemon();
  EXPECT_EQ(status_of([&] { client_->ping(std::chrono::milliseconds(10)); }), HB_NO_DAEMON);
  EXPECT_FALSE(imported.is_current());
  EXPECT_EQ(pattern_error(imported.data(), kPage, 5), "");
}

TEST_F(AClient, AFailedMapGivesTheLeaseBack) {
  open();
  const UniqueFd loose = plain_memfd(kPage);
  auto importing = std::async(std::launch::async, [&] { return status_of([&] { client_->import("x"); }); });
  peer_->answer_share_page(1);
  peer_->reply(peer_->expect(FrameType::kAcquire), one_chunk_grant(4, kPage), {loose.get()});
  EXPECT_EQ(importing.get(), HB_BAD_HANDLE);
  peer_->expect(FrameType::kRelease);
  EXPECT_EQ(client_->stats().mapped_bytes, 0u);
}

}  // namespace
}  // namespace hb::test
