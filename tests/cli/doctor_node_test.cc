// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// S10: `hipbrokerctl doctor` on the files of six nodes: /proc, /sys, /boot, units and sockets under a root of
// the test's own.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/run_ctl.h"
#include "support/daemon_process.h"
#include "support/role.h"

namespace hb::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

HB_ROLE(fake_node) {
  void* const library = ::dlopen(FAKE_HIP_PATH_7, RTLD_NOW);
  auto* const write = reinterpret_cast<int (*)(const char*)>(
      library != nullptr ? ::dlsym(library, "fake_hip_write_sysfs") : nullptr);
  ::_exit(write != nullptr && write(args.at(0).c_str()) == 0 ? 0 : 1);
}

class S10_DoctorOfANode : public testing::Test {
 protected:
  // A healthy one; tests make it ill.
  void SetUp() override {
    ASSERT_EQ(run_program({own_program(), "--role=fake_node", root_.path()}).exit_code, 0);
    kernel("6.8.0-45-generic", "CONFIG_DMABUF_MOVE_NOTIFY=y\nCONFIG_PCI_P2PDMA=y\n");
    put("/proc/sys/vm/max_map_count", "1048576\n");
    unit("[Service]\nLimitNOFILE=1048576\nFileDescriptorStoreMax = 16\n");
    for (const auto& [path, mode] : {std::pair{"/run/hipbroker", 0755}, {"/run/hipbroker/admin", 0700}}) {
      std::filesystem::create_directories(root_.path() + path);
      change_mode(path, mode);
    }
    put("/run/hipbroker/broker.sock", "");
    change_mode("/run/hipbroker/broker.sock", 0666);
  }
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_.path() + path).parent_path());
    write_file(root_.path() + path, text);
  }
  void kernel(const std::string& release, const std::string& config) {
    put("/proc/sys/kernel/osrelease", release + "\n");
    put("/boot/config-" + release, "#\n# Automatically generated\n#\n" + config);
  }
  void unit(const std::string& text) { put("/usr/lib/systemd/system/hipbrokerd.service", text); }
  void change_mode(const std::string& path, mode_t mode) {
    ASSERT_EQ(::chmod((root_.path() + path).c_str(), mode), 0) << path;
  }

  struct Verdict {
    int exit_code = -1;
    json said;
    // Of those that are worse than a note: "grade name".
    std::vector<std::string> problems;
  };
  Verdict judge(const std::string& hip = "7.2") {
    ProcessOptions options;
    options.env = {{"XDG_CACHE_HOME", cache_.path()}, {"HIPBROKER_HIP_RUNTIME", FAKE_HIP_PATH_7},
                   {"FAKE_HIP_VERSION", hip},         {"HIPBROKER_PROBE", ""},
                   {"HIP_VISIBLE_DEVICES", ""},       {"ROCR_VISIBLE_DEVICES", ""},
                   {"HIPBROKER_SYSFS_ROOT", ""}};
    const Ran ran =
        run_ctl({"--socket", daemon_.socket(), "doctor", "--json", "--root", root_.path()}, options);
    Verdict out{ran.exit_code, json::parse(ran.out, nullptr, false), {}};
    EXPECT_FALSE(out.said.is_discarded()) << ran.out << ran.err;
    for (const json& one : out.said["problems"])
      if (one["grade"] != "note")
        out.problems.push_back(one["grade"].get<std::string>() + " " + one["name"].get<std::string>());
    return out;
  }
  static std::string text_of(const Verdict& verdict, const std::string& name) {
    for (const json& one : verdict.said["problems"])
      if (one["name"] == name)
        return one["text"].get<std::string>() + "; " + one["advice"].get<std::string>();
    return "no " + name;
  }

  TempDir root_;
  TempDir cache_;
  DaemonProcess daemon_;
};

