// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// GPUs by identity: the same in every process whatever it sees (field report B14).
#include "providers/hip/device.h"

#include "hipbroker/hipbroker.h"
#include "support/temp_dir.h"
#include "unit/hip/fixture.h"

namespace hb::test {
namespace {

const hc::DeviceId kU2{"GPU-f00d000000000002", "0000:83:00.0", 0};
const hc::DeviceId kU3{"GPU-f00d000000000003", "0001:03:00.0", 0};

// The device table over a sysfs that matches the fake's devices.
void with_table(const Env& env, const std::function<void(const Hip&, const hc::Context&)>& body) {
  const TempDir root;
  expect_clean(env, [&](const Hip& hip) {
    ASSERT_EQ(hip.fake_hip_write_sysfs(root.path().c_str()), 0);
    const auto context = context_of(root.path());
    ASSERT_NE(context, nullptr);
    body(hip, *context);
  });
}

TEST(HipDevice, AnExporterTellsIdentitiesAndNoOrdinals) {
  with_table({{"HIP_VISIBLE_DEVICES", "2,3"}}, [](const Hip&, const hc::Context& context) {
    ASSERT_EQ(context.devices.devices().size(), 2u);
    EXPECT_EQ(context.devices.at(0)->id, kU2);
    EXPECT_EQ(context.devices.at(1)->id, kU3);
    EXPECT_EQ(context.devices.at(0)->render_minor, 130u);
    EXPECT_EQ(context.devices.at(0)->gfx, "gfx942");
    EXPECT_TRUE(context.devices.at(0)->in_kernel);
    EXPECT_TRUE(context.devices.at(0)->vmm);
    EXPECT_TRUE(context.devices.at(0)->large_bar);
    EXPECT_EQ(context.devices.at(2), nullptr);
  });
}

TEST(HipDevice, AnImporterThatSeesThemInAnotherOrderFindsThem) {
  for (const char* variable : {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
    with_table({{variable, "3,2"}}, [](const Hip&, const hc::Context& context) {
      ASSERT_NE(context.devices.find(kU2), nullptr);
      EXPECT_EQ(context.devices.find(kU2)->ordinal, 1);
      EXPECT_EQ(context.devices.ordinals({kU3}, nullptr), std::vector<int>{0});
      const auto access = hc::access_for_import(context, kU2, context.devices.ordinals({kU3}, nullptr),
                                                hc::HostAccess::kNone);
      ASSERT_TRUE(access) << text_of(access);
      EXPECT_EQ(access->owner, 1);
      EXPECT_EQ(access->peers, std::vector<int>{0});
    });
}

TEST(HipDevice, AnImporterThatDoesNotSeeTheOwnerIsToldBothSides) {
  with_table({{"ROCR_VISIBLE_DEVICES", "0,1"}}, [](const Hip&, const hc::Context& context) {
    EXPECT_EQ(context.devices.find(kU2), nullptr);
    const auto access = hc::access_for_import(context, kU2, {}, hc::HostAccess::kNone);
    ASSERT_FALSE(access);
    EXPECT_EQ(access.error().status, HB_DEVICE);
    for (const char* words : {"GPU-f00d000000000002 at 0000:83:00.0", "GPU-f00d000000000000 at 0000:03:00.0",
                              "GPU-f00d000000000001 at 0000:23:00.0", "ROCR_VISIBLE_DEVICES=0,1"})
      EXPECT_NE(access.error().message.find(words), std::string::npos) << access.error().message;
  });
}

TEST(HipDevice, AnImporterThatSeesOnlyTheOwnerGoesWithoutThePeer) {
  with_table({{"HIP_VISIBLE_DEVICES", "2"}}, [](const Hip&, const hc::Context& context) {
    std::vector<hc::DeviceId> hidden;
    EXPECT_TRUE(context.devices.ordinals({kU3}, &hidden).empty());
    EXPECT_EQ(hidden, std::vector<hc::DeviceId>{kU3});
    const auto access = hc::access_for_import(context, kU2, {}, hc::HostAccess::kNone);
    ASSERT_TRUE(access) << text_of(access);
    EXPECT_EQ(access->owner, 0);
    EXPECT_TRUE(access->peers.empty());
  });
}

TEST(HipDevice, PartitionsOfOneGpuAreToldApart) {
  const std::string devices =
      "uuid=00000000000000a0 pci=0000:03:00.0 partition=0 render=128;"
      "uuid=00000000000000a1 pci=0000:03:00.0 partition=1 render=129;"
      "uuid=00000000000000a2 pci=0000:03:00.0 partition=2 render=130";
  for (const char* function : {"partition_in_function=0", "partition_in_function=1"})
    with_table(
        {{"FAKE_HIP_DEVICES", devices}, {"FAKE_HIP_SWITCHES", function}, {"HIP_VISIBLE_DEVICES", "2,0"}},
        [](const Hip&, const hc::Context& context) {
          EXPECT_EQ(context.devices.at(0)->id, (hc::DeviceId{"GPU-00000000000000a2", "0000:03:00.0", 2}));
          EXPECT_EQ(context.devices.at(1)->id, (hc::DeviceId{"GPU-00000000000000a0", "0000:03:00.0", 0}));
          EXPECT_EQ(context.devices.at(0)->render_minor, 130u);
          EXPECT_EQ(context.devices.find({"", "0000:03:00.0", 2})->ordinal, 0);
          EXPECT_EQ(context.devices.find({"", "0000:03:00.0", 1}), nullptr);
        });
}

TEST(HipDevice, PartitionsWithoutUuidAreTakenInOrderOnlyWhileAllAreVisible) {
  const std::string devices =
      "uuid=XX pci=0000:03:00.0 partition=0;uuid=XX pci=0000:03:00.0 partition=1;uuid=XX pci=0000:43:00.0";
  with_table({{"FAKE_HIP_DEVICES", devices}}, [](const Hip&, const hc::Context& context) {
    EXPECT_EQ(context.devices.at(0)->id, (hc::DeviceId{"", "0000:03:00.0", 0}));
    EXPECT_EQ(context.devices.at(1)->id, (hc::DeviceId{"", "0000:03:00.0", 1}));
    EXPECT_EQ(context.devices.at(2)->id, (hc::DeviceId{"", "0000:43:00.0", 0}));
  });
  with_table({{"FAKE_HIP_DEVICES", devices}, {"HIP_VISIBLE_DEVICES", "1"}},
             [](const Hip&, const hc::Context& context) { EXPECT_FALSE(context.devices.at(0)->in_kernel); });
}

TEST(HipDevice, WithoutKfdTheRuntimesWordStands) {
  expect_clean({}, [](const Hip&) {
    const auto context = context_of("/nonexistent");
    EXPECT_EQ(context->devices.at(2)->id, kU2);
    EXPECT_FALSE(context->devices.at(2)->in_kernel);
  });
}

TEST(HipDevice, NoGpuIsADeviceErrorThatNamesTheVariables) {
  expect_clean({{"HIP_VISIBLE_DEVICES", "9"}}, [](const Hip&) {
    const auto runtime = hc::Runtime::get();
    ASSERT_TRUE(runtime);
    const auto table = hc::DeviceTable::read(**runtime, "");
    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().status, HB_DEVICE);
    EXPECT_NE(table.error().message.find("HIP_VISIBLE_DEVICES=9"), std::string::npos)
        << table.error().message;
  });
}

TEST(HipDevice, AnUnknownAttributeIsNoVerdict) {
  expect_clean({{"FAKE_HIP_SWITCHES", "vmm_attribute_unknown=1"}},
               [](const Hip&) { EXPECT_TRUE(context_of()->devices.at(0)->vmm); });
  expect_clean({{"FAKE_HIP_SWITCHES", "no_vmm=1"}},
               [](const Hip&) { EXPECT_FALSE(context_of()->devices.at(0)->vmm); });
}

TEST(HipDevice, PeersThatCannotReachAreLeftOutOfAllAndRefusedByName) {
  const std::string devices =
      "uuid=00000000000000a0 pci=0000:03:00.0 peers=1;uuid=00000000000000a1 pci=0000:13:00.0 peers=0;"
      "uuid=00000000000000a2 pci=0000:23:00.0 peers=none";
  expect_clean({{"FAKE_HIP_DEVICES", devices}}, [](const Hip&) {
    const auto context = context_of();
    const auto all = hc::access_for(*context, 0, {}, hc::HostAccess::kNone);
    ASSERT_TRUE(all) << text_of(all);
    EXPECT_EQ(all->peers, std::vector<int>{1});
    const auto asked = hc::access_for(*context, 0, {1, 2}, hc::HostAccess::kNone);
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.error().status, HB_DEVICE);
    EXPECT_NE(asked.error().message.find("GPU-00000000000000a2"), std::string::npos) << asked.error().message;
  });
}

}  // namespace
}  // namespace hb::test
