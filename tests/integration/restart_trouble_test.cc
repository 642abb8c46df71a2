// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A restart that does not find all it left: something is lost, foreign, damaged, or was never kept. The daemon
// starts, says so, and serves.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "integration/restart_fixture.h"
#include "support/role.h"

namespace hb::test {
namespace {

using testing::HasSubstr;

class Trouble : public RestartTest {};

// B07: PID 1 hands over in any order; here one queue of two is gone as well.
TEST_F(Trouble, B07_ShuffledAndOneLost) {
  RawPeer owner = resuming();
  const auto first = shared(owner, "first", 200, 1000);
  const auto second = shared(owner, "second", 200, 3000);
  for (const std::string& message : daemon().manager().messages()) {
    if (message.find("FDSTORE=1") != std::string::npos) {
      EXPECT_THAT(message, HasSubstr("FDPOLL=0"));
    }
  }
  EXPECT_EQ(daemon().manager().violations(), std::vector<std::string>());
  EXPECT_EQ(daemon().manager().behind_barrier(), 0u);
  daemon().manager().shuffle(7);
  daemon().restart();
  resumed(owner);
  EXPECT_EQ(wrong_bytes(owner, first.key(), 1000), "");

  daemon().kill9();
  ASSERT_EQ(daemon().manager().lose("q1b"), 1u);
  daemon().start();
  const pb::Resumed told = resumed(owner);
  ASSERT_EQ(told.awaited_size(), 1) << daemon().log();
  EXPECT_EQ(told.awaited(0), second.export_id());
  EXPECT_THAT(daemon().log_with("are lost"), HasSubstr("parking queue 1"));
  EXPECT_EQ(wrong_bytes(owner, first.key(), 1000), "");
  const pb::ExportInfo waits = shown(owner, second.export_id());
  EXPECT_EQ(waits.state(), 4u);
  EXPECT_GT(waits.awaited_ns(), 0u);
  EXPECT_EQ(waits.generation(), second.generation());
  EXPECT_EQ(status().awaited(), 1u);
}

TEST_F(Trouble, AStoreOfGarbageIsNoReasonNotToStart) {
  RawPeer owner = resuming();
  const auto made = shared(owner, "kv", 2, 10);
  daemon().kill9();
  FakeServiceManager& manager = daemon().manager();
  int pipe_ends[2];
  ASSERT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
  const UniqueFd read_end(pipe_ends[0]);
  manager.hand_over("something", UniqueFd(pipe_ends[1]));
  manager.hand_over("q7b", plain_memfd(100));                  // no socket
  manager.hand_over("q9a", manager.copy_of("q0a"));            // an end without the other
  manager.hand_over("node", manager.copy_of("node"));          // twice
  manager.hand_over("records", plain_memfd(kPage));            // twice, and the other is none
  daemon().start();
  resumed(owner);
  EXPECT_EQ(wrong_bytes(owner, made.key(), 10), "");
  EXPECT_THAT(daemon().log_with("something"), HasSubstr("\"something\""));
}

void damage(const UniqueFd& memory, off_t from, std::size_t bytes) {
  const std::string noise(bytes, '\x5a');
  ASSERT_EQ(::pwrite(memory.get(), noise.data(), bytes, from), static_cast<ssize_t>(bytes));
}

// What is known of exports is gone; what was never recorded twice is not given out again.
TEST_F(Trouble, DamagedRecordsAreSaidAndNoIdComesTwice) {
  RawPeer owner = resuming();
  const auto made = shared(owner, "kv", 2, 10);
  daemon().kill9();
  damage(daemon().manager().copy_of("records"), 0, 4096);
  daemon().start();
  EXPECT_TRUE(owner.ends());
  EXPECT_THAT(daemon().log_with("the records cannot be read"), HasSubstr("the records cannot be read"));
  RawPeer again = resuming();
  EXPECT_EQ(again.list().reply.exports_size(), 0);
  const auto next = shared(again, "kv", 2, 20);
  EXPECT_GT(next.export_id() >> 32, made.export_id() >> 32);
  EXPECT_EQ(wrong_bytes(again, next.key(), 20), "");
  EXPECT_NE(again.acquire(made.key()).status, HB_OK);
}

TEST_F(Trouble, DamageInTheMiddleOfTheRecordsIsNoReasonNotToStart) {
  RawPeer owner = resuming();
  shared(owner, "kv", 2, 10);
  daemon().kill9();
  damage(daemon().manager().copy_of("records"), 65'536, 65'536);
  daemon().start();
  RawPeer again = resuming();
  const auto next = shared(again, "next", 2, 20);
  EXPECT_EQ(wrong_bytes(again, next.key(), 20), "");
}

TEST_F(Trouble, ANodeThatIsLostIsANewBroker) {
  RawPeer owner = resuming();
  const auto made = shared(owner, "kv", 2, 10);
  daemon().kill9();
  damage(daemon().manager().copy_of("node"), 0, 512);
  daemon().start();
  EXPECT_TRUE(owner.ends());
  EXPECT_THAT(daemon().log_with("who this broker was is lost"), HasSubstr("who this broker was is lost"));
  RawPeer again = resuming();
  EXPECT_NE(again.acquire(made.key()).status, HB_OK);
  const auto next = shared(again, "next", 2, 20);
  EXPECT_EQ(wrong_bytes(again, next.key(), 20), "");
}

TEST_F(Trouble, ASecondDaemonWithTheSameMemoryIsRefused) {
  RawPeer owner = resuming();
  FakeServiceManager& manager = daemon().manager();
  const TempDir dir;
  FakeServiceManager other(dir);
  other.hand_over("node", manager.copy_of("node"));
  FakeServiceManager::Launch with = other.launch();
  ProcessOptions options;
  options.env = with.env;
  std::vector<std::string> line = with.through;
  for (const std::string& word : {daemon_program(), std::string("--socket"), dir / "run/broker.sock"}) line.push_back(word);
  const UniqueFd out(::open((dir / "out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  with.inherit.emplace_back(out.get(), 1);
  with.inherit.emplace_back(out.get(), 2);
  Process second(line, options, with.inherit);
  const auto ended = second.wait();
  ASSERT_TRUE(ended);
  EXPECT_EQ(describe_exit(*ended), "exited with 75");
  EXPECT_THAT(read_file(dir / "out"), HasSubstr(std::to_string(daemon().pid())));
  EXPECT_EQ(owner.ping(), HB_OK);
}

// The kernel lets a user have so many descriptors in flight, and no more.
class FewDescriptors : public RestartTest {
 protected:
  FewDescriptors() : RestartTest(few()) {}
  static DaemonOptions few() {
    DaemonOptions options = stored();
    options.process.nofile = 600;
    return options;
  }
};

TEST_F(FewDescriptors, WhatCannotBeParkedIsSaidAndServed) {
  RawPeer owner = resuming();
  const auto small = shared(owner, "small", 50, 1000);
  EXPECT_TRUE(status().restart_safe()) << status().restart_reason();
  const auto large = shared(owner, "large", 150, 2000);
  const pb::StatusReply full = status();
  EXPECT_FALSE(full.restart_safe());
  EXPECT_THAT(full.restart_reason(), HasSubstr("150"));
  EXPECT_THAT(full.restart_reason(), HasSubstr(std::to_string(full.parked_limit())));
  EXPECT_TRUE(shown(owner, large.export_id()).restart_unsafe());
  EXPECT_FALSE(shown(owner, small.export_id()).restart_unsafe());
  EXPECT_EQ(wrong_bytes(owner, large.key(), 2000), "");
  RawPeer admin = admin_peer();
  const auto drained = admin.call<pb::DrainReply>(FrameType::kDrain, pb::Drain());
  EXPECT_FALSE(drained.reply.restart_safe());
  EXPECT_EQ(drained.reply.unsafe_exports(), 1u);
  daemon().restart();
  const pb::Resumed told = resumed(owner);
  ASSERT_EQ(told.awaited_size(), 1);
  EXPECT_EQ(told.awaited(0), large.export_id());
  EXPECT_EQ(wrong_bytes(owner, small.key(), 1000), "");
}

TEST_F(Trouble, DrainTakesNothingNewAndSaysWhatIsLost) {
  RawPeer owner = resuming();
  RawPeer old = peer();
  const auto made = shared(owner, "kv", 1, 10);
  RawPeer admin = admin_peer();
  const auto drained = admin.call<pb::DrainReply>(FrameType::kDrain, pb::Drain());
  ASSERT_EQ(drained.status, HB_OK) << drained.error.message();
  EXPECT_TRUE(drained.reply.restart_safe()) << drained.reply.reason();
  EXPECT_EQ(drained.reply.sessions_lost(), 1u);
  EXPECT_EQ(drained.reply.unsafe_exports(), 0u);
  const std::vector<UniqueFd> fds = objects(1, 30);
  EXPECT_EQ(owner.export_fds("new", borrow(fds)).status, HB_BUSY);
  EXPECT_EQ(RawPeer(daemon().socket()).hello().status, HB_BUSY);
  EXPECT_EQ(wrong_bytes(owner, made.key(), 10), "");
  pb::Drain off;
  off.set_off(true);
  EXPECT_EQ(admin.call<pb::DrainReply>(FrameType::kDrain, off).status, HB_OK);
  EXPECT_EQ(owner.export_fds("new", borrow(fds)).status, HB_OK);
  EXPECT_EQ(peer().ping(), HB_OK);
}

// Without a descriptor store; the directory decides what is kept.
class NoStore : public DaemonTest {
 protected:
  NoStore() : DaemonTest(options()) {}
  static DaemonOptions options() {
    DaemonOptions options;
    options.policy = "[[rule]]\nallow = \"all\"\n";
    return options;
  }
};

TEST_F(NoStore, PersistIsRefusedAndTheReasonSaid) {
  RawPeer owner = peer();
  const UniqueFd memory = sealed_memfd(kPage, 1);
  pb::Export body = export_of("kv", 1, kPage);
  body.set_lifetime(2);
  const auto refused = owner.call<pb::ExportReply>(FrameType::kExport, body, {memory.get()});
  EXPECT_EQ(refused.status, HB_UNSUPPORTED);
  EXPECT_THAT(refused.error.message(), HasSubstr("no descriptor store"));
  body.set_lifetime(1);
  body.set_linger_ns(1'000'000'000);
  EXPECT_EQ(owner.call<pb::ExportReply>(FrameType::kExport, body, {memory.get()}).status, HB_OK);
  RawPeer admin = admin_peer();
  const auto status = admin.status().reply;
  EXPECT_FALSE(status.restart_safe());
  EXPECT_THAT(status.restart_reason(), HasSubstr("no descriptor store"));
}

// What is kept beside the admin socket are records, not descriptors.
class OnTmpfs : public DaemonTest {
 protected:
  OnTmpfs() : DaemonTest(options()) {}
  static DaemonOptions options() {
    DaemonOptions options;
    options.in_memory = true;
    options.args = {"--grace", "3s"};
    return options;
  }
  RawPeer knowing() {
    RawPeer peer(daemon().socket());
    const auto answer = peer.hello({"resume"});
    EXPECT_EQ(answer.status, HB_OK);
    EXPECT_EQ(answer.reply.features_size(), 0) << "the connection would not outlive the daemon";
    return peer;
  }
  static pb::Reoffer again(const pb::ExportReply& made, const std::string& name, std::uint64_t size) {
    pb::Reoffer body;
    body.set_export_id(made.export_id());
    body.set_generation(made.generation());
    body.set_token(made.token());
    body.set_name(name);
    body.set_handle_kind(1);
    body.set_access(made.access());
    body.set_layout_version(made.layout_version());
    body.set_size(size);
    return body;
  }
};

TEST_F(OnTmpfs, AnOwnerBringsItsExportBack) {
  std::vector<UniqueFd> memory;
  memory.push_back(sealed_memfd(kPage, 10));
  memory.push_back(sealed_memfd(kPage, 11));
  auto owner = std::make_unique<RawPeer>(knowing());
  const auto made = owner->export_fds("kv", borrow(memory)).reply;
  ASSERT_EQ(made.token().size(), 16u);
  daemon().restart();
  EXPECT_TRUE(owner->ends());
  *owner = knowing();
  RawPeer admin = admin_peer();
  EXPECT_EQ(admin.status().reply.awaited(), 1u);
  EXPECT_EQ(owner->acquire(made.key()).status, HB_SUSPENDED);
  EXPECT_EQ(owner->export_fds("kv", borrow(memory)).status, HB_EXISTS) << "its name is kept for its owner";
  pb::Reoffer forged = again(made, "kv", 2 * kPage);
  forged.set_generation(made.generation() + 1);
  EXPECT_EQ(owner->call<pb::ExportReply>(FrameType::kReoffer, forged).status, HB_NOT_FOUND);
  const auto back = owner->call<pb::ExportReply>(FrameType::kReoffer, again(made, "kv", 2 * kPage));
  ASSERT_EQ(back.status, HB_OK) << back.error.message();
  pb::Change chunks;
  chunks.set_export_id(made.export_id());
  chunks.set_kind(pb::Change::RESUME);
  chunks.set_total_chunks(2);
  chunks.set_total_size(2 * kPage);
  chunks.set_distinct_handles(2);
  for (std::uint32_t i = 1; i <= 2; ++i) {
    chunks.add_chunks()->set_handle(i);
    chunks.mutable_chunks(static_cast<int>(i) - 1)->set_size(kPage);
  }
  const auto whole = owner->call<pb::ExportReply>(FrameType::kChange, chunks, borrow(memory));
  ASSERT_EQ(whole.status, HB_OK) << whole.error.message();
  const auto lease = owner->acquire(made.key());
  ASSERT_EQ(lease.fds.size(), 2u) << lease.error.message();
  EXPECT_EQ(pattern_error(lease.fds[1].get(), 0, kPage, 11), "");
  EXPECT_EQ(lease.reply.generation(), made.generation());
  EXPECT_EQ(admin.status().reply.awaited(), 0u);
}

// B08: not before its time.
TEST_F(OnTmpfs, B08_WhatNobodyBringsBackIsGoneAfterTheGrace) {
  const UniqueFd memory = sealed_memfd(kPage, 10);
  auto owner = std::make_unique<RawPeer>(knowing());
  const auto made = owner->export_fds("kv", {memory.get()}).reply;
  daemon().restart();
  owner.reset();
  RawPeer reader = knowing();
  EXPECT_EQ(reader.acquire(made.key()).status, HB_SUSPENDED);
  EXPECT_TRUE(poll_until([&] { return reader.acquire(made.key()).status == HB_GONE; }));
  EXPECT_EQ(reader.export_fds("kv", {memory.get()}).status, HB_OK) << "its name is free";
}

TEST_F(OnTmpfs, ASecretIsNobodyElsesToRead) {
  struct stat status {};
  for (const char* name : {"node", "records"}) {
    ASSERT_EQ(::stat((daemon().run_dir() + "/admin/" + name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 07777, 0600u) << name;
  }
}

}  // namespace
}  // namespace hb::test
