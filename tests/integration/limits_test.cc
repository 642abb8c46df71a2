// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Descriptors at their limits, here and in the daemon. To the daemon one descriptor is like another: its own
// limits are tried with the cheapest.
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>

#include "integration/memory_fixture.h"
#include "support/fd_census.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

class Limits : public DaemonTest {};
class ImporterLimits : public EveryMemory {};
HB_EVERY_MEMORY(ImporterLimits);

std::uint64_t hard_limit() {
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  return now.rlim_max;
}

// Leaves the daemon exactly `free` numbers to open a descriptor under, whatever it has open.
rlimit squeeze(pid_t pid, std::uint64_t free) {
  std::vector<std::uint64_t> taken;
  for (const std::string& fd : open_fds(pid)) taken.push_back(std::strtoull(fd.c_str(), nullptr, 10));
  std::sort(taken.begin(), taken.end());
  std::uint64_t limit = 0;
  for (std::uint64_t left = free; left > 0; ++limit)
    if (!std::binary_search(taken.begin(), taken.end(), limit)) --left;
  rlimit before{};
  ::prlimit(pid, RLIMIT_NOFILE, nullptr, &before);
  const rlimit lowered{limit, before.rlim_max};
  EXPECT_EQ(::prlimit(pid, RLIMIT_NOFILE, &lowered, nullptr), 0);
  return before;
}

TEST_F(Limits, B23_TheDaemonHasFourSlotsAndGetsTen) {
  RawPeer raw = peer();
  std::vector<UniqueFd> memory;
  for (std::uint64_t i = 0; i < 10; ++i) memory.push_back(sealed_memfd(kPage, i));
  const rlimit before = squeeze(daemon().pid(), 4);
  const auto refused = raw.export_fds("ten", borrow(memory));
  EXPECT_EQ(refused.status, HB_NO_FDS) << refused.error.message();
  EXPECT_FALSE(refused.error.message().empty());
  expect_baseline("after the refusal", 1);
  EXPECT_EQ(raw.ping(), HB_OK);
  EXPECT_EQ(raw.list().reply.exports_size(), 0);
  EXPECT_EQ(raw.export_fds("three", {memory[0].get(), memory[1].get(), memory[2].get()}).status, HB_OK);
  ASSERT_EQ(::prlimit(daemon().pid(), RLIMIT_NOFILE, &before, nullptr), 0);
  const auto accepted = raw.export_fds("ten", borrow(memory));
  EXPECT_EQ(accepted.status, HB_OK) << accepted.error.message();
  EXPECT_EQ(raw.acquire_name("ten").fds.size(), 10u);
}

TEST_P(ImporterLimits, B23_HasFourSlots) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("objects", {{"count", 10}});
  producer.ok("export", {{"fds", "f"}, {"name", "ten"}});
  consumer.ok("import",
              {{"import", "warm"}, {"name", "ten"}, {"bytes", unit()}});  // opens what a session needs
  consumer.ok("close_import", {{"import", "warm"}});
  const std::uint64_t open = consumer.ok("fds").number("count");
  consumer.ok("limit", {{"free", 4}});
  const Answer refused = consumer.call("acquire", {{"name", "ten"}});
  EXPECT_EQ(refused.status, HB_NO_FDS) << refused;
  EXPECT_NE((refused.text("what") + refused.message()).find("RLIMIT_NOFILE"), std::string::npos) << refused;
  EXPECT_EQ(consumer.ok("fds").number("count"), open);
  EXPECT_TRUE(poll_until([&] { return producer.ok("who", {{"name", "ten"}}).number("count") == 0; }));
  // Mapping never needs them all at once, unless the runtime keeps one for each chunk.
  if (is({"7.14", "7.15"})) {
    EXPECT_EQ(consumer.call("import", {{"name", "ten"}}).status, HB_NO_FDS);
    EXPECT_EQ(consumer.ok("fds").number("count"), open);
    consumer.ok("limit", {{"free", 32}});
  }
  consumer.ok("import", {{"name", "ten"}});
  consumer.ok("pattern");
  consumer.ok("limit", {{"free", 16}});
  consumer.ok("acquire", {{"name", "ten"}});
  consumer.ok("handle_pattern");
  EXPECT_EQ(producer.ok("who", {{"name", "ten"}}).number("count"), 2u);
}

