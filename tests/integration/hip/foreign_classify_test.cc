// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hb_classify: what is at an address, on every runtime, without a crash.
#include "integration/hip/gpu_fixture.h"
#include "support/temp_dir.h"

namespace hb::test {
namespace {

using Classify = Gpu;
HB_EVERY_GPU_VERSION(Classify);

std::uint64_t kind(const Answer& answer) { return answer.number("memory"); }

TEST_P(Classify, OwnAndImportedMemoryCostNoDriverCall) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  const Answer made = export_kv(producer, 3);
  const Answer imported = consumer.ok("import", {{"name", "kv"}, {"offset", kGpuChunk}, {"bytes", 4096}});
  consumer.ok("alloc", {{"mem", "h"}, {"bytes", 8192}});
  const Answer exported = producer.ok("list");
  const std::uint64_t first = consumer.ok("fake").number("calls");
  const std::uint64_t second = consumer.ok("fake").number("calls");
  const Answer theirs = consumer.ok("classify", {{"import", "i"}, {"offset", 64}});
  const Answer host = consumer.ok("classify", {{"mem", "h"}});
  EXPECT_EQ(consumer.ok("fake").number("calls"), second + (second - first));
  EXPECT_EQ(kind(theirs), std::uint64_t{HB_MEMORY_IMPORTED});
  EXPECT_EQ(theirs.number("base"), imported.number("ptr"));
  EXPECT_EQ(theirs.number("bytes"), kGpuChunk);
  EXPECT_EQ(theirs.text("shareable"), "0");
  EXPECT_NE(theirs.text("reason").find("forward its key"), std::string::npos);
  EXPECT_EQ(theirs.number("export_id"), exported.number("0.id"));
  EXPECT_NE(theirs.number("generation"), 0u);
  EXPECT_EQ(theirs.number("owner_uid"), ::getuid());
  EXPECT_EQ(theirs.text("uuid"), kU2);
  EXPECT_EQ(theirs.text("ordinal"), "2");
  EXPECT_EQ(theirs.text("host"), "0");
  EXPECT_EQ(kind(host), std::uint64_t{HB_MEMORY_OWN});
  EXPECT_EQ(host.text("host"), "1");
  EXPECT_EQ(host.text("ordinal"), "-1");
  const Answer own = producer.ok("classify", {{"mem", "m"}, {"offset", kGpuChunk + 1}});
  EXPECT_EQ(kind(own), std::uint64_t{HB_MEMORY_OWN});
  EXPECT_EQ(own.number("base"), made.number("ptr"));
  EXPECT_EQ(own.number("bytes"), 3 * kGpuChunk);
  EXPECT_EQ(own.text("shareable"), "1");
  EXPECT_EQ(own.text("ordinal"), "2");
  // Whether the CPU reaches an import is known without asking as well.
  const Answer granted = consumer.ok("import", {{"import", "g"}, {"name", "kv"}, {"host", HB_HOST_PREFER}});
  EXPECT_EQ(consumer.ok("classify", {{"import", "g"}}).text("host"), granted.text("host_granted"));
  consumer.leave();
  producer.leave();
}

// On 7.14 and 7.15 the runtime dies of the question.
TEST_P(Classify, AnImportThatTheProgramMadeItself) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  export_kv(producer, 2);
  consumer.ok("acquire", {{"name", "kv"}, {"access", HB_ACCESS_READ_WRITE}});
  const Answer raw = consumer.ok("hip_import");
  for (const std::uint64_t offset : {std::uint64_t{0}, kGpuChunk + 4096}) {
    const Answer told = consumer.ok("classify", {{"raw", "r"}, {"offset", offset}});
    const bool mute = is({"7.14", "7.15"});
    EXPECT_EQ(kind(told), std::uint64_t{mute ? HB_MEMORY_UNKNOWN : HB_MEMORY_VMM}) << told;
    EXPECT_EQ(told.text("shareable"), "0") << told;
    EXPECT_EQ(told.number("base"), mute ? 0 : raw.number("ptr") + offset / kGpuChunk * kGpuChunk);
    if (mute) {
      EXPECT_NE(told.text("reason").find("hb_hip_probe"), std::string::npos) << told;
    }
    EXPECT_EQ(consumer.call("share", {{"raw", "r"}, {"offset", offset}}).status, HB_NOT_SHAREABLE);
  }
  const Answer handles = consumer.call("share", {{"raw", "r"}, {"by", "handles"}});
  EXPECT_EQ(handles.status, HB_NOT_SHAREABLE) << handles;
  EXPECT_NE(handles.message().find("came from another process"), std::string::npos) << handles;
  consumer.ok("hip_free");
  consumer.leave();
  producer.leave();
}

