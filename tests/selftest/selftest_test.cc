// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The real hipbroker-selftest with its daemon and its processes, over every version of the fake runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>

#include "find_daemon.h"
#include "run_selftest.h"
#include "support/daemon_process.h"

namespace hb::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kGpuSteps[] = {
    "gpu/one-chunk", "gpu/three-chunks", "gpu/part",     "gpu/exporter-killed",   "gpu/withdraw",
    "probe/run",     "probe/export",     "probe/import", "gpu/malloc-by-pointer", "gpu/vmm-by-handles",
    "gpu/classify",  "gpu/range-gone",   "gpu/external", "gpu/unmap-when"};
constexpr const char* kHostSteps[] = {"host/one-chunk", "host/three-chunks", "host/part",
                                      "host/exporter-killed", "host/withdraw"};

Variables fake(const std::string& version, const Variables& more = {}) {
  Variables out{{"HIPBROKER_HIP_RUNTIME", version == "6.2" ? FAKE_HIP_PATH_6 : FAKE_HIP_PATH_7},
                {"FAKE_HIP_VERSION", version},
                {"FAKE_HIP_STATE", "selftest" + std::to_string(::getpid())}};
  for (const auto& variable : more) out.push_back(variable);
  return out;
}

class SelfTestProgram : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Hip, SelfTestProgram, testing::Values("6.2", "7.0", "7.1", "7.2", "7.14", "7.15"),
                         [](const auto& version) {
                           std::string name = "v" + version.param;
                           name[name.find('.')] = '_';
                           return name;
                         });

TEST_P(SelfTestProgram, PassesAndSaysWhatTheVersionCannot) {
  const TempDir folder;
  const SelfTest test = run_selftest(folder, fake(GetParam()));
  EXPECT_EQ(test.ran.exit_code, 0) << test.ran.out << test.ran.err;
  EXPECT_EQ(test.all("FAIL"), "") << test.ran.out;
  for (const char* name : kHostSteps) EXPECT_EQ(test.verdicts.at(name), "PASS") << test.ran.out;
  for (const char* name : kGpuSteps) EXPECT_EQ(test.verdicts.at(name), "PASS") << test.ran.out;
  for (const char* owner : {"0", "1", "2", "3"})
    EXPECT_EQ(test.verdicts.at(std::string("peers/memory-of-gpu-") + owner), "PASS");
  const std::map<std::string, std::string> expected{
      {"6.2",
       "gpu/host-access-import gpu/host-access-own gpu/vmm-by-pointer probe/host-on-import "
       "probe/host-on-own"},
      {"7.0",
       "gpu/host-access-import gpu/host-access-own gpu/vmm-by-pointer probe/host-on-import "
       "probe/host-on-own"},
      {"7.1",
       "gpu/host-access-import gpu/host-access-own gpu/vmm-by-pointer probe/host-on-import "
       "probe/host-on-own"},
      {"7.2", "gpu/vmm-by-pointer"},
      {"7.14", "gpu/classify-foreign probe/clean probe/query-safe"},
      {"7.15",
       "gpu/classify-foreign gpu/host-access-import probe/clean probe/host-on-import probe/query-safe"}};
  EXPECT_EQ(test.all("NOT HERE"), expected.at(GetParam())) << test.ran.out;
  if (test.verdicts.at("gpu/vmm-by-pointer") == "NOT HERE") {
    EXPECT_THAT(test.reasons.at("gpu/vmm-by-pointer"), HasSubstr("export by handles"));
  }
  if (test.verdicts.at("gpu/classify-foreign") == "NOT HERE") {
    EXPECT_THAT(test.reasons.at("gpu/classify-foreign"), HasSubstr("is not asked about memory"));
  }
  EXPECT_THAT(test.ran.out, HasSubstr("HIP " + GetParam() + ".0"));
  EXPECT_THAT(test.ran.out, HasSubstr(" 0 failed, "));
  EXPECT_EQ(test.ran.err, "");
  EXPECT_EQ(left_in(folder), 0u);
}

