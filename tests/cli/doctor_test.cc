// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// `hipbrokerctl doctor` as a program, over the fake runtime, without any, and with Debian's own.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/run_ctl.h"
#include "support/daemon_process.h"
#include "support/role.h"

namespace hb::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

using Variables = std::vector<std::pair<std::string, std::string>>;

HB_ROLE(fake_sysfs) {
  void* const library = ::dlopen(FAKE_HIP_PATH_7, RTLD_NOW);
  auto* const write = reinterpret_cast<int (*)(const char*)>(
      library != nullptr ? ::dlsym(library, "fake_hip_write_sysfs") : nullptr);
  ::_exit(write != nullptr && write(args.at(0).c_str()) == 0 ? 0 : 1);
}

class Doctor : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run_program({own_program(), "--role=fake_sysfs", sysfs_.path()}).exit_code, 0);
  }
  // The answers are remembered in a folder of the test's own; the GPUs are those of the fake's sysfs.
  Ran run(const Variables& env, std::vector<std::string> arguments = {}, bool daemon = true) {
    ProcessOptions options;
    options.env = {{"XDG_CACHE_HOME", cache_.path()}, {"HIPBROKER_SYSFS_ROOT", sysfs_.path()},
                   {"HIPBROKER_PROBE", ""},           {"HIPBROKER_PROBE_HELPER", ""},
                   {"HIP_VISIBLE_DEVICES", ""},       {"ROCR_VISIBLE_DEVICES", ""},
                   {"CUDA_VISIBLE_DEVICES", ""}};
    for (const auto& variable : env) options.env.push_back(variable);
    arguments.insert(arguments.begin(),
                     {"--socket", daemon ? daemon_.socket() : cache_ / "no.sock", "doctor"});
    return run_ctl(arguments, options);
  }
  json run_json(const Variables& env, int exit_code, std::vector<std::string> arguments = {}) {
    arguments.emplace_back("--json");
    const Ran ran = run(env, arguments);
    EXPECT_EQ(ran.exit_code, exit_code) << ran.out << ran.err;
    return json::parse(ran.out, nullptr, false);
  }
  static Variables fake(const std::string& version, const Variables& more = {}) {
    Variables out{{"HIPBROKER_HIP_RUNTIME", version == "6.2" ? FAKE_HIP_PATH_6 : FAKE_HIP_PATH_7},
                  {"FAKE_HIP_VERSION", version}};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  static json problem(const json& said, const std::string& name) {
    for (const json& one : said["problems"])
      if (one["name"] == name) return one;
    return nullptr;
  }

  TempDir sysfs_;
  TempDir cache_;
  DaemonProcess daemon_;
};

TEST_F(Doctor, AHealthyMachineExitsWithZero) {
  const Ran ran = run(fake("7.2"));
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_EQ(ran.err, "");  // progress is for terminals
  EXPECT_THAT(ran.out, HasSubstr(std::string("HIP 7.2.0 (") + FAKE_HIP_PATH_7 + ")"));
  EXPECT_THAT(ran.out, HasSubstr("hipbrokerd "));
  EXPECT_THAT(ran.out, HasSubstr("amdgpu 6.10.5"));
  for (const char* words :
       {"0000:03:00.0", "0000:83:00.0", "gfx942", "renderD130", "vm.max_map_count", "healthy: 0 broken"})
    EXPECT_THAT(ran.out, HasSubstr(words));
}

TEST_F(Doctor, EveryVersionIsToldApart) {
  for (const std::string version : {"6.2", "7.0", "7.1", "7.2", "7.14", "7.15"}) {
    const bool crashes = version == "7.14" || version == "7.15";
    const bool old_driver = version == "7.1";  // beside an amdgpu of AMD's own
    const json said = run_json(fake(version), crashes || old_driver ? 1 : 0);
    EXPECT_EQ(said["runtime"]["name"].get<std::string>().rfind("HIP " + version + ".0", 0), 0u);
    ASSERT_EQ(said["devices"].size(), 4u) << version;
    for (const json& device : said["devices"]) {
      EXPECT_EQ(device["probe"]["source"], "run") << version;
      EXPECT_EQ(device["probe"]["export"]["answer"], "yes");
      EXPECT_EQ(device["probe"]["import"]["answer"], "yes");
      EXPECT_EQ(device["probe"]["query_safe"]["answer"], crashes ? "no" : "yes") << version;
      EXPECT_TRUE(device["in_kernel"]);
    }
    EXPECT_EQ(problem(said, "import_query_crashes").is_null(), !crashes) << version;
    EXPECT_EQ(problem(said, "amdgpu_keeps_dma_bufs").is_null(), !old_driver) << version;
    // Once more: remembered, and anew when asked.
    EXPECT_EQ(run_json(fake(version), crashes || old_driver ? 1 : 0)["devices"][0]["probe"]["source"],
              "remembered");
    EXPECT_EQ(
        run_json(fake(version), crashes || old_driver ? 1 : 0, {"--again"})["devices"][3]["probe"]["source"],
        "run");
  }
}

