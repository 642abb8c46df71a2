// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Where there are two GPUs; elsewhere these tests do not exist.
#include "gpu/gpu_fixture.h"

namespace hb::test {
namespace {

class TwoGpus : public GpuTest {
 protected:
  TwoGpus() : GpuTest("0,1") {}
};
HB_GPU_CASES(TwoGpus, two_gpu_cases);

TEST_P(TwoGpus, APeerReadsAndWrites) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  const Answer made = export_kv(producer, 3 * kGpuChunk, kGpuChunk);
  const Answer imported =
      consumer.ok("import", {{"name", "kv"}, {"access", HB_ACCESS_READ_WRITE}, {"peers", "1"}});
  EXPECT_EQ(imported.text("uuid"), made.text("uuid"));
  for (const int device : {0, 1}) check(consumer, {{"import", "i"}, {"on", device}}, 1);
  fill(consumer, {{"import", "i"}, {"on", 1}}, 2);
  check(producer, {{"mem", "m"}}, 2);
  consumer.leave();
  producer.leave();
}

// Ordinals are each process's own; the GPU is found by what it is.
TEST_P(TwoGpus, TheSameGpuUnderAnotherNumber) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor({{"CUDA_VISIBLE_DEVICES", "1,0"}});
  const Answer made = export_kv(producer, 3 * kGpuChunk, kGpuChunk);
  EXPECT_EQ(consumer.ok("probe", {{"device", 1}}).text("uuid"), made.text("uuid"));
  EXPECT_NE(consumer.ok("probe", {{"device", 0}}).text("uuid"), made.text("uuid"));
  consumer.ok("import", {{"name", "kv"}});
  check(consumer, {{"import", "i"}, {"on", 1}}, 1);
  consumer.leave();
  producer.leave();
}

// Hidden from HIP alone, memory of the owner is reached by the importer's own GPU. Where ROCr is known to
// need to see it, too, both sides are named.
TEST_P(TwoGpus, AnOwnerThatIsHidden) {
  Actor producer = gpu_actor();
  const Answer made = export_kv(producer, 3 * kGpuChunk, kGpuChunk);
  Actor hidden = gpu_actor({{"CUDA_VISIBLE_DEVICES", "1"}});
  const Answer imported = hidden.ok("import", {{"name", "kv"}});
  EXPECT_EQ(imported.text("uuid"), made.text("uuid"));
  check(hidden, {{"import", "i"}}, 1);
  hidden.leave();

  Actor deeper = gpu_actor({{"CUDA_VISIBLE_DEVICES", "1"}, {"ROCR_VISIBLE_DEVICES", "1"}});
  const Answer answer = deeper.call("import", {{"name", "kv"}});
  if (GetParam().version == "7.15") {
    EXPECT_EQ(answer.status, HB_OK) << answer;
    check(deeper, {{"import", "i"}}, 1);
  } else {
    EXPECT_EQ(answer.status, HB_DEVICE) << answer;
    EXPECT_NE(answer.message().find(made.text("uuid")), std::string::npos) << answer;
    EXPECT_NE(answer.message().find("ROCR_VISIBLE_DEVICES"), std::string::npos) << answer;
  }
  deeper.leave();
  producer.leave();
}

}  // namespace
}  // namespace hb::test
