// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// GPU memory from one process to another, through the library and the daemon, on every kind of runtime.
#include "integration/hip/gpu_fixture.h"

namespace hb::test {
namespace {

using GpuPath = Gpu;
HB_EVERY_GPU_VERSION(GpuPath);

TEST_P(GpuPath, BytesGoBothWaysOnTheDeviceFoundByItsIdentity) {
  for (const std::uint64_t chunks : {1, 3}) {
    Actor producer = gpu_actor({{"HIP_VISIBLE_DEVICES", "2,3"}});  // ordinal 0 is U2
    Actor consumer = gpu_actor({{"HIP_VISIBLE_DEVICES", "3,2"}});  // ordinal 1 is
    const Answer made = export_kv(producer, chunks, 0, {{"peers", "1"}});
    EXPECT_EQ(made.number("chunks"), chunks);
    EXPECT_EQ(made.text("uuid"), kU2);
    EXPECT_EQ(made.text("pci"), kPci2);
    const Answer listed = consumer.ok("list");
    EXPECT_EQ(listed.text("0.uuid"), kU2);
    EXPECT_EQ(listed.text("0.pci"), kPci2);

    const Answer imported =
        consumer.ok("import", {{"name", "kv"}, {"access", HB_ACCESS_READ_WRITE}, {"peers", "0"}});
    EXPECT_EQ(imported.number("bytes"), chunks * kGpuChunk);
    EXPECT_EQ(imported.number("chunks"), chunks);
    EXPECT_EQ(imported.text("uuid"), kU2);
    EXPECT_EQ(imported.text("host_granted"), "0");
    EXPECT_EQ(consumer.ok("fake").number("reservations"), 1u);
    for (const int device : {0, 1}) consumer.ok("gpu_check", {{"import", "i"}, {"on", device}, {"seed", 1}});
    consumer.ok("gpu_fill", {{"import", "i"}, {"on", 1}, {"seed", 2}});
    producer.ok("gpu_check", {{"mem", "m"}, {"on", 0}, {"seed", 2}});
    EXPECT_EQ(consumer.ok("fake", {{"line", 2}}).number("bytes"), chunks * kGpuChunk);

    consumer.ok("close_import");
    EXPECT_EQ(consumer.ok("fake").number("mappings"), 0u);
    consumer.leave();
    producer.leave();
  }
}

TEST_P(GpuPath, TheCpuIsLetInWhereTheRuntimeCan) {
  const bool own = is({"7.2", "7.14", "7.15"});
  const bool imports = is({"7.2", "7.14"});
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  const Answer made = export_kv(producer, 3, 2, {{"host", HB_HOST_PREFER}});
  EXPECT_EQ(made.number("host_granted"), own ? 1u : 0u);
  if (own) producer.ok("check", {{"mem", "m"}, {"seed", 1}});
  const Answer preferred = consumer.ok("import", {{"name", "kv"}, {"host", HB_HOST_PREFER}});
  EXPECT_EQ(preferred.number("host_granted"), imports ? 1u : 0u);
  consumer.ok("gpu_check", {{"import", "i"}, {"on", 2}, {"seed", 1}});
  if (imports) consumer.ok("check", {{"import", "i"}, {"seed", 1}});

  const Answer required =
      consumer.call("import", {{"import", "r"}, {"name", "kv"}, {"host", HB_HOST_REQUIRE}});
  EXPECT_EQ(required.status, imports ? HB_OK : HB_UNSUPPORTED) << required;
  if (imports) {
    EXPECT_EQ(required.number("host_granted"), 1u);
    EXPECT_NE(required.number("ptr"), preferred.number("ptr"));  // other grants, another mapping
  } else {
    EXPECT_NE(required.message().find("host_on_import"), std::string::npos) << required;
    EXPECT_EQ(consumer.ok("fake").number("reservations"), 1u);
  }
  const Answer alloc = producer.call(
      "alloc", {{"mem", "r"}, {"provider", HB_PROVIDER_HIP}, {"bytes", 1}, {"host", HB_HOST_REQUIRE}});
  EXPECT_EQ(alloc.status, own ? HB_OK : HB_UNSUPPORTED) << alloc;
  EXPECT_EQ(alloc.number("bytes"), own ? kGpuChunk : 0u);
  consumer.leave();
  producer.leave();
}

TEST_P(GpuPath, PartsAndWishedAddresses) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  export_kv(producer, 4);
  // The end of chunk 1, all of chunk 2, the start of chunk 3.
  const std::uint64_t at = 2 * kGpuChunk - 4096;
  const Answer part = consumer.ok("import", {{"name", "kv"}, {"offset", at}, {"bytes", kGpuChunk + 8192}});
  EXPECT_EQ(part.number("bytes"), kGpuChunk + 8192);
  EXPECT_EQ(part.number("chunks"), 3u);
  EXPECT_EQ(part.number("ptr") % kGpuChunk, kGpuChunk - 4096);
  consumer.ok("gpu_check", {{"import", "i"}, {"on", 2}, {"seed", 1}, {"at", at}});
  EXPECT_EQ(consumer.ok("fake").number("mappings"), 3u);

  // Free under the sanitizers too, which take most addresses for themselves.
  const std::uint64_t wish = 0x7e90'0000'0000 + 4096;
  const Message asked{{"import", "w"}, {"name", "kv"}, {"offset", 4096}, {"bytes", 4096}, {"address", wish}};
  EXPECT_EQ(consumer.ok("import", asked).number("ptr"), wish);
  consumer.ok("gpu_check", {{"import", "w"}, {"on", 2}, {"seed", 1}, {"at", 4096}});
  const Answer odd = consumer.call(
      "import", {{"import", "o"}, {"name", "kv"}, {"offset", 4096}, {"address", 0x7ea0'0000'0000}});
  EXPECT_EQ(odd.status, HB_RANGE) << odd;
  EXPECT_EQ(odd.text("what"), "address");
  const Answer taken = consumer.call(
      "import", {{"import", "t"}, {"name", "kv"}, {"offset", 4096}, {"bytes", 64}, {"address", wish}});
  EXPECT_EQ(taken.status, HB_ADDRESS) << taken;
  EXPECT_EQ(consumer.ok("fake").number("reservations"), 2u);

