// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory of hipMemCreate and hipMalloc that a program exports by where it lies: the way of UCX, which knows
// what it is, and of programs that do not.
#include "integration/hip/gpu_fixture.h"
#include "support/temp_dir.h"

namespace hb::test {
namespace {

// Besides the six: those that take a reference when a handle is retained and may be asked about imports.
class ForeignPointer : public Gpu {
 protected:
  [[nodiscard]] bool takes_mappings() const { return is({"7.12", "7.13", "7.14", "7.15"}); }
  // Where the runtime is not asked about memory that nobody vouches for.
  [[nodiscard]] bool is_mute() const { return is({"7.14", "7.15"}); }
};
INSTANTIATE_TEST_SUITE_P(Hip, ForeignPointer,
                         testing::Values("6.2", "7.0", "7.1", "7.2", "7.12", "7.13", "7.14", "7.15"),
                         [](const auto& version) {
                           std::string name = "v" + version.param;
                           name[name.find('.')] = '_';
                           return name;
                         });

constexpr std::uint64_t kMany = 16u << 20;

// Four parts of 1 MiB of one allocation, each with bytes of its own.
void expect_four_parts(Actor& producer, Actor& consumer, std::uint64_t claim) {
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::string name = "part" + std::to_string(i);
    const std::uint64_t offset = i * (4u << 20);
    producer.ok("gpu_fill",
                {{"raw", "r"}, {"on", 2}, {"seed", i + 1}, {"offset", offset}, {"bytes", 1u << 20}});
    producer.ok("share", {{"raw", "r"},
                          {"offset", offset},
                          {"bytes", 1u << 20},
                          {"claim", claim},
                          {"name", name},
                          {"export", name}});
    const Answer imported = consumer.ok("import", {{"import", name}, {"name", name}});
    EXPECT_EQ(imported.number("bytes"), 1u << 20);
  }
  for (std::uint64_t i = 0; i < 4; ++i)
    consumer.ok("gpu_check", {{"import", "part" + std::to_string(i)}, {"on", 2}, {"seed", i + 1}});
}

// Field report B15: a handle names the whole allocation, and the offset was lost.
TEST_P(ForeignPointer, B15PartsOfOneMallocAllocation) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  producer.ok("hip_alloc", {{"bytes", kMany}});
  const std::size_t before = daemon().fd_count();
  expect_four_parts(producer, consumer, HB_MEMORY_MALLOC);
  consumer.leave();
  expect_fds(before - 1, "one descriptor for the allocation, without the consumer's two");
  const Answer beyond = producer.call(
      "share", {{"raw", "r"}, {"offset", kMany - 4096}, {"bytes", 8192}, {"claim", HB_MEMORY_MALLOC}});
  EXPECT_EQ(beyond.status, HB_RANGE) << beyond;
  EXPECT_EQ(beyond.number("limit"), 4096u);
  producer.ok("hip_free");
  producer.leave();
}

TEST_P(ForeignPointer, B15PartsOfOneMappedAllocation) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  producer.ok("hip_vmm", {{"sizes", kMany}});
  if (takes_mappings()) {
    const std::size_t before = daemon().fd_count();
    const std::string state = producer.ok("fake").text("state");
    expect_four_parts(producer, consumer, HB_MEMORY_VMM);
    EXPECT_EQ(producer.ok("fake").text("state"), state);  // handles, too: what was retained is released
    consumer.leave();
    expect_fds(before - 1, "one descriptor for the allocation, without the consumer's two");
  } else {
    const Answer refused = producer.call("share", {{"raw", "r"}, {"claim", HB_MEMORY_VMM}});
    EXPECT_EQ(refused.status, HB_NOT_SHAREABLE) << refused;
    EXPECT_NE(refused.message().find("export by handles"), std::string::npos) << refused;
    consumer.leave();
  }
  producer.ok("hip_free");
  producer.leave();
}

TEST_P(ForeignPointer, ARangeOverSeveralMappings) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  for (const int type : {1, 0}) {  // made with the descriptor type, and without any
    producer.ok("hip_vmm", {{"sizes", "2097152 4194304 2097152"}, {"type", type}});
    producer.ok("gpu_fill", {{"raw", "r"}, {"on", 2}, {"seed", 1}});
    const std::uint64_t offset = kGpuChunk - 4096;
    const std::uint64_t bytes = 2 * kGpuChunk + 8192;
    const Answer shared = producer.call(
        "share",
        {{"raw", "r"}, {"offset", offset}, {"bytes", bytes}, {"claim", HB_MEMORY_VMM}, {"name", "kv"}});
    if (takes_mappings()) {
      ASSERT_EQ(shared.status, HB_OK) << shared;
      const Answer imported = consumer.ok("import", {{"name", "kv"}});
      EXPECT_EQ(imported.number("bytes"), bytes);
      EXPECT_EQ(imported.number("chunks"), 3u);
      consumer.ok("gpu_check", {{"import", "i"}, {"on", 2}, {"seed", 1}, {"at", offset}});
      consumer.ok("close_import");
      const Answer beyond = producer.call(
          "share", {{"raw", "r"}, {"offset", offset}, {"bytes", 4 * kGpuChunk}, {"claim", HB_MEMORY_VMM}});
      EXPECT_EQ(beyond.status, HB_RANGE) << beyond;
      EXPECT_EQ(beyond.number("limit"), 3 * kGpuChunk + 4096);
      producer.ok("withdraw");
      producer.ok("destroy");
    } else {
      EXPECT_EQ(shared.status, HB_NOT_SHAREABLE) << shared;
    }
    producer.ok("hip_free");
  }
  consumer.leave();
  producer.leave();
}