TEST(SelfTest, AFaultIsNamedAndTheExitStatusTells) {
  struct Fault {
    const char* variable;
    const char* value;
    const char* step;
    const char* words;
  };
  for (const Fault& fault : {
           Fault{"FAKE_HIP_SWITCHES", "corrupt_imports=1", "probe/import", "other bytes than were written"},
           Fault{"FAKE_HIP_SWITCHES", "peers_see_junk=1", "peers/memory-of-gpu-3", "device 0 reading memory"},
           Fault{"FAKE_HIP_SWITCHES", "peer_access_aborts=2", "peers/memory-of-gpu-1", "died of SIGABRT"},
           Fault{"FAKE_HIP_SWITCHES", "import_query_crashes=1", "probe/query-safe",
                 "hipPointerGetAttributes"},
           Fault{"FAKE_HIP_FAIL", "hipMemCreate:3:2", "gpu/three-chunks",
                 "hipMemCreate: hipErrorOutOfMemory"},
           Fault{"FAKE_HIP_FAIL", "hipImportExternalMemory:1", "gpu/external",
                 "hipImportExternalMemory: hipErrorUnknown"},
           Fault{"FAKE_HIP_FAIL", "hsa_amd_portable_export_dmabuf:1", "gpu/malloc-by-pointer",
                 "HB_NOT_SHAREABLE"},
       }) {
    const TempDir folder;
    const SelfTest test = run_selftest(folder, fake("7.2", {{fault.variable, fault.value}}));
    EXPECT_EQ(test.ran.exit_code, 1) << fault.value << "\n" << test.ran.out << test.ran.err;
    ASSERT_TRUE(test.verdicts.contains(fault.step)) << test.ran.out;
    EXPECT_EQ(test.verdicts.at(fault.step), "FAIL") << fault.value << "\n" << test.ran.out;
    EXPECT_THAT(test.reasons.at(fault.step), HasSubstr(fault.words));
    for (const char* name : kHostSteps) EXPECT_EQ(test.verdicts.at(name), "PASS") << test.ran.out;
    EXPECT_EQ(left_in(folder), 0u);
  }
}

// A runtime that complains when its process ends has seen something not given back.
TEST(SelfTest, AProcessThatEndsBadlyFailsItsStep) {
  const TempDir folder;
  const SelfTest test = run_selftest(folder, fake("7.2", {{"FAKE_HIP_FAIL", "hipMemUnmap:1:999:skip"}}));
  EXPECT_EQ(test.ran.exit_code, 1) << test.ran.out << test.ran.err;
  EXPECT_THAT(test.ran.out, HasSubstr("did its part, and then exited with 97"));
}

TEST(SelfTest, WithoutARuntimeGpuMemoryIsNotHereAndNothingFails) {
  const TempDir folder;
  const SelfTest test = run_selftest(folder, {{"HIPBROKER_HIP_RUNTIME", "/nonexistent/libamdhip64.so"}});
  EXPECT_EQ(test.ran.exit_code, 0) << test.ran.out << test.ran.err;
  for (const char* name : kHostSteps) EXPECT_EQ(test.verdicts.at(name), "PASS") << test.ran.out;
  for (const char* name : kGpuSteps) EXPECT_EQ(test.verdicts.at(name), "NOT HERE") << test.ran.out;
  EXPECT_EQ(test.verdicts.at("peers"), "NOT HERE");
  EXPECT_THAT(test.reasons.at("probe/run"), HasSubstr("/nonexistent/libamdhip64.so"));
  EXPECT_THAT(test.ran.out, HasSubstr("5 passed, 0 failed, 23 not here"));
}

TEST(SelfTest, WithoutHsaAnOldRuntimeExportsNoHipMalloc) {
  const TempDir folder;
  const SelfTest test = run_selftest(folder, fake("6.2", {{"FAKE_HIP_NO_HSA", "1"}}));
  EXPECT_EQ(test.ran.exit_code, 0) << test.ran.out << test.ran.err;
  EXPECT_EQ(test.verdicts.at("gpu/malloc-by-pointer"), "NOT HERE") << test.ran.out;
  EXPECT_THAT(test.reasons.at("gpu/malloc-by-pointer"), HasSubstr("hsa_amd_portable_export_dmabuf"));
  EXPECT_EQ(test.verdicts.at("gpu/vmm-by-handles"), "PASS") << test.ran.out;
}

TEST(SelfTest, ARuntimeThatCrashesAtItsStartFails) {
  const TempDir folder;
  const SelfTest test = run_selftest(folder, {{"HIPBROKER_HIP_RUNTIME", HIP_CRASHING}});
  EXPECT_EQ(test.ran.exit_code, 1) << test.ran.out << test.ran.err;
  EXPECT_EQ(test.verdicts.at("probe/run"), "FAIL");
  EXPECT_THAT(test.reasons.at("probe/run"), HasSubstr("SIGABRT"));
  EXPECT_EQ(test.verdicts.at("gpu/part"), "NOT HERE");
}