  // A key to a part of memory, exported as that part: whole chunks are mapped around it.
  producer.ok("export", {{"export", "p"}, {"mem", "m"}, {"offset", at}, {"bytes", 8192}, {"name", "part"}});
  const Answer cut = consumer.ok("import", {{"import", "c"}, {"name", "part"}});
  EXPECT_EQ(cut.number("bytes"), 8192u);
  consumer.ok("gpu_check", {{"import", "c"}, {"on", 2}, {"seed", 1}, {"at", at}});
  consumer.leave();
  producer.leave();
}

TEST_P(GpuPath, AnImporterThatDoesNotSeeTheOwner) {
  Actor producer = gpu_actor();
  Actor hidden = gpu_actor({{"ROCR_VISIBLE_DEVICES", "0,1"}});
  export_kv(producer, 3);
  const Answer imported = hidden.call("import", {{"name", "kv"}});
  if (is({"7.14", "7.15"})) {
    EXPECT_EQ(imported.status, HB_OK) << imported;
    hidden.ok("gpu_check", {{"import", "i"}, {"on", 0}, {"seed", 1}});
  } else {
    EXPECT_EQ(imported.status, HB_DEVICE) << imported;
    EXPECT_NE(imported.message().find(kU2), std::string::npos) << imported;
    EXPECT_NE(imported.message().find("ROCR_VISIBLE_DEVICES=0,1"), std::string::npos) << imported;
    EXPECT_EQ(hidden.ok("fake").number("reservations"), 0u);
  }
  hidden.leave();
  producer.leave();
}

TEST_P(GpuPath, AnImportIsNotExportedAgain) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  export_kv(producer, 3);
  // A part, so that the refusal holds for what lies around it, too.
  consumer.ok("import", {{"name", "kv"}, {"offset", kGpuChunk}, {"bytes", 4096}});
  const std::uint64_t first = consumer.ok("fake").number("calls");
  const std::uint64_t second = consumer.ok("fake").number("calls");  // with what the question itself costs
  const Answer again = consumer.call(
      "export", {{"import", "i"}, {"mem", "i"}, {"offset", 8192}, {"bytes", 4096}, {"name", "mine"}});
  EXPECT_EQ(again.status, HB_NOT_SHAREABLE) << again;
  EXPECT_NE(again.message().find("key"), std::string::npos) << again;
  EXPECT_EQ(consumer.ok("fake").number("calls"), second + (second - first));  // no driver call
  consumer.leave();
  producer.leave();
}

// Memory that the library did not make: descriptors, and the word of whoever exports them for where they are.
TEST_P(GpuPath, DescriptorsBroughtAlong) {
  Actor producer = gpu_actor();
  Actor middle = gpu_actor();
  Actor consumer = gpu_actor();
  export_kv(producer, 3);
  middle.ok("acquire", {{"name", "kv"}, {"access", HB_ACCESS_READ_WRITE}});
  const Message device{{"handles", "h"}, {"uuid", kU2}, {"pci", kPci2}};
  const auto export_as = [&](const char* name, std::uint64_t bytes) {
    Message asked = device;
    asked.insert({{"name", name}, {"export", name}, {"bytes", bytes}});
    return middle.ok("export", asked);
  };
  export_as("whole", kGpuChunk);
  consumer.ok("import", {{"import", "w"}, {"name", "whole"}});
  consumer.ok("gpu_check", {{"import", "w"}, {"on", 2}, {"seed", 1}});
  consumer.ok("close_import", {{"import", "w"}});

  // Half of each: GPU memory cannot be mapped so that they lie side by side.
  export_as("halves", kGpuChunk / 2);
  const Answer refused = consumer.call("import", {{"name", "halves"}});
  EXPECT_EQ(refused.status, HB_UNSUPPORTED) << refused;
  EXPECT_EQ(refused.number("chunk"), 1u);
  EXPECT_EQ(consumer.ok("fake").number("reservations"), 0u);
  const Answer first = consumer.ok("import", {{"import", "f"}, {"name", "halves"}, {"bytes", 4096}});
  EXPECT_EQ(first.text("uuid"), kU2);
  consumer.ok("gpu_check", {{"import", "f"}, {"on", 2}, {"seed", 1}});
  consumer.leave();
  middle.leave();
  producer.leave();
}

TEST_P(GpuPath, TheOwnersPointerAndAForkedChild) {
  Actor producer = gpu_actor();
  const Answer made = export_kv(producer, 3);
  const Answer alias = producer.ok("import", {{"name", "kv"}, {"alias", 1}, {"offset", 4096}});
  EXPECT_EQ(alias.number("ptr"), made.number("ptr") + 4096);
  EXPECT_EQ(alias.text("uuid"), kU2);
  EXPECT_EQ(alias.text("host_granted"), "0");
  const std::string before = producer.ok("fake").text("state");
  producer.ok("in_child", {{"do", "close_import"}});
  producer.ok("in_child", {{"do", "free"}});
  EXPECT_EQ(producer.ok("fake").text("state"), before);
  producer.ok("gpu_check", {{"mem", "m"}, {"on", 2}, {"seed", 1}});
  producer.leave();
}

}  // namespace
}  // namespace hb::test