TEST_P(ForeignPointer, WithoutAWordFromTheCallerOnlyWhereAskingIsSafe) {
  Actor producer = gpu_actor();
  producer.ok("hip_vmm");
  producer.ok("hip_alloc", {{"raw", "m"}});
  const Answer mapped = producer.call("share", {{"raw", "r"}, {"export", "a"}});
  const Answer malloced = producer.call("share", {{"raw", "m"}, {"export", "b"}});
  EXPECT_EQ(mapped.status, is({"7.12", "7.13"}) ? HB_OK : HB_NOT_SHAREABLE) << mapped;
  EXPECT_EQ(malloced.status, is_mute() ? HB_NOT_SHAREABLE : HB_OK) << malloced;
  for (const Answer& answer : {mapped, malloced})
    if (answer.status != HB_OK) {
      EXPECT_NE(answer.message().find("export by handles"), std::string::npos) << answer;
    }
  // A wrong word is found out where the runtime can tell.
  const Answer lie = producer.call("share", {{"raw", "m"}, {"claim", HB_MEMORY_VMM}});
  EXPECT_EQ(lie.status, HB_NOT_SHAREABLE) << lie;
  EXPECT_NE(lie.message().find("it is hipMalloc memory"), std::string::npos) << lie;
  EXPECT_EQ(producer.call("share", {{"raw", "m"}, {"claim", HB_MEMORY_POOL}}).status, HB_NOT_SHAREABLE);
  EXPECT_EQ(producer.call("share", {{"raw", "m"}, {"claim", HB_MEMORY_OWN}}).status, HB_INVALID);
  producer.ok("hip_free");
  producer.ok("hip_free", {{"raw", "m"}});
  producer.leave();
}

TEST_P(ForeignPointer, SmallFragmentsShareABufferAndAreRefusedByName) {
  Actor producer = gpu_actor();
  producer.ok("hip_alloc", {{"raw", "a"}, {"bytes", 65536}});
  producer.ok("hip_alloc", {{"raw", "b"}, {"bytes", 65536}});
  std::uint64_t calls = producer.ok("fake").number("export_calls");
  for (const char* name : {"a", "b"}) {  // the first lies at the start of the buffer
    for (int again = 0; again < 3; ++again) {
      const Answer refused = producer.call("share", {{"raw", name}, {"claim", HB_MEMORY_MALLOC}});
      EXPECT_EQ(refused.status, HB_NOT_SHAREABLE) << refused;
      EXPECT_NE(refused.message().find("buffer of 2097152"), std::string::npos) << refused;
      EXPECT_NE(refused.message().find("HSA_DISABLE_FRAGMENT_ALLOCATOR"), std::string::npos) << refused;
    }
    EXPECT_EQ(producer.ok("fake").number("export_calls"), ++calls) << name;  // asked again it costs none
  }
  // Told that it goes, the answer is forgotten.
  producer.ok("gone", {{"raw", "a"}});
  EXPECT_EQ(producer.call("share", {{"raw", "a"}, {"claim", HB_MEMORY_MALLOC}}).status, HB_NOT_SHAREABLE);
  EXPECT_EQ(producer.ok("fake").number("export_calls"), ++calls);
  EXPECT_EQ(producer.call("share", {{"raw", "b"}, {"claim", HB_MEMORY_MALLOC}}).status, HB_NOT_SHAREABLE);
  EXPECT_EQ(producer.ok("fake").number("export_calls"), calls);
  producer.ok("hip_free", {{"raw", "a"}});
  producer.ok("hip_free", {{"raw", "b"}});
  // An odd size that owns its buffer.
  producer.ok("hip_alloc", {{"raw", "c"}, {"bytes", 3 * kGpuChunk + 100}});
  producer.ok("gpu_fill", {{"raw", "c"}, {"on", 2}, {"seed", 1}});
  producer.ok("share", {{"raw", "c"}, {"claim", HB_MEMORY_MALLOC}, {"name", "kv"}, {"offset", 4096}});
  Actor consumer = gpu_actor();
  EXPECT_EQ(consumer.ok("import", {{"name", "kv"}}).number("bytes"), 3 * kGpuChunk + 100 - 4096);
  consumer.ok("gpu_check", {{"import", "i"}, {"on", 2}, {"seed", 1}, {"at", 4096}});
  consumer.leave();
  producer.ok("hip_free", {{"raw", "c"}});
  producer.leave();
}

