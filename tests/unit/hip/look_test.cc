// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The look at GPUs that `hipbrokerctl doctor` takes, and pairs of GPUs compared in the helper process.
#include "providers/hip/look.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "hipbroker/hipbroker.h"
#include "support/role.h"
#include "support/temp_dir.h"
#include "unit/hip/fixture.h"

namespace hb::test {
namespace {

using hc::PairEnd;
using EveryVersionPeers = EveryVersion;
HB_EVERY_VERSION(EveryVersionPeers);

Env with_helper(Env more = {}) {
  more["HIPBROKER_PROBE_HELPER"] = HIP_PROBE_HELPER;
  return more;
}

std::vector<hc::Pair> pairs_of(int owner) {
  const auto context = context_of();
  auto pairs = hc::check_peers(*context->runtime, context->devices, owner);
  EXPECT_TRUE(pairs) << text_of(pairs);
  return pairs ? std::move(*pairs) : std::vector<hc::Pair>();
}

TEST_P(EveryVersionPeers, EveryOtherGpuReadsAndWritesWhatIsThere) {
  const TempDir dir;
  const std::string trace = dir / "trace";
  expect_clean(env(with_helper({{"FAKE_HIP_TRACE", trace}})), [](const Hip& hip) {
    const auto pairs = pairs_of(2);
    ASSERT_EQ(pairs.size(), 3u);
    for (const hc::Pair& pair : pairs) {
      EXPECT_EQ(pair.owner, 2);
      EXPECT_EQ(pair.end, PairEnd::kOk) << pair.other << ": " << pair.reason;
    }
    EXPECT_EQ(hip.fake_hip_count("calls:hipMemCreate"), 0);  // not in this process
  });
  EXPECT_NE(read_file(trace).find("hipMemImportFromShareableHandle"), std::string::npos);
}

TEST(HipPeers, WrongBytesAreSeenAlthoughEveryCallSucceeds) {
  expect_clean(with_helper({{"FAKE_HIP_SWITCHES", "peers_see_junk=1"}}), [](const Hip&) {
    for (const hc::Pair& pair : pairs_of(0)) {
      EXPECT_EQ(pair.end, PairEnd::kWrongBytes) << pair.reason;
      EXPECT_NE(pair.reason.find("other bytes than were written, first at"), std::string::npos)
          << pair.reason;
    }
  });
}

TEST(HipPeers, ACrashEndsOnePairAndNotTheRest) {
  // Device 1 cannot be touched by anyone; all others are fine.
  expect_clean(with_helper({{"FAKE_HIP_SWITCHES", "peer_access_aborts=2"}}), [](const Hip&) {
    const auto dead = pairs_of(1);
    ASSERT_EQ(dead.size(), 3u);
    for (const hc::Pair& pair : dead) {
      EXPECT_EQ(pair.end, PairEnd::kCrashed) << pair.reason;
      EXPECT_NE(pair.reason.find("died of SIGABRT: device " + std::to_string(pair.other) + " reading"),
                std::string::npos)
          << pair.reason;
    }
    for (const hc::Pair& pair : pairs_of(0)) EXPECT_EQ(pair.end, PairEnd::kOk) << pair.reason;
  });
}

TEST(HipPeers, WhoDoesNotReachIsNamedAndAFailureHasItsCall) {
  expect_clean(with_helper({{"FAKE_HIP_DEVICES",
                             "uuid=f00d00000000000a pci=0000:03:00.0 peers=none;uuid=f00d00000000000b "
                             "pci=0000:04:00.0 peers=0"}}),
               [](const Hip&) {
                 const auto none = pairs_of(1);
                 ASSERT_EQ(none.size(), 1u);
                 EXPECT_EQ(none[0].end, PairEnd::kNoAccess) << none[0].reason;
                 const auto some = pairs_of(0);
                 ASSERT_EQ(some.size(), 1u);
                 EXPECT_EQ(some[0].end, PairEnd::kOk) << some[0].reason;
               });
  expect_clean(with_helper({{"FAKE_HIP_FAIL", "hipMemExportToShareableHandle:1:801"}}), [](const Hip&) {
    const auto pairs = pairs_of(0);
    ASSERT_EQ(pairs.size(), 3u);
    EXPECT_EQ(pairs[0].end, PairEnd::kFailed);
    EXPECT_NE(pairs[0].reason.find("hipErrorNotSupported (801)"), std::string::npos) << pairs[0].reason;
    EXPECT_EQ(pairs[1].end, PairEnd::kOk) << pairs[1].reason;
  });
}

TEST(HipPeers, AHelperThatCannotStartHipGivesEveryPairTheReason) {
  expect_clean(with_helper(), [](const Hip&) {
    const auto context = context_of();
    // This process has read it; the helper's fake will.
    ::setenv("FAKE_HIP_FAIL", "hipGetDeviceCount:1:999", 1);
    const auto pairs = hc::check_peers(*context->runtime, context->devices, 0);
    ASSERT_TRUE(pairs) << text_of(pairs);
    for (const hc::Pair& pair : *pairs) {
      EXPECT_EQ(pair.end, PairEnd::kFailed);
      EXPECT_NE(pair.reason.find("hipGetDeviceCount"), std::string::npos) << pair.reason;
    }
  });
}

TEST(HipPeers, ALineOfTheHelperIsUnderstoodOrRefused) {
  hc::Pair pair;
  ASSERT_TRUE(hc::take_pair_line("pair 12 wrong_bytes first at 7", pair));
  EXPECT_EQ(pair.other, 12);
  EXPECT_EQ(pair.end, PairEnd::kWrongBytes);
  EXPECT_EQ(pair.reason, "first at 7");
  for (const char* line : {"", "pair", "pair x ok", "pair 1", "pair 1 fine", "begin 1 ok", "pair 1x ok"})
    EXPECT_FALSE(hc::take_pair_line(line, pair)) << line;
}

// ---- the look -------------------------------------------------------------------------------------

// "ordinal pci minor in_kernel" a device, after the runtime's status and name.
// The words name runtimes to load before, with a ',' between.
HB_ROLE(look) {
  std::istringstream words(args.empty() ? "" : args[0]);
  for (std::string path; std::getline(words, path, ',');) static_cast<void>(::dlopen(path.c_str(), RTLD_NOW));
  const hc::Look look;
  std::printf("%d %d %d %s\n%s\n%s\n", look.refusal() != nullptr ? look.refusal()->status : 0,
              look.seen().copies, look.seen().version, look.seen().path.c_str(), look.amdgpu().c_str(),
              look.variables().c_str());
  for (const hc::Device& device : look.devices())
    std::printf("%d %s %u %d\n", device.ordinal, device.id.text().c_str(), device.render_minor,
                device.in_kernel ? 1 : 0);
  if (look.refusal() != nullptr) std::printf("%s\n", look.refusal()->message.c_str());
  std::fflush(stdout);
  ::_exit(0);
}

HB_ROLE(write_sysfs) {
  const Hip hip = Hip::load();
  const int failed = hip.fake_hip_write_sysfs(args.at(0).c_str());
  ::_exit(failed == 0 ? 0 : 1);
}

std::string look_with(const Env& env, const std::string& loaded = "") {
  const RoleResult result = run_role(env, "look", loaded);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return result.output;
}

TEST(HipLook, GpusThatOnlyTheKernelHasAreShownWithWhatHidesThem) {
  const TempDir root;
  ASSERT_EQ(run_role({}, "write_sysfs", root.path()).exit_code, 0);
  const Env env{{"HIPBROKER_HIP_RUNTIME", FAKE_HIP_PATH_7},
                {"HIPBROKER_SYSFS_ROOT", root.path()},
                {"HIP_VISIBLE_DEVICES", "2,0"}};
  const std::string text = look_with(env);
  EXPECT_EQ(text, std::string("0 1 70200000 ") + FAKE_HIP_PATH_7 +
                      "\n6.10.5\nHIP_VISIBLE_DEVICES=2,0\n"
                      "0 GPU-f00d000000000002 at 0000:83:00.0 130 1\n"
                      "1 GPU-f00d000000000000 at 0000:03:00.0 128 1\n"
                      "-1 GPU-f00d000000000001 at 0000:23:00.0 129 1\n"
                      "-1 GPU-f00d000000000003 at 0001:03:00.0 131 1\n");
}

TEST(HipLook, WithoutAUsableRuntimeTheKernelsListIsStillShown) {
  const TempDir root;
  ASSERT_EQ(run_role({}, "write_sysfs", root.path()).exit_code, 0);
  const std::string none = look_with(
      {{"HIPBROKER_HIP_RUNTIME", "/nonexistent/libamdhip64.so"}, {"HIPBROKER_SYSFS_ROOT", root.path()}});
  EXPECT_TRUE(none.starts_with(std::to_string(HB_UNSUPPORTED) + " 0 0 \n")) << none;
  EXPECT_NE(none.find("-1 GPU-f00d000000000003"), std::string::npos) << none;
  EXPECT_NE(none.find("/nonexistent/libamdhip64.so"), std::string::npos) << none;

  const std::string old =
      look_with({{"HIPBROKER_HIP_RUNTIME", FAKE_HIP_PATH_6}, {"FAKE_HIP_VERSION", "6.1"}});
  EXPECT_TRUE(old.starts_with(std::to_string(HB_UNSUPPORTED) + " 1 60100000 " + FAKE_HIP_PATH_6)) << old;

  const std::string two =
      look_with({{"FAKE_HIP_VERSION", "7.2"}}, std::string(FAKE_HIP_PATH_6) + "," + FAKE_HIP_PATH_7);
  EXPECT_TRUE(two.starts_with(std::to_string(HB_UNSUPPORTED) + " 2 0 \n")) << two;
}

TEST(HipLook, ARuntimeThatCrashesIsAnAnswerAndDoesNotEndTheLook) {
  const std::string dead =
      look_with({{"HIPBROKER_HIP_RUNTIME", HIP_CRASHING}, {"HIPBROKER_PROBE_HELPER", HIP_PROBE_HELPER}});
  EXPECT_TRUE(dead.starts_with(std::to_string(HB_SYSTEM) + " 1 0 ")) << dead;
  EXPECT_NE(dead.find("ended with SIGABRT"), std::string::npos) << dead;
}

TEST(HipLook, IssuesKnowWhatTheProbeSaw) {
  const TempDir cache;
  const auto named = [](const hc::Look& look, const std::string& name) -> std::optional<bool> {
    for (const hc::Issue& issue : look.issues())
      if (issue.name == name) return issue.seen;
    return std::nullopt;
  };
  expect_clean(with_helper({{"XDG_CACHE_HOME", cache.path()},
                            {"FAKE_HIP_VERSION", "7.14"},
                            {"FAKE_HIP_SWITCHES", "import_query_crashes=0"}}),
               [&](const Hip&) {
                 hc::Look look;
                 EXPECT_EQ(named(look, "import_query_crashes"), false);
                 EXPECT_EQ(named(look, "descriptor_per_create"), false);
                 const auto report = look.probe(0, false);
                 ASSERT_TRUE(report) << text_of(report);
                 EXPECT_EQ(report->source, "run");
                 EXPECT_EQ(named(look, "import_query_crashes"), std::nullopt);
                 EXPECT_EQ(named(look, "descriptor_per_create"), true);
                 EXPECT_EQ(look.probe(0, true)->source, "run");
                 EXPECT_EQ(look.probe(1, false)->source, "run");  // what this process has learnt
                 const auto none = look.probe(4, false);
                 ASSERT_FALSE(none);
                 EXPECT_EQ(none.error().status, HB_DEVICE);
               });
}

}  // namespace
}  // namespace hb::test