// The same without the library: what was delivered is cut short, the lease stays usable, and half a page
// later it works.
TEST_F(Limits, B23_ACutReplyIsFetchedAgainInHalves) {
  RawPeer owner = peer();
  std::vector<UniqueFd> memory;
  for (std::uint64_t i = 0; i < 10; ++i) memory.push_back(sealed_memfd(kPage, i));
  ASSERT_EQ(owner.export_fds("ten", borrow(memory)).status, HB_OK);
  memory.clear();
  RawPeer raw = peer();
  pb::Acquire body;
  body.mutable_target()->mutable_name()->set_name("ten");
  body.set_access(1);
  body.set_max_handles(10);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  squeeze(::getpid(), 4);
  raw.send(FrameType::kAcquire, body);
  RawFrame cut = raw.receive();
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(cut.outcome, ReceiveOutcome::kFdsTruncated);
  pb::AcquireReply reply;
  ASSERT_TRUE(reply.ParseFromString(cut.body));
  cut.fds.clear();
  pb::Fetch fetch;
  fetch.set_lease_id(reply.lease_id());
  fetch.set_first(0);
  fetch.set_max_handles(5);
  EXPECT_EQ(raw.call<pb::FetchReply>(FrameType::kFetch, fetch).fds.size(), 5u);
}

class SmallDaemon : public DaemonTest {
 protected:
  SmallDaemon()
      : DaemonTest([] {
          DaemonOptions options;
          options.process.nofile = 200;
          return options;
        }()) {}
};

// Exports are admitted while a quarter of the limit stays free; who is refused learns all numbers, and the
// others go on.
TEST_F(SmallDaemon, KeepsItsReserve) {
  RawPeer other = peer();
  RawPeer raw = peer();
  std::vector<UniqueFd> memory;
  for (std::uint64_t i = 0; i < 160; ++i) memory.push_back(sealed_memfd(kPage, i));
  const auto refused = raw.export_fds("all", borrow(memory));
  EXPECT_EQ(refused.status, HB_NO_FDS);
  EXPECT_EQ(refused.error.limit(), 200u) << refused.error.message();
  EXPECT_NE(refused.error.message().find("RLIMIT_NOFILE"), std::string::npos) << refused.error.message();
  EXPECT_NE(refused.error.message().find("160"), std::string::npos) << refused.error.message();
  expect_baseline("after the refusal", 2);
  int held = 0;
  while (
      raw.export_fds("one/" + std::to_string(held), {memory[static_cast<std::size_t>(held)].get()}).status ==
      HB_OK)
    ++held;
  EXPECT_GT(held, 60);
  EXPECT_TRUE(poll_until([&] { return daemon().fd_count() <= 150; })) << daemon().fd_count();
  EXPECT_EQ(other.ping(), HB_OK);
  EXPECT_EQ(other.acquire_name("one/0").status, HB_OK);
  // Who looks for the cause gets in; others do as soon as there is room again, without a word from anybody.
  EXPECT_EQ(admin_peer().status().reply.fds_limit(), 200u);
  RawPeer waiting(daemon().socket());
  pb::Hello hello;
  hello.set_lowest_version(1);
  hello.set_highest_version(1);
  const std::uint64_t id = waiting.send(FrameType::kHello, hello);
  pb::Withdraw all;
  all.set_all(true);
  ASSERT_EQ(raw.call<pb::WithdrawReply>(FrameType::kWithdraw, all).status, HB_OK);
  EXPECT_EQ(waiting.await<pb::HelloReply>(id).status, HB_OK);
}

