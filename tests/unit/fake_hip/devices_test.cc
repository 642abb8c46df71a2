// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <dlfcn.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "hip_child.h"

namespace hb::test {
namespace {

std::vector<std::string> uuids(const Hip& hip) {
  int count = 0;
  static_cast<void>(hip.hipGetDeviceCount(&count));
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) {
    fh::Uuid uuid{};
    EXPECT_EQ(hip.hipDeviceGetUuid(&uuid, i), fh::kSuccess);
    out.emplace_back(uuid.bytes, 16);
  }
  return out;
}

std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

const std::string kU0 = "f00d000000000000";
const std::string kU1 = "f00d000000000001";
const std::string kU2 = "f00d000000000002";
const std::string kU3 = "f00d000000000003";
using Uuids = std::vector<std::string>;

TEST(FakeHipDevices, RocrFiltersFirstAndHipCountsWithinIt) {
  expect_clean({{"ROCR_VISIBLE_DEVICES", "2,3"}, {"HIP_VISIBLE_DEVICES", "1"}},
               [](const Hip& hip) { EXPECT_EQ(uuids(hip), Uuids{kU3}); });
  expect_clean({{"ROCR_VISIBLE_DEVICES", "GPU-" + kU3 + ",0"}}, [](const Hip& hip) {
    EXPECT_EQ(uuids(hip), (Uuids{kU3, kU0}));
  });
  expect_clean({{"HIP_VISIBLE_DEVICES", "3,2"}}, [](const Hip& hip) {
    EXPECT_EQ(uuids(hip), (Uuids{kU3, kU2}));
  });
}

TEST(FakeHipDevices, CudaListCountsOnlyWithoutAHipList) {
  expect_clean({{"CUDA_VISIBLE_DEVICES", "1"}}, [](const Hip& hip) { EXPECT_EQ(uuids(hip), Uuids{kU1}); });
  expect_clean({{"HIP_VISIBLE_DEVICES", "2"}, {"CUDA_VISIBLE_DEVICES", "1"}},
               [](const Hip& hip) { EXPECT_EQ(uuids(hip), Uuids{kU2}); });
}

TEST(FakeHipDevices, AnEntryThatNamesNothingEndsTheList) {
  expect_clean({{"ROCR_VISIBLE_DEVICES", "1,9,0"}},
               [](const Hip& hip) { EXPECT_EQ(uuids(hip), Uuids{kU1}); });
  expect_clean({{"ROCR_VISIBLE_DEVICES", ""}}, [](const Hip& hip) {
    EXPECT_EQ(hip.hipInit(0), fh::kNoDevice);
    EXPECT_TRUE(uuids(hip).empty());
  });
}

TEST(FakeHipDevices, VersionsAreReportedInEightDigits) {
  const std::map<std::string, int> versions = {{"6.2", 60200000},       {"7.0", 70000000},
                                               {"7.1", 70100000},       {"7.14", 71400000},
                                               {"7.1.25424", 70125424}, {"7.15", 71500000}};
  for (const auto& [text, number] : versions)
    expect_clean({{"FAKE_HIP_VERSION", text}}, [number = number](const Hip& hip) {
      int version = 0;
      EXPECT_EQ(hip.hipRuntimeGetVersion(&version), fh::kSuccess);
      EXPECT_EQ(version, number);
    });
}

TEST(FakeHipDevices, AttributesHaveAmdsNumbers) {
  const auto attribute = [](const Hip& hip, int number) {
    int value = -1;
    return hip.hipDeviceGetAttribute(&value, number, 0) == fh::kSuccess ? value : -1;
  };
  expect_clean({{"FAKE_HIP_VERSION", "7.2"}}, [&](const Hip& hip) {
    EXPECT_EQ(attribute(hip, 89), 1);
    EXPECT_EQ(attribute(hip, 10011), 1);
    EXPECT_EQ(attribute(hip, 67), 3);
    EXPECT_EQ(attribute(hip, 93), -1);  // known from 7.12 on
    EXPECT_EQ(hip.fake_hip_control("no_vmm=1,no_large_bar=1"), 0);
    EXPECT_EQ(attribute(hip, 89), 0);
    EXPECT_EQ(attribute(hip, 10011), 0);
  });
  expect_clean({{"FAKE_HIP_VERSION", "7.14"}}, [&](const Hip& hip) { EXPECT_EQ(attribute(hip, 93), 1); });
}

TEST(FakeHipDevices, AddressRangeExportIsNoSymbolOfTheOldLibrary) {
  expect_clean({{"FAKE_HIP_VERSION", "6.2"}},
               [](const Hip& hip) { EXPECT_EQ(hip.symbol("hipMemGetHandleForAddressRange"), nullptr); });
  expect_clean({{"FAKE_HIP_VERSION", "7.0"}},
               [](const Hip& hip) { EXPECT_NE(hip.symbol("hipMemGetHandleForAddressRange"), nullptr); });
}

TEST(FakeHipDevices, PartitionsShareAnAddress) {
  const std::string text =
      "uuid=aaaa000000000001 pci=0002:c1:00.0 partition=0;uuid=aaaa000000000001 pci=0002:c1:00.0 partition=1";
  const auto bus = [](const Hip& hip, int device) {
    char id[32] = {};
    EXPECT_EQ(hip.hipDeviceGetPCIBusId(id, sizeof id, device), fh::kSuccess);
    EXPECT_EQ(hip.hipDeviceGetPCIBusId(id, 12, device), fh::kInvalidValue);
    return std::string(id);
  };
  expect_clean({{"FAKE_HIP_DEVICES", text}}, [&](const Hip& hip) {
    EXPECT_EQ(bus(hip, 0), "0002:c1:00.0");
    EXPECT_EQ(bus(hip, 1), "0002:c1:00.0");
    EXPECT_EQ(hip.fake_hip_control("partition_in_function=1"), 0);
    EXPECT_EQ(bus(hip, 1), "0002:c1:00.1");
  });
}

TEST(FakeHipDevices, SysfsTreeTellsTheSameIdentities) {
  char root[] = "/tmp/fakehipXXXXXX";
  ASSERT_NE(::mkdtemp(root), nullptr);
  const std::string text = "uuid=00ab000000000001 pci=0002:c1:00.0 partition=3 render=140 gfx=gfx90a vram=8G";
  expect_clean({{"FAKE_HIP_DEVICES", text}},
               [&](const Hip& hip) { EXPECT_EQ(hip.fake_hip_write_sysfs(root), 0); });
  const std::filesystem::path sys = std::filesystem::path(root) / "sys";
  const std::string properties = slurp(sys / "class/kfd/kfd/topology/nodes/1/properties");
  EXPECT_NE(properties.find("unique_id " + std::to_string(0x00ab000000000001ull) + "\n"), std::string::npos);
  EXPECT_NE(properties.find("location_id " + std::to_string(0xc100u | 3u << 28) + "\n"), std::string::npos);
  EXPECT_NE(properties.find("domain 2\n"), std::string::npos);
  EXPECT_NE(properties.find("drm_render_minor 140\n"), std::string::npos);
  EXPECT_NE(properties.find("gfx_target_version 90010\n"), std::string::npos);
  EXPECT_NE(slurp(sys / "class/kfd/kfd/topology/nodes/0/properties").find("simd_count 0\n"),
            std::string::npos);
  EXPECT_EQ(std::filesystem::canonical(sys / "class/drm/renderD140/device").filename(), "0002:c1:00.0");
  std::filesystem::remove_all(root);
}

TEST(FakeHipDevices, PeersFollowTheDescription) {
  const std::string text = "uuid=aaaa000000000001 peers=1\nuuid=aaaa000000000002 peers=none";
  expect_clean({{"FAKE_HIP_DEVICES", text}}, [](const Hip& hip) {
    int can = -1;
    EXPECT_EQ(hip.hipDeviceCanAccessPeer(&can, 0, 1), fh::kSuccess);
    EXPECT_EQ(can, 1);
    EXPECT_EQ(hip.hipDeviceCanAccessPeer(&can, 1, 0), fh::kSuccess);
    EXPECT_EQ(can, 0);
  });
}

}  // namespace
}  // namespace hb::test