TEST_P(ForeignPointer, WithoutHsaOnlyTheStartOfAnAllocation) {
  Actor producer = gpu_actor({{"FAKE_HIP_NO_HSA", "1"}});
  producer.ok("hip_alloc", {{"bytes", 2 * kGpuChunk}});
  const Answer base =
      producer.call("share", {{"raw", "r"}, {"bytes", 4096}, {"claim", HB_MEMORY_MALLOC}, {"name", "kv"}});
  const Answer inside = producer.call("share", {{"raw", "r"}, {"offset", 4096}, {"claim", HB_MEMORY_MALLOC}});
  if (is({"6.2"})) {
    EXPECT_EQ(base.status, HB_UNSUPPORTED) << base;
    EXPECT_EQ(inside.status, HB_UNSUPPORTED) << inside;
  } else {
    EXPECT_EQ(base.status, HB_OK) << base;
    EXPECT_EQ(inside.status, HB_NOT_SHAREABLE) << inside;
    EXPECT_NE(inside.message().find("libhsa-runtime64"), std::string::npos) << inside;
  }
  producer.ok("hip_free");
  producer.leave();
}

TEST_P(ForeignPointer, PoolAndHostMemoryAreRefusedByName) {
  Actor producer = gpu_actor();
  for (const char* how : {"pool", "host", "register", "file"}) {
    producer.ok("hip_alloc", {{"how", how}, {"bytes", 2 * kGpuChunk}});
    const std::uint64_t calls = producer.ok("fake").number("export_calls");
    const std::string word = how == std::string("pool")   ? "hipMallocAsync"
                             : how == std::string("file") ? "knows nothing at this address"
                                                          : "memory of the CPU";
    for (const int claim : {HB_MEMORY_UNKNOWN, HB_MEMORY_MALLOC, HB_MEMORY_VMM}) {
      const Answer refused = producer.call("share", {{"raw", "r"}, {"claim", claim}});
      EXPECT_EQ(refused.status, HB_NOT_SHAREABLE) << how << ": " << refused;
      const bool asked = claim != HB_MEMORY_UNKNOWN || !is_mute();
      EXPECT_EQ(refused.message().find(word) != std::string::npos, asked) << how << ": " << refused;
    }
    EXPECT_EQ(producer.ok("fake").number("export_calls"), calls) << how;
    producer.ok("hip_free");
  }
  producer.leave();
}

// What the probe saw counts for more than the table: here a build that has the fix.
TEST_P(ForeignPointer, AProbeThatFoundQueriesSafeOpensTheWay) {
  const TempDir cache;
  Actor producer = gpu_actor({{"FAKE_HIP_SWITCHES", "import_query_crashes=0"},
                              {"HIPBROKER_PROBE", "auto"},
                              {"HIPBROKER_PROBE_HELPER", HIP_PROBE_HELPER},
                              {"XDG_CACHE_HOME", cache.path()}});
  producer.ok("hip_alloc");
  producer.ok("share", {{"raw", "r"}});
  EXPECT_EQ(producer.ok("classify", {{"raw", "r"}}).number("memory"), std::uint64_t{HB_MEMORY_MALLOC});
  producer.ok("hip_free");
  producer.leave();
}

TEST_P(ForeignPointer, EveryCallFailsOnce) {
  Actor producer = gpu_actor();
  producer.ok("hip_vmm", {{"raw", "v"}, {"sizes", "2097152 2097152"}});
  producer.ok("hip_alloc", {{"raw", "m"}});
  for (const bool mapped : {true, false}) {
    if (mapped && !takes_mappings()) continue;
    const Message asked{
        {"raw", mapped ? "v" : "m"}, {"claim", mapped ? HB_MEMORY_VMM : HB_MEMORY_MALLOC}, {"name", "kv"}};
    ASSERT_EQ(producer.ok("share", asked).status, HB_OK);
    producer.ok("withdraw");
    producer.ok("destroy");
    const std::string before = producer.ok("fake").text("state");
    int refusals = 0;
    for (std::uint64_t k = 1; k < 200; ++k) {
      producer.ok("arm", {{"control", "fail=any:" + std::to_string(k)}});
      const Answer answer = producer.call("share", asked);
      const Answer now = producer.ok("fake", {{"control", "fail="}});
      if (answer.status == HB_OK) {
        producer.ok("withdraw");
        producer.ok("destroy");
      } else {
        ++refusals;
      }
      ASSERT_EQ(now.text("state"), before) << k << ": " << answer;
      EXPECT_EQ(producer.ok("list").text("names"), "");
      // Nothing that went wrong once is taken for the memory's nature.
      producer.ok("gone", {{"raw", mapped ? "v" : "m"}});
      if (now.number("calls") < k) break;
    }
    EXPECT_GT(refusals, 3);
  }
  producer.ok("hip_free", {{"raw", "v"}});
  producer.ok("hip_free", {{"raw", "m"}});
  producer.leave();
}

}  // namespace
}  // namespace hb::test