// Without room to reopen a file read-only the answer is an error: the descriptor that is there can write.
TEST_F(SmallDaemon, AFullTableNeverGivesAReaderTheWritableDescriptor) {
  if (!may_change_uid()) return;
  ProcessOptions as_owner, as_reader;
  as_owner.uid = 1001;
  as_reader.uid = 1002;
  Actor owner(daemon(), as_owner);
  Actor reader(daemon(), as_reader);
  owner.ok("memfds", {{"first", 9}});
  owner.ok("chmod", {{"fds", "f"}, {"mode", 0444}});
  owner.ok("export", {{"fds", "f"}, {"name", "weights"}, {"acl", "u:1002:1"}});
  RawPeer raw = peer();
  std::vector<UniqueFd> memory;
  for (std::uint64_t i = 0; i < 200; ++i) memory.push_back(sealed_memfd(kPage, i));
  std::size_t held = 0;
  while (raw.export_fds("one/" + std::to_string(held), {memory[held].get()}).status == HB_OK) ++held;
  const Message wanted{{"name", "weights"}, {"owner", 1001}};
  const Answer full = reader.call("acquire", wanted);
  EXPECT_EQ(full.status, HB_NO_FDS) << full;
  pb::Withdraw all;
  all.set_all(true);
  ASSERT_EQ(raw.call<pb::WithdrawReply>(FrameType::kWithdraw, all).status, HB_OK);
  reader.ok("acquire", wanted);
  EXPECT_EQ(reader.ok("write_handle").number("pwrite"), std::uint64_t{EBADF});
  owner.leave();
  reader.leave();
}

class Large : public DaemonTest {
 protected:
  static constexpr std::uint64_t kLimit = 20'000;
  static std::uint64_t nofile() { return std::min(kLimit, hard_limit()); }
  static ProcessOptions limited() {
    ProcessOptions options;
    options.nofile = nofile();
    return options;
  }
  Large()
      : DaemonTest([] {
          DaemonOptions options;
          options.process = limited();
          return options;
        }()) {}
};

TEST_F(Large, EighteenThousandAllocationsUnderALimitOf20000) {
  // Where a machine's hard limit is below 20,000 the count follows it.
  const std::uint64_t count = nofile() == kLimit ? 18'000 : nofile() - nofile() / 8;
  RecordProperty("allocations", static_cast<int>(count));
  if (count != 18'000)
    std::printf("hard RLIMIT_NOFILE is %lu: %lu allocations instead of 18,000\n", nofile(), count);
  Actor producer(daemon(), limited());
  Actor consumer(daemon(), limited());
  producer.ok("memfds", {{"count", count}});
  EXPECT_EQ(producer.ok("export", {{"fds", "f"}, {"name", "many"}}).number("bytes"), count * kPage);
  const Answer listed = consumer.ok("list");
  EXPECT_EQ(listed.number("0.chunks"), count);
  EXPECT_EQ(listed.number("0.allocations"), count);
  consumer.ok("import", {{"name", "many"}});
  EXPECT_EQ(consumer.ok("pattern").number("chunks"), count);
  consumer.ok("acquire", {{"name", "many"}});
  EXPECT_EQ(consumer.ok("handle_pattern").number("chunks"), count);
  EXPECT_EQ(consumer.ok("fds").number("count") >= count, true);
  producer.ok("withdraw");
  expect_baseline("after withdraw", 2);
}

TEST_F(Large, SixtyOneThousandAreRefusedWithBothNumbers) {
  Actor producer(daemon(), limited());
  // Here: the library will not begin.
  const std::uint64_t open = producer.ok("fds").number("count");
  const Answer here = producer.call("alloc", {{"bytes", 61'440 * kPage}, {"chunk", kPage}});
  EXPECT_EQ(here.status, HB_NO_FDS) << here;
  EXPECT_EQ(here.number("limit"), nofile());
  EXPECT_NE(here.message().find("61440"), std::string::npos) << here.message();
  EXPECT_NE(here.message().find(std::to_string(nofile())), std::string::npos) << here.message();
  EXPECT_EQ(producer.ok("fds").number("count"), open);
  // There: the daemon will not begin either.
  RawPeer raw = peer();
  const UniqueFd first = sealed_memfd(kPage, 0);
  pb::Export body = export_of("many", 1, kPage);
  body.set_total_chunks(61'440);
  body.set_total_size(61'440 * kPage);
  body.set_distinct_handles(61'440);
  const auto there = raw.call<pb::ExportReply>(FrameType::kExport, body, {first.get()});
  EXPECT_EQ(there.status, HB_NO_FDS) << there.error.message();
  EXPECT_EQ(there.error.limit(), nofile());
  EXPECT_NE(there.error.message().find("61440"), std::string::npos) << there.error.message();
  EXPECT_NE(there.error.message().find(std::to_string(nofile())), std::string::npos) << there.error.message();
  expect_baseline("after the refusals", 2);
}

}  // namespace
}  // namespace hb::test