TEST(SelfTest, OneGpuHasNoPeers) {
  const TempDir folder;
  const SelfTest test = run_selftest(folder, fake("7.2", {{"HIP_VISIBLE_DEVICES", "2"}}));
  EXPECT_EQ(test.ran.exit_code, 0) << test.ran.out << test.ran.err;
  EXPECT_EQ(test.all("NOT HERE"), "gpu/vmm-by-pointer peers") << test.ran.out;
}

TEST(SelfTest, UsesARunningDaemonWhenOneIsNamed) {
  DaemonProcess daemon;
  const TempDir folder;
  const SelfTest test = run_selftest(folder, fake("7.2"), {"--socket", daemon.socket(), "--device", "3"});
  EXPECT_EQ(test.ran.exit_code, 0) << test.ran.out << test.ran.err;
  EXPECT_EQ(test.all("FAIL"), "");
  EXPECT_TRUE(poll_until([&] { return daemon.connections() == 0; }));
}

TEST(SelfTest, InterruptedItEndsItsDaemonAndLeavesNothing) {
  const TempDir folder;
  ProcessOptions options;
  options.env = {{"TMPDIR", folder.path()},
                 {"XDG_CACHE_HOME", folder.path()},
                 {"HIPBROKER_HIP_RUNTIME", FAKE_HIP_PATH_7},
                 {"FAKE_HIP_STATE", "selftest" + std::to_string(::getpid())}};
  const UniqueFd out(::memfd_create("stdout", MFD_CLOEXEC));
  Process process({HB_TEST_SELFTEST}, options, {{out.get(), STDOUT_FILENO}, {out.get(), STDERR_FILENO}});
  std::string socket;
  ASSERT_TRUE(poll_until([&] {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      if (std::filesystem::exists(socket = entry.path() / "broker.sock")) return true;
    return false;
  }));
  process.signal(SIGINT);
  const std::optional<int> status = process.wait();
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(describe_exit(*status), "exited with 130");
  EXPECT_EQ(left_in(folder), 0u);
}

TEST(SelfTest, ExitStatusWithoutADaemonAndOfAWrongCommandLine) {
  const TempDir folder;
  const SelfTest nobody = run_selftest(folder, {}, {"--socket", folder / "no.sock"});
  EXPECT_EQ(nobody.ran.exit_code, 69);
  EXPECT_THAT(nobody.ran.err, HasSubstr("no.sock"));
  EXPECT_EQ(run_selftest(folder, {}, {"--frobnicate"}).ran.exit_code, 64);
  EXPECT_EQ(run_selftest(folder, {}, {"--device", "-1"}).ran.exit_code, 64);
  EXPECT_EQ(run_selftest(folder, {{"TMPDIR", "/nonexistent"}}).ran.exit_code, 71);
  EXPECT_EQ(run_selftest(folder, {}, {"--help"}).ran.exit_code, 0);
}

TEST(SelfTest, ThePageTellsNoNames) {
  const TempDir folder;
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  const std::string home = std::filesystem::path(FAKE_HIP_PATH_7).parent_path();
  const SelfTest test = run_selftest(folder, fake("7.2", {{"HOME", home}}));
  EXPECT_THAT(test.ran.out, Not(HasSubstr(home)));
  EXPECT_THAT(test.ran.out, HasSubstr("(~/libamdhip64.so.7)"));
  EXPECT_THAT(test.ran.out, Not(HasSubstr("f00d")));  // the boards' serial numbers
  EXPECT_THAT(run_selftest(folder, fake("7.2", {{"FAKE_HIP_FAIL", "hipMemCreate:3:2"}})).ran.out,
              Not(HasSubstr("f00d")));
  if (std::string(host).size() >= 4) {
    EXPECT_THAT(test.ran.out, Not(HasSubstr(host)));
  }
}

TEST(SelfTest, TheManPageKnowsEveryOption) {
  const std::string page = read_file(HB_TEST_MAN_PAGE);
  for (const char* words : {"\\-\\-socket", "\\-\\-device", "\\-\\-help", "\\-\\-version", ".B 130"})
    EXPECT_THAT(page, HasSubstr(words));
}

TEST(SelfTest, TheDaemonIsLookedForBesideTheProgramAndInPath) {
  const auto places = selftest::daemon_places("/opt/hb/bin/hipbroker-selftest", "/usr/bin:relative:/sbin");
  EXPECT_EQ(places,
            (std::vector<std::string>{"/opt/hb/bin/hipbrokerd", "/opt/hb/sbin/hipbrokerd",
                                      "/opt/hb/libexec/hipbroker/hipbrokerd", "/opt/daemon/hipbrokerd",
                                      "/usr/bin/hipbrokerd", "/sbin/hipbrokerd"}));
}

}  // namespace
}  // namespace hb::test