TEST_F(S10_DoctorOfANode, Healthy) {
  const Verdict verdict = judge();
  EXPECT_EQ(verdict.exit_code, 0) << verdict.said.dump(1);
  EXPECT_THAT(verdict.problems, ElementsAre());
  const json& node = verdict.said["node"];
  EXPECT_EQ(node["release"], "6.8.0-45-generic");
  EXPECT_EQ(node["dmabuf_move_notify"], true);
  EXPECT_EQ(node["limit_nofile"], 1'048'576);
  EXPECT_EQ(node["file_descriptor_store_max"], 16);
  EXPECT_EQ(node["places"][1]["mode"], "0666");
  EXPECT_EQ(verdict.said["kernel"]["release"], "6.8.0-45-generic");
  EXPECT_EQ(verdict.said["limits"]["max_map_count"], 1'048'576);
}

TEST_F(S10_DoctorOfANode, AKernelTooOldIsBroken) {
  kernel("5.4.0-150-generic", "CONFIG_DMABUF_MOVE_NOTIFY=y\nCONFIG_PCI_P2PDMA=y\n");
  const Verdict verdict = judge();
  EXPECT_EQ(verdict.exit_code, 2);
  EXPECT_THAT(verdict.problems, ElementsAre("broken kernel_too_old"));
  EXPECT_THAT(text_of(verdict, "kernel_too_old"), HasSubstr("Linux 5.4.0-150-generic"));
  EXPECT_THAT(text_of(verdict, "kernel_before_6_5"), HasSubstr("SO_PEERPIDFD"));
}

TEST_F(S10_DoctorOfANode, AKernelBuiltWithoutMoveNotifyIsAWarning) {
  kernel("6.1.0-28-amd64", "# CONFIG_DMABUF_MOVE_NOTIFY is not set\nCONFIG_PCI_P2PDMA=y\n");
  const Verdict verdict = judge();
  EXPECT_EQ(verdict.exit_code, 1);
  EXPECT_THAT(verdict.problems, ElementsAre("warning no_peer_to_peer"));
  EXPECT_THAT(text_of(verdict, "no_peer_to_peer"), HasSubstr("without CONFIG_DMABUF_MOVE_NOTIFY:"));
}

TEST_F(S10_DoctorOfANode, AUnitThatCouldNotBeStartedAgainIsBroken) {
  unit("[Service]\nFileDescriptorStoreMax=4096\n");  // LimitNOFILE: systemd's own
  const Verdict verdict = judge();
  EXPECT_EQ(verdict.exit_code, 2);
  EXPECT_THAT(verdict.problems, ElementsAre("broken unit_descriptors"));
  EXPECT_THAT(text_of(verdict, "unit_descriptors"),
              HasSubstr("FileDescriptorStoreMax=4096 is not below LimitNOFILE=1024"));
  // A drop-in has the last word.
  put("/etc/systemd/system/hipbrokerd.service.d/limits.conf", "[Service]\nLimitNOFILE=8192:infinity\n");
  const Verdict better = judge();
  EXPECT_EQ(better.exit_code, 1);
  EXPECT_THAT(text_of(better, "unit_descriptors"), HasSubstr("LimitNOFILE=8192"));
}

TEST_F(S10_DoctorOfANode, ASocketDirectoryThatOthersCanWriteIsBroken) {
  change_mode("/run/hipbroker", 0777);
  change_mode("/run/hipbroker/admin", 0755);
  change_mode("/run/hipbroker/broker.sock", 0660);
  const Verdict verdict = judge();
  EXPECT_EQ(verdict.exit_code, 2);
  EXPECT_THAT(verdict.problems,
              ElementsAre("broken socket_directory", "broken admin_directory", "warning socket_mode"));
  EXPECT_THAT(text_of(verdict, "socket_directory"), HasSubstr("has mode 0777"));
  EXPECT_THAT(text_of(verdict, "socket_mode"), HasSubstr("has mode 0660"));
}

TEST_F(S10_DoctorOfANode, ARuntimeWithAKnownBugAndFewMappingsAreWarnings) {
  put("/proc/sys/vm/max_map_count", "4096\n");
  const Verdict verdict = judge("7.14");
  EXPECT_EQ(verdict.exit_code, 1);
  EXPECT_THAT(verdict.problems,
              testing::UnorderedElementsAre("warning import_query_crashes", "warning descriptor_per_create",
                                            "warning few_mappings"));
  EXPECT_THAT(text_of(verdict, "few_mappings"), HasSubstr("vm.max_map_count is 4096"));
}

}  // namespace
}  // namespace hb::test