TEST_F(Doctor, WithoutADaemonItSaysSoAndGoesOn) {
  const Ran ran = run(fake("7.2"), {}, false);
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("none answers"));
  EXPECT_THAT(ran.out, HasSubstr("warning  no_daemon: "));
  EXPECT_THAT(ran.out, HasSubstr("do: start `hipbrokerd` (as root, for the node) or `hipbrokerd --user`"));
  EXPECT_EQ(ran.out.find("hipbrokerd --user"), ran.out.rfind("hipbrokerd --user"));
  EXPECT_THAT(ran.out, HasSubstr("works, with warnings"));
}

TEST_F(Doctor, WithoutARuntimeItSaysWhatToInstall) {
  // No GPU in the kernel either, and no name that would be a mistake.
  const Ran ran = run(
      {{"HIPBROKER_SYSFS_ROOT", "/nonexistent"}, {"HIPBROKER_HIP_RUNTIME", "/nonexistent/libamdhip64.so"}});
  EXPECT_EQ(ran.exit_code, 2) << ran.out;
  EXPECT_THAT(ran.out,
              HasSubstr("broken   no_runtime: HIPBROKER_HIP_RUNTIME is /nonexistent/libamdhip64.so"));
  EXPECT_THAT(ran.out, HasSubstr("do: HIPBROKER_HIP_RUNTIME names /nonexistent/libamdhip64.so: let it name a "
                                 "libamdhip64.so of ROCm 6.2 or newer"));
  EXPECT_THAT(ran.out, HasSubstr("runtime  none"));
}

TEST_F(Doctor, ARuntimeThatCrashesAtItsStartIsNamed) {
  const json said = run_json({{"HIPBROKER_HIP_RUNTIME", HIP_CRASHING}}, 2);
  EXPECT_EQ(said["runtime"]["status"], "HB_SYSTEM");
  EXPECT_THAT(problem(said, "runtime_crashes")["text"].get<std::string>(), HasSubstr("SIGABRT"));
  EXPECT_EQ(said["devices"].size(), 4u);
}

TEST_F(Doctor, TwoRuntimesAreBothNamed) {
  const json said =
      run_json({{"LD_PRELOAD", FAKE_HIP_PATH_6}, {"HIPBROKER_HIP_RUNTIME", FAKE_HIP_PATH_7}}, 2);
  const json found = problem(said, "two_runtimes");
  ASSERT_FALSE(found.is_null()) << said.dump(1);
  EXPECT_THAT(found["text"].get<std::string>(), HasSubstr(FAKE_HIP_PATH_6));
  EXPECT_THAT(found["text"].get<std::string>(), HasSubstr(FAKE_HIP_PATH_7));
  EXPECT_THAT(found["advice"].get<std::string>(), HasSubstr("LD_PRELOAD"));
}

TEST_F(Doctor, HiddenGpusAreNamedWithTheVariable) {
  const json said = run_json(fake("7.2", {{"HIP_VISIBLE_DEVICES", "2"}}), 0);
  ASSERT_EQ(said["devices"].size(), 4u);
  EXPECT_EQ(said["devices"][0]["pci"], "0000:83:00.0");
  EXPECT_EQ(said["devices"][0]["ordinal"], 0);
  EXPECT_TRUE(said["devices"][1]["ordinal"].is_null());
  EXPECT_TRUE(said["devices"][1]["probe"].is_null());
  const json hidden = problem(said, "hidden_gpus");
  EXPECT_EQ(hidden["grade"], "note");
  EXPECT_THAT(hidden["text"].get<std::string>(), HasSubstr("0000:03:00.0, 0000:23:00.0, 0001:03:00.0"));
  EXPECT_THAT(hidden["advice"].get<std::string>(), HasSubstr("HIP_VISIBLE_DEVICES=2"));

  const json none = run_json(fake("7.2", {{"ROCR_VISIBLE_DEVICES", "99"}}), 2);
  EXPECT_EQ(none["runtime"]["status"], "HB_DEVICE");
  EXPECT_THAT(problem(none, "no_gpu")["advice"].get<std::string>(), HasSubstr("ROCR_VISIBLE_DEVICES=99"));
}