TEST_P(Classify, EveryKindOfTheProgramsOwnMemory) {
  // The runtimes that are not asked, with the fault mended: then they are.
  const TempDir cache;
  Actor actor = gpu_actor({{"FAKE_HIP_SWITCHES", "import_query_crashes=0"},
                           {"HIPBROKER_PROBE", "auto"},
                           {"HIPBROKER_PROBE_HELPER", HIP_PROBE_HELPER},
                           {"XDG_CACHE_HOME", cache.path()}});
  actor.ok("probe", {{"device", 2}});
  const auto expect = [&](const std::string& how, std::uint64_t memory, const std::string& shareable) {
    const Answer made = how == "vmm" ? actor.ok("hip_vmm", {{"sizes", 2 * kGpuChunk}})
                                     : actor.ok("hip_alloc", {{"how", how}, {"bytes", 2 * kGpuChunk}});
    const std::string before = actor.ok("fake").text("state");
    std::uint64_t calls = 0;
    for (int again = 0; again < 2; ++again) {
      const Answer told = actor.ok("classify", {{"raw", "r"}, {"offset", 4096}});
      EXPECT_EQ(kind(told), memory) << how << ": " << told;
      EXPECT_EQ(told.text("shareable"), shareable) << how << ": " << told;
      EXPECT_EQ(told.text("reason").empty(), shareable == "1") << how << ": " << told;
      if (memory != HB_MEMORY_UNKNOWN) {
        EXPECT_EQ(told.number("base"), made.number("ptr")) << how;
        EXPECT_EQ(told.number("bytes"), 2 * kGpuChunk) << how;
      }
      EXPECT_EQ(told.text("host"), memory == HB_MEMORY_HOST ? "1" : "-1") << how;
      const bool device = memory != HB_MEMORY_UNKNOWN && memory != HB_MEMORY_HOST;
      EXPECT_EQ(told.text("uuid"), device ? kU2 : "") << how;
      EXPECT_EQ(told.text("ordinal"), device ? "2" : "-1") << how;
      if (again == 0) calls = actor.ok("fake").number("export_calls");
    }
    EXPECT_EQ(actor.ok("fake").number("export_calls"), calls) << how;  // the answer was remembered
    EXPECT_EQ(actor.ok("fake").text("state"), before) << how;
    actor.ok("gone", {{"raw", "r"}});
    actor.ok("hip_free");
  };
  expect("vmm", HB_MEMORY_VMM, is({"7.14", "7.15"}) ? "1" : "0");
  expect("malloc", HB_MEMORY_MALLOC, "1");
  expect("pool", HB_MEMORY_POOL, "0");
  expect("host", HB_MEMORY_HOST, "0");
  expect("register", HB_MEMORY_HOST, "0");
  expect("file", HB_MEMORY_UNKNOWN, "0");
  actor.leave();
}

TEST_P(Classify, AnyAddress) {
  Actor actor = gpu_actor();
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4096}, UINT64_MAX}) {
    const Answer told = actor.ok("classify", {{"address", address}});
    EXPECT_EQ(kind(told), std::uint64_t{HB_MEMORY_UNKNOWN});
    EXPECT_NE(told.text("reason"), "");
  }
  actor.leave();
}

// The probe has not run: nothing is tried for a mere question.
TEST_P(Classify, RunsNoProbe) {
  const TempDir cache;
  Actor actor = gpu_actor({{"FAKE_HIP_SWITCHES", "import_query_crashes=0"},
                           {"HIPBROKER_PROBE", "auto"},
                           {"HIPBROKER_PROBE_HELPER", "/nonexistent"},
                           {"XDG_CACHE_HOME", cache.path()}});
  actor.ok("hip_alloc");
  const Answer told = actor.ok("classify", {{"raw", "r"}});
  const bool mute = is({"7.14", "7.15"});
  EXPECT_EQ(kind(told), std::uint64_t{mute ? HB_MEMORY_UNKNOWN : HB_MEMORY_MALLOC}) << told;
  EXPECT_EQ(told.text("shareable"), mute ? "0" : "-1") << told;
  EXPECT_NE(told.text("reason").find("hb_hip_probe"), std::string::npos) << told;
  actor.ok("hip_free");
  actor.leave();
}

using ClassifyAlone = DaemonTest;

TEST_F(ClassifyAlone, LoadsNoRuntime) {
  ProcessOptions options;
  options.env = {{"HIPBROKER_HIP_RUNTIME", FAKE_HIP_PATH_7}};  // there to be loaded
  Actor actor(options, "plain_actor");
  actor.ok("open", {{"socket", daemon().socket()}});
  actor.ok("alloc", {{"bytes", 4096}});
  EXPECT_EQ(kind(actor.ok("classify", {{"mem", "m"}})), std::uint64_t{HB_MEMORY_OWN});
  actor.ok("free");
  const Answer told = actor.ok("classify", {{"address", 0x10000}});
  EXPECT_EQ(kind(told), std::uint64_t{HB_MEMORY_UNKNOWN});
  EXPECT_NE(told.text("reason").find("no HIP runtime is loaded"), std::string::npos) << told;
  const Answer shared = actor.call("share", {{"address", 0x10000}, {"bytes", 4096}});
  EXPECT_EQ(shared.status, HB_NOT_SHAREABLE) << shared;
  EXPECT_NE(shared.message().find("no HIP runtime is loaded"), std::string::npos) << shared;
  EXPECT_EQ(actor.ok("maps", {{"word", "amdhip64"}}).text("found"), "0");
  actor.leave();
}

}  // namespace
}  // namespace hb::test
