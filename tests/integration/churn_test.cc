// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Slow leaks: many short lives, a third of them cut off.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

// Under a sanitizer a fork copies its shadow, ten times the time, and the daemon's resident memory is the
// sanitizer's own: leaks are its leak check's to find.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
constexpr int kCycles = kSanitized ? 600 : 10'000;
constexpr int kWarmCycles = kCycles / 10;

class Churn : public DaemonTest {
 protected:
  // connect, hello, acquire, release, disconnect. `until` frames or answers in, the process kills itself; -1:
  // it lives.
  void cycle(int until) {
    const auto step = [&until] {
      if (until-- == 0) ::kill(::getpid(), SIGKILL);
    };
    RawPeer raw(daemon().socket());
    step();
    pb::Hello hello;
    hello.set_lowest_version(1);
    hello.set_highest_version(1);
    const std::uint64_t hello_id = raw.send(FrameType::kHello, hello);
    step();
    if (raw.await<pb::HelloReply>(hello_id).status != HB_OK) return failed("hello");
    step();
    pb::Acquire body;
    body.mutable_target()->mutable_name()->set_name("eight");
    body.set_access(1);
    body.set_max_handles(8);
    const std::uint64_t id = raw.send(FrameType::kAcquire, body);
    step();
    const auto got = raw.await<pb::AcquireReply>(id);
    if (got.status != HB_OK || got.fds.size() != 8) return failed("acquire");
    step();
    raw.release(got.reply.lease_id());
    step();
  }
  void failed(const char* what) {
    if (::getpid() == owner_pid_)
      ADD_FAILURE() << what << " failed";
    else
      ::_exit(1);
  }
  const pid_t owner_pid_ = ::getpid();
};

TEST_F(Churn, B24_TenThousandCyclesAThirdOfThemKilled) {
  RawPeer owner = peer();
  std::vector<UniqueFd> memory;
  for (std::uint64_t i = 0; i < 8; ++i) memory.push_back(sealed_memfd(kPage, i));
  ASSERT_EQ(owner.export_fds("eight", borrow(memory)).status, HB_OK);
  const std::size_t held = daemon().fd_count();
  const auto settled = [&] {
    return daemon().fd_count() == held && owner.list().reply.exports(0).leases() == 0;
  };
  std::minstd_rand random(20'261'129);
  std::uint64_t resident_before = 0;
  int killed = 0;
  for (int i = 0; i < kCycles && !HasFailure(); ++i) {
    if (i == kWarmCycles) {  // warm: what the allocator and the tables keep, they have by now
      ASSERT_TRUE(poll_until(settled));
      resident_before = daemon().resident();
    }
    if (i % 3 != 0) {
      cycle(-1);
      continue;
    }
    const int point = static_cast<int>(random() % 6);
    const pid_t child = ::fork();
    if (child == 0) {
      cycle(point);
      ::_exit(1);  // it was to be dead by now
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << describe_exit(status);
    ++killed;
  }
  EXPECT_EQ(killed, (kCycles + 2) / 3);
  EXPECT_TRUE(poll_until(settled)) << daemon().fd_count() << " descriptors, should be " << held;
  const std::uint64_t resident_after = daemon().resident();
  if (!kSanitized) {
    EXPECT_LT(resident_after, resident_before + (2 << 20));
  }
  pb::Who who;
  EXPECT_EQ(owner.call<pb::WhoReply>(FrameType::kWho, who).reply.holders_size(), 0);
  owner.disconnect();
  const pb::StatusReply left = counters_when_alone();
  EXPECT_EQ(left.leases(), 0u);
  EXPECT_EQ(left.exports(), 0u);
  EXPECT_EQ(left.allocations(), 0u);
}

// The same for exports: nothing of a thousand sharings stays.
TEST_F(Churn, AThousandExportsAndWithdrawals) {
  RawPeer owner = peer();
  std::vector<UniqueFd> memory;
  for (std::uint64_t i = 0; i < 16; ++i) memory.push_back(sealed_memfd(kPage, i));
  std::uint64_t resident_before = 0;
  for (int i = 0; i < 1'000; ++i) {
    if (i == 200) resident_before = daemon().resident();
    const auto exported = owner.export_fds("sixteen", borrow(memory));
    ASSERT_EQ(exported.status, HB_OK) << exported.error.message();
    ASSERT_EQ(owner.withdraw_id(exported.reply.export_id()).status, HB_OK);
  }
  expect_baseline("after a thousand exports", 1);
  if (!kSanitized) {
    EXPECT_LT(daemon().resident(), resident_before + (2 << 20));
  }
}

class LibraryChurn : public EveryMemory {};
HB_EVERY_MEMORY(LibraryChurn);

// Through the library on both sides: what 200 sharings leave is what five left.
TEST_P(LibraryChurn, TwoHundredSharingsLeaveNothing) {
  Actor producer = actor();
  Actor consumer = actor();
  std::uint64_t producer_fds = 0, consumer_fds = 0;
  std::uint64_t producer_memory = 0, consumer_memory = 0;
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    if (i == 5) {
      producer_fds = producer.ok("fds").number("count");
      consumer_fds = consumer.ok("fds").number("count");
    }
    if (i == 50) {
      producer_memory = resident_bytes(producer.pid());
      consumer_memory = resident_bytes(consumer.pid());
    }
    producer.ok("objects", {{"count", 3}, {"first", i}});
    producer.ok("export", {{"fds", "f"}, {"name", "kv"}});
    consumer.ok("import", {{"name", "kv"}});
    consumer.ok("pattern", {{"first", i}});
    if (i % 2 == 0) consumer.ok("close_import");
    producer.ok("withdraw");
    producer.ok("destroy");
    if (i % 2 == 1) consumer.ok("close_import");
  }
  EXPECT_EQ(producer.ok("fds").number("count"), producer_fds);
  EXPECT_EQ(consumer.ok("fds").number("count"), consumer_fds);
  EXPECT_EQ(consumer.ok("stats").number("mapped_bytes"), 0u);
  if (!kSanitized) {
    EXPECT_LT(resident_bytes(producer.pid()), producer_memory + (2 << 20));
    EXPECT_LT(resident_bytes(consumer.pid()), consumer_memory + (2 << 20));
  }
  consumer.leave();
  producer.leave();
  const pb::StatusReply left = counters_when_alone();
  EXPECT_EQ(left.leases() + left.exports() + left.allocations(), 0u);
}

}  // namespace
}  // namespace hb::test