TEST_F(Doctor, WhatTheProbeFindsBrokenIsBroken) {
  const json corrupt = run_json(fake("7.2", {{"FAKE_HIP_SWITCHES", "corrupt_imports=1"}}), 2);
  EXPECT_EQ(corrupt["worst"], "broken");
  EXPECT_THAT(problem(corrupt, "gpu_import")["text"].get<std::string>(),
              HasSubstr("other bytes than were written"));
  // Seen, and not known of this version.
  const json asked = run_json(fake("7.2", {{"FAKE_HIP_SWITCHES", "import_query_crashes=1"}}), 1, {"--again"});
  EXPECT_EQ(problem(asked, "import_query_crashes")["grade"], "warning");
  const json missing =
      run_json(fake("7.2", {{"HIPBROKER_PROBE_HELPER", "/nonexistent/probe"}}), 2, {"--again"});
  EXPECT_THAT(problem(missing, "probe")["text"].get<std::string>(), HasSubstr("/nonexistent/probe: ENOENT"));
}

TEST_F(Doctor, WhatIsSwitchedOffIsUnknownAndNotBroken) {
  const json off = run_json(fake("7.2", {{"HIPBROKER_PROBE", "off"}}), 1);
  for (const json& device : off["devices"]) {
    EXPECT_EQ(device["probe"]["import"]["answer"], "unknown") << device;
    EXPECT_THAT(device["probe"]["import"]["reason"].get<std::string>(),
                HasSubstr("not tried: HIPBROKER_PROBE=off, and nothing is remembered"));
  }
  const Ran again = run(fake("7.2", {{"HIPBROKER_PROBE", "off"}}), {"--again"});
  EXPECT_EQ(again.exit_code, 1) << again.out;
  EXPECT_THAT(again.out,
              HasSubstr("warning  probe: GPUs 0-3: not tried: HIPBROKER_PROBE=off, so that nothing "
                        "can be tried anew\n         do: unset HIPBROKER_PROBE"));
  EXPECT_THAT(again.out, Not(HasSubstr("remembered")));
}

// What one run of doctor sees by an injected fault is no matter of the next program.
TEST_F(Doctor, AFaultOfOneProgramIsNotRememberedForAnother) {
  for (const char* fault : {"hipMemcpyAsync:2", "hipMemcpyAsync:1:2", "hipMemImportFromShareableHandle:1"}) {
    const Ran bad = run(fake("7.2", {{"FAKE_HIP_FAIL", fault}}));
    EXPECT_EQ(bad.exit_code, 2) << bad.out;
    EXPECT_THAT(bad.out, HasSubstr("broken   gpu_import: GPUs 0-3: import: "));
    EXPECT_THAT(bad.out, Not(HasSubstr("does not show the exporter's memory")));
  }
  EXPECT_EQ(run(fake("7.2")).exit_code, 0);
}

TEST_F(Doctor, FewDescriptorsAreTheOneBrokenRow) {
  for (std::uint64_t nofile = 5; nofile < 20; ++nofile) {
    ProcessOptions options;
    options.nofile = nofile;
    options.env = {{"XDG_CACHE_HOME", cache_.path()},
                   {"HIPBROKER_HIP_RUNTIME", FAKE_HIP_PATH_7},
                   {"HIPBROKER_SYSFS_ROOT", sysfs_.path()}};
    const Ran ran = run_ctl({"--socket", daemon_.socket(), "doctor"}, options);
    EXPECT_EQ(ran.out.find('\0'), std::string::npos) << nofile;
    EXPECT_THAT(ran.out + ran.err, Not(HasSubstr("did not end within"))) << nofile;
    EXPECT_THAT(ran.out + ran.err, Not(HasSubstr("reboot"))) << nofile;
    if (ran.exit_code != 2) continue;
    EXPECT_THAT(ran.out, HasSubstr("broken   few_descriptors: ")) << nofile;
    EXPECT_THAT(ran.out, HasSubstr("RLIMIT_NOFILE is " + std::to_string(nofile))) << nofile;
    EXPECT_THAT(ran.out, HasSubstr("broken: 1 broken")) << nofile;
  }
}

TEST_F(Doctor, WhatWasNotTriedSaysWhyAlsoWhenRemembered) {
  for (const char* source : {"run", "remembered"}) {
    const json said = run_json(fake("7.14"), 1);
    const json& probe = said["devices"][0]["probe"];
    EXPECT_EQ(probe["source"], source);
    EXPECT_EQ(probe["clean"]["answer"], "unknown");
    ASSERT_TRUE(probe["clean"]["reason"].is_string()) << source;
    EXPECT_THAT(probe["clean"]["reason"].get<std::string>(), HasSubstr("not tried: ")) << source;
  }
}

