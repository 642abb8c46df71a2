// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hb_range_gone: what a program's free and munmap hooks call.
#include <csignal>

#include "integration/hip/gpu_fixture.h"

namespace hb::test {
namespace {

using RangeGone = Gpu;
HB_EVERY_GPU_VERSION(RangeGone);

Message share_all(const char* name, const char* client = "c") {
  return {{"raw", "r"}, {"by", "handles"}, {"name", name}, {"export", name}, {"client", client}};
}

TEST_P(RangeGone, EndsTheExportsOfEveryClientOverTheRange) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  producer.ok("open", {{"client", "d"}, {"socket", daemon().socket()}});
  producer.ok("hip_vmm", {{"sizes", "2097152 2097152"}});
  producer.ok("hip_alloc", {{"raw", "other"}});
  producer.ok("share", share_all("a"));
  producer.ok("share", share_all("b", "d"));
  producer.ok("share", {{"raw", "other"}, {"claim", HB_MEMORY_MALLOC}, {"name", "c"}, {"export", "c"}});
  consumer.ok("import", {{"name", "a"}});
  // Beside it, and a byte of it: only the second counts.
  const std::uint64_t end =
      producer.ok("gone", {{"raw", "r"}, {"offset", 2 * kGpuChunk}, {"bytes", 4096}}).number("exports");
  EXPECT_EQ(end, 0u);
  EXPECT_EQ(producer.ok("list").number("count"), 3u);
  const Answer gone = producer.ok("gone", {{"raw", "r"}, {"offset", 2 * kGpuChunk - 1}, {"bytes", 1}});
  EXPECT_EQ(gone.number("exports"), 2u);
  EXPECT_EQ(gone.number("holders"), 1u);
  EXPECT_EQ(producer.ok("list").text("names"), "c");
  EXPECT_EQ(consumer.ok("current", {{"import", "i"}}).text("current"), "0");
  EXPECT_EQ(producer.ok("gone", {{"raw", "r"}}).number("exports"), 0u);
  EXPECT_EQ(producer.call("withdraw", {{"export", "a"}}).status, HB_GONE);
  consumer.leave();
  producer.ok("hip_free");
  producer.ok("hip_free", {{"raw", "other"}});
  producer.leave();
}

TEST_P(RangeGone, AThousandRoundsLeaveNothing) {
  constexpr std::uint64_t kRounds = 1000;
  Actor producer = gpu_actor();
  const bool takes_mappings = is({"7.14", "7.15"});
  const std::vector<Message> ways{
      {{"make", "hip_vmm"}, {"by", "handles"}},
      {{"make", takes_mappings ? "hip_vmm" : "hip_alloc"},
       {"claim", takes_mappings ? HB_MEMORY_VMM : HB_MEMORY_MALLOC}},
  };
  for (const Message& way : ways) {
    Message asked = way;
    asked.insert({{"raw", "r"}, {"count", 1}});
    producer.ok("rounds", asked);  // what is made once for all is made
    const std::string before = producer.ok("fake").text("state");
    const std::size_t daemons = daemon().fd_count();
    asked.insert_or_assign("count", kRounds);
    producer.ok("rounds", asked);
    const Answer after = producer.ok("fake", {{"line", 2}});
    EXPECT_EQ(after.text("state"), before);
    EXPECT_EQ(after.number("mallocs"), 0u);
    EXPECT_TRUE(poll_until([&] { return producer.ok("fake", {{"line", 2}}).number("bytes") == 0; }));
    expect_fds(daemons, "after the rounds");
  }
  producer.leave();
}

// The hook stands in front of munmap of the whole process: what the program frees is ended, what the library
// itself unmaps is not, and neither waits for the other.
TEST_P(RangeGone, AsAMunmapHook) {
  Actor producer = gpu_actor();
  producer.ok("hip_alloc");
  producer.ok("share", {{"raw", "r"}, {"claim", HB_MEMORY_MALLOC}, {"name", "kv"}});
  producer.ok("hook", {{"on", 1}, {"raw", "r"}});  // from inside the library nothing is ended, not even this
  const Answer made = producer.ok("own_host", {{"count", 3}, {"bytes", 1u << 20}});
  const Answer own = producer.ok("hook", {{"on", 1}});
  EXPECT_GE(own.number("calls"), 3u);
  EXPECT_EQ(own.number("withdrawn"), 0u);
  EXPECT_EQ(producer.ok("list").number("count"), 4u);  // freeing memory of the library withdraws nothing
  // Nor do its addresses, which are others' from now on.
  const Answer reused = producer.ok("gone", {{"address", made.number("ptr")}, {"bytes", 1u << 20}});
  EXPECT_EQ(reused.number("exports"), 0u);
  producer.ok("hip_free");
  const Answer freed = producer.ok("hook", {{"on", 0}});
  EXPECT_EQ(freed.number("withdrawn"), 1u);
  EXPECT_EQ(freed.number("failures"), 0u);
  EXPECT_EQ(producer.ok("list").number("count"), 3u);
  producer.leave();
}

// Whichever is first: what goes while it is being exported is not exported afterwards.
TEST_P(RangeGone, AgainstAnExportUnderWay) {
  constexpr std::uint64_t kCount = 300;
  Actor producer = gpu_actor();
  producer.ok("hip_alloc");
  const Answer raced = producer.ok("race", {{"raw", "r"}, {"count", kCount}, {"claim", HB_MEMORY_MALLOC}});
  EXPECT_EQ(raced.number("failed"), 0u) << raced;
  EXPECT_GE(raced.number("made") + raced.number("overtaken"), kCount) << raced;
  EXPECT_GT(raced.number("overtaken"), 0u) << raced;
  EXPECT_EQ(producer.ok("list").number("count"), 0u);
  producer.ok("hip_free");
  producer.leave();
}

TEST_P(RangeGone, InAForkedChildItIsNobodysExport) {
  Actor producer = gpu_actor();
  producer.ok("hip_vmm");
  producer.ok("share", share_all("kv"));
  const Answer child = producer.ok("gone", {{"raw", "r"}, {"child", 1}});
  EXPECT_EQ(child.number("exports"), 0u);
  EXPECT_EQ(producer.ok("list").text("names"), "kv");
  EXPECT_EQ(producer.ok("gone", {{"raw", "r"}}).number("exports"), 1u);
  producer.ok("hip_free");
  producer.leave();
}

TEST_P(RangeGone, ADaemonThatDoesNotAnswerCostsTheSession) {
  Actor producer = gpu_actor();
  Actor other = gpu_actor();
  producer.ok("hip_vmm");
  producer.ok("share", share_all("kv"));
  producer.ok("hip_alloc", {{"raw", "m"}});
  producer.ok("share", {{"raw", "m"}, {"claim", HB_MEMORY_MALLOC}, {"name", "too"}, {"export", "too"}});
  ASSERT_EQ(::kill(daemon().pid(), SIGSTOP), 0);
  ASSERT_TRUE(poll_until([&] { return process_state(daemon().pid()) == 'T'; }));
  const Answer gone = producer.call("gone", {{"raw", "r"}});
  ASSERT_EQ(::kill(daemon().pid(), SIGCONT), 0);
  EXPECT_EQ(gone.status, HB_TIMEOUT) << gone;
  EXPECT_NE(gone.message().find("session was ended"), std::string::npos) << gone;
  producer.ok("hip_free");
  EXPECT_TRUE(poll_until([&] { return other.ok("list").number("count") == 0; }));  // the other one, too
  producer.ok("hip_free", {{"raw", "m"}});
  // A session that is lost counts as withdrawn, and the next call makes a new one.
  EXPECT_EQ(producer.ok("gone", {{"address", 4096}}).number("exports"), 0u);
  producer.ok("hip_vmm");
  producer.ok("share", share_all("again"));
  EXPECT_EQ(producer.ok("gone", {{"raw", "r"}}).number("exports"), 1u);
  producer.ok("hip_free");
  other.leave();
  producer.leave();
}

TEST_P(RangeGone, ALostSessionCountsAsWithdrawn) {
  Actor producer = gpu_actor();
  producer.ok("open", {{"client", "d"}, {"socket", daemon().socket()}});
  producer.ok("hip_vmm");
  producer.ok("share", share_all("kv", "d"));
  producer.ok("close", {{"client", "d"}});
  EXPECT_EQ(producer.ok("gone", {{"raw", "r"}}).number("exports"), 0u);
  producer.ok("hip_free");
  producer.leave();
}

}  // namespace
}  // namespace hb::test
