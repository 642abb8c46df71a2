// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Field report B14: every process numbers its GPUs anew, and no number may cross from one to another.
#include "cli/run_ctl.h"
#include "integration/hip/gpu_fixture.h"

namespace hb::test {
namespace {

class GpuDevices : public Gpu {
 protected:
  [[nodiscard]] Actor seeing(const char* variable, const char* devices) {
    return gpu_actor({{variable, devices}});
  }
  // Sees GPUs 2 and 3, exports memory of 2 that 3 reaches as well.
  [[nodiscard]] Actor producer() {
    Actor actor = seeing("HIP_VISIBLE_DEVICES", "2,3");
    export_kv(actor, 1, 0, {{"peers", "1"}});
    return actor;
  }
  static std::string peer(const char* uuid, const char* how) { return std::string(uuid) + "=" + how; }
};
HB_EVERY_GPU_VERSION(GpuDevices);

TEST_P(GpuDevices, B14_WireAndListsNameGpusByIdentity) {
  Actor producer = this->producer();
  const Ran listed = run_ctl({"ls", "--json", "--socket", daemon().socket()});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_NE(listed.out.find(std::string("\"uuid\": \"") + kU2), std::string::npos) << listed.out;
  EXPECT_NE(listed.out.find(std::string("\"uuid\": \"") + kU3), std::string::npos) << listed.out;
  EXPECT_EQ(listed.out.find("ordinal"), std::string::npos) << listed.out;
  const Ran shown = run_ctl({"show", "kv", "--socket", daemon().socket()});
  EXPECT_NE(shown.out.find(std::string("peer       ") + kU3 + ", PCI 0001:03:00.0"), std::string::npos)
      << shown.out;
  producer.leave();
}

TEST_P(GpuDevices, B14_AnImporterWithAnotherOrder) {
  Actor producer = this->producer();
  Actor consumer = seeing("HIP_VISIBLE_DEVICES", "3,2");
  const Answer imported = consumer.ok("import", {{"name", "kv"}, {"peers", "exporter"}});
  EXPECT_EQ(imported.text("uuid"), kU2);
  EXPECT_EQ(imported.text("ordinal"), "1");
  EXPECT_EQ(imported.text("peers"), peer(kU3, "0+"));
  consumer.ok("gpu_check", {{"import", "i"}, {"on", 0}, {"seed", 1}});
  consumer.ok("gpu_check", {{"import", "i"}, {"on", 1}, {"seed", 1}});
  // Told, and not let in, unless that was asked for: another mapping.
  const Answer alone = consumer.ok("import", {{"import", "a"}, {"name", "kv"}});
  EXPECT_EQ(alone.text("peers"), peer(kU3, "0-"));
  EXPECT_NE(alone.number("ptr"), imported.number("ptr"));
  EXPECT_EQ(consumer.call("gpu_check", {{"import", "a"}, {"on", 0}, {"seed", 1}}).status, 1);
  const Answer again = consumer.ok("import", {{"import", "b"}, {"name", "kv"}, {"peers", "exporter"}});
  EXPECT_EQ(again.number("ptr"), imported.number("ptr"));
  // Descriptors alone ask no runtime.
  const Answer handles = consumer.ok("acquire", {{"name", "kv"}});
  EXPECT_EQ(handles.text("ordinal"), "-1");
  EXPECT_EQ(handles.text("peers"), peer(kU3, "-1-"));
  consumer.leave();
  producer.leave();
}

TEST_P(GpuDevices, B14_AnImporterThatSeesTheOwnerAlone) {
  Actor producer = this->producer();
  Actor consumer = seeing("HIP_VISIBLE_DEVICES", "2");
  const Answer imported = consumer.ok("import", {{"name", "kv"}, {"peers", "exporter"}});
  EXPECT_EQ(imported.text("ordinal"), "0");
  EXPECT_EQ(imported.text("peers"), peer(kU3, "-1-"));
  consumer.ok("gpu_check", {{"import", "i"}, {"on", 0}, {"seed", 1}});
  consumer.leave();
  producer.leave();
}

TEST_P(GpuDevices, B14_AnImporterWithOtherGpus) {
  Actor producer = this->producer();
  Actor consumer = seeing("ROCR_VISIBLE_DEVICES", "0,1");
  const Answer imported = consumer.call("import", {{"name", "kv"}, {"peers", "exporter"}});
  if (is({"7.14", "7.15"})) {
    EXPECT_EQ(imported.status, HB_OK) << imported;
    EXPECT_EQ(imported.text("ordinal"), "-1");
    EXPECT_EQ(imported.text("peers"), peer(kU3, "-1-") + " " + peer("GPU-f00d000000000000", "0+") + " " +
                                          peer("GPU-f00d000000000001", "1+"));
    consumer.ok("gpu_check", {{"import", "i"}, {"on", 1}, {"seed", 1}});
  } else {
    EXPECT_EQ(imported.status, HB_DEVICE) << imported;
    for (const char* side : {kU2, "GPU-f00d000000000000", "GPU-f00d000000000001", "ROCR_VISIBLE_DEVICES=0,1"})
      EXPECT_NE(imported.message().find(side), std::string::npos) << side << ": " << imported;
    EXPECT_EQ(consumer.ok("fake").number("reservations"), 0u);
  }
  consumer.leave();
  producer.leave();
}

// Hidden from HIP alone: no runtime minds. The calling thread's current device goes first, since all calls
// are made on it.
TEST_P(GpuDevices, B14_AHiddenOwnerIsTriedWithTheCurrentDevice) {
  Actor producer = this->producer();
  Actor consumer = seeing("HIP_VISIBLE_DEVICES", "0,1");
  consumer.ok("set_device", {{"device", 1}});
  for (const char* peers : {"", "exporter", "all"}) {
    const Answer imported = consumer.ok("import", {{"name", "kv"}, {"peers", peers}});
    EXPECT_EQ(imported.text("peers"), peer(kU3, "-1-") + " " + peer("GPU-f00d000000000001", "1+") + " " +
                                          peer("GPU-f00d000000000000", "0+"))
        << peers;
    consumer.ok("gpu_check", {{"import", "i"}, {"on", 0}, {"seed", 1}});
    consumer.ok("close_import");
  }
  const Answer one = consumer.ok("import", {{"name", "kv"}, {"peers", "0"}});
  EXPECT_EQ(one.text("peers"), peer(kU3, "-1-") + " " + peer("GPU-f00d000000000000", "0+"));
  consumer.leave();
  // The exporter's peer is visible, the owner is not: the peer is who gets it.
  Actor other = seeing("HIP_VISIBLE_DEVICES", "1,3");
  const Answer imported = other.ok("import", {{"name", "kv"}, {"peers", "exporter"}});
  EXPECT_EQ(imported.text("ordinal"), "-1");
  EXPECT_EQ(imported.text("peers"), peer(kU3, "1+"));
  other.ok("gpu_check", {{"import", "i"}, {"on", 1}, {"seed", 1}});
  other.leave();
  producer.leave();
}

TEST_P(GpuDevices, AnExportersPeerThatDoesNotReachHereIsLeftOutAndToldSo) {
  Actor producer = this->producer();
  Actor consumer = gpu_actor({{"FAKE_HIP_SWITCHES", "no_peers=1"}});
  const Answer imported = consumer.ok("import", {{"name", "kv"}, {"peers", "exporter"}});
  EXPECT_EQ(imported.text("peers"), peer(kU3, "3-"));
  EXPECT_EQ(imported.text("ordinal"), "2");
  const Answer asked = consumer.call("import", {{"import", "a"}, {"name", "kv"}, {"peers", "3"}});
  EXPECT_EQ(asked.status, HB_DEVICE) << asked;
  EXPECT_EQ(
      consumer.call("alloc", {{"provider", HB_PROVIDER_HIP}, {"bytes", 1}, {"peers", "exporter"}}).status,
      HB_INVALID);
  // The owner's own pointer: its own ordinals.
  const Answer alias = producer.ok("import", {{"name", "kv"}, {"alias", 1}});
  EXPECT_EQ(alias.text("ordinal"), "0");
  EXPECT_EQ(alias.text("peers"), peer(kU3, "1+"));
  consumer.leave();
  producer.leave();
}

}  // namespace
}  // namespace hb::test