TEST_F(Doctor, PairsOfGpusAreCompared) {
  const json fine = run_json(fake("7.2"), 0, {"--peers"});
  ASSERT_EQ(fine["pairs"].size(), 12u);
  for (const json& pair : fine["pairs"]) EXPECT_EQ(pair["outcome"], "ok") << pair;
  EXPECT_TRUE(run_json(fake("7.2"), 0)["pairs"].is_null());

  const json wrong = run_json(fake("7.2", {{"FAKE_HIP_SWITCHES", "peers_see_junk=1"}}), 2, {"--peers"});
  for (const json& pair : wrong["pairs"]) EXPECT_EQ(pair["outcome"], "wrong_bytes") << pair;
  EXPECT_THAT(problem(wrong, "peer_wrong_bytes")["advice"].get<std::string>(), HasSubstr("iommu"));

  const Ran dead = run(fake("7.2", {{"FAKE_HIP_SWITCHES", "peer_access_aborts=1"}}), {"--peers"});
  EXPECT_EQ(dead.exit_code, 2);
  EXPECT_THAT(dead.out, HasSubstr("GPU 0  own    CRASHED  CRASHED  CRASHED"));
  EXPECT_THAT(dead.out, HasSubstr("died of SIGABRT"));

  const Ran none = run(fake("7.2", {{"FAKE_HIP_SWITCHES", "no_peers=1"}}), {"--peers"});
  EXPECT_EQ(none.exit_code, 0) << none.out;
  EXPECT_THAT(none.out, HasSubstr("no_access"));
}

TEST_F(Doctor, ADaemonWithoutItsSandboxIsANote) {
  EXPECT_EQ(run_json(fake("7.2"), 0)["daemon"]["sandbox"]["system_calls"], true);
  const DaemonProcess open({.args = {"--sandbox", "off"}});
  ProcessOptions options;
  options.env = {{"XDG_CACHE_HOME", cache_.path()},
                 {"HIPBROKER_HIP_RUNTIME", FAKE_HIP_PATH_7},
                 {"HIPBROKER_SYSFS_ROOT", sysfs_.path()}};
  const Ran ran = run_ctl({"--socket", open.socket(), "doctor", "--json"}, options);
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  const json said = json::parse(ran.out);
  EXPECT_EQ(said["daemon"]["sandbox"]["system_calls"], false);
  EXPECT_EQ(problem(said, "sandbox")["grade"], "note");
}

TEST_F(Doctor, LimitsAreToldInChunks) {
  ProcessOptions options;
  options.nofile = 256;
  options.env = {{"XDG_CACHE_HOME", cache_.path()},
                 {"HIPBROKER_HIP_RUNTIME", FAKE_HIP_PATH_7},
                 {"HIPBROKER_SYSFS_ROOT", sysfs_.path()}};
  const Ran ran = run_ctl({"--socket", daemon_.socket(), "doctor", "--json"}, options);
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  const json said = json::parse(ran.out);
  EXPECT_EQ(said["limits"]["descriptors_soft"], 256);
  const std::uint64_t open = said["limits"]["descriptors_open"];
  EXPECT_EQ(said["limits"]["chunks"], 256 - open);
  EXPECT_THAT(problem(said, "few_descriptors")["text"].get<std::string>(), HasSubstr("RLIMIT_NOFILE is 256"));
}

TEST_F(Doctor, DebiansOwnRuntimeIsRefusedWithTheVersionNeeded) {
  for (const Variables& env : {Variables{{"HIPBROKER_HIP_RUNTIME", HIP_DEBIAN_RUNTIME}}, Variables{}}) {
    const json said = run_json(env, 2);
    const json refused = problem(said, "runtime_refused");
    ASSERT_FALSE(refused.is_null()) << said.dump(1);
    EXPECT_THAT(refused["text"].get<std::string>(), HasSubstr("HIP 5.2."));
    EXPECT_THAT(refused["text"].get<std::string>(), HasSubstr("6.2 or newer"));
    EXPECT_THAT(refused["advice"].get<std::string>(), HasSubstr("ROCm 6.2 or newer"));
    EXPECT_EQ(refused["advice"].get<std::string>().rfind("HIPBROKER_HIP_RUNTIME names", 0) == 0,
              !env.empty());
    EXPECT_EQ(said["runtime"]["version"].get<int>() / 100'000, 502);
    EXPECT_EQ(said["devices"].size(), 4u);  // the kernel's
  }
}

}  // namespace
}  // namespace hb::test
