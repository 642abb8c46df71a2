// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The runtime tried out in a helper process, over every version of the fake; how the answer is kept.
#include "providers/hip/probe.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

#include "clock.h"
#include "hipbroker/hipbroker.h"
#include "providers/hip/helper_process.h"
#include "support/fd_census.h"
#include "support/role.h"
#include "support/temp_dir.h"
#include "unit/hip/fixture.h"

namespace hb::test {
namespace {

using hc::Ability;
using hc::Answer;
using hc::Quirk;
using EveryVersionProbe = EveryVersion;
HB_EVERY_VERSION(EveryVersionProbe);

constexpr std::uint64_t kLong = 60'000'000'000;

hc::ProbeReport probe_here() {
  const auto context = context_of();
  return hc::probe(*context->runtime, *context->devices.at(0), "/nonexistent");
}

Env probing(const std::string& cache, Env more = {}) {
  more["XDG_CACHE_HOME"] = cache;
  more["HIPBROKER_PROBE_HELPER"] = HIP_PROBE_HELPER;
  return more;
}

// Processes that created memory, by the fake's trace.
std::size_t creators(const std::string& trace) {
  std::set<std::string> pids;
  std::istringstream lines(read_file(trace));
  for (std::string line; std::getline(lines, line);)
    if (line.find("hipMemCreate") != std::string::npos) pids.insert(line.substr(0, line.find(' ')));
  return pids.size();
}

TEST_P(EveryVersionProbe, SeesWhatTheVersionDoes) {
  const TempDir cache;
  expect_clean(env(probing(cache.path())), [this](const Hip& hip) {
    const hc::ProbeReport report = probe_here();
    const hc::Findings& seen = report.findings;
    EXPECT_EQ(report.source, "run") << report.note;
    EXPECT_EQ(report.note, "");
    EXPECT_TRUE(seen.can(Ability::kExport)) << seen.text();
    EXPECT_TRUE(seen.can(Ability::kImport)) << seen.text();
    EXPECT_EQ(seen.can(Ability::kHostOnOwn), is({"7.2", "7.14", "7.15"})) << seen.text();
    EXPECT_EQ(seen.can(Ability::kHostOnImport), is({"7.2", "7.14"})) << seen.text();
    EXPECT_EQ(seen.can(Ability::kQuerySafe), !is({"7.14", "7.15"})) << seen.text();
    if (is({"7.14", "7.15"}))
      EXPECT_NE(seen.of(Ability::kQuerySafe).reason.find("died of SIGABRT: hipPointerGetAttributes"),
                std::string::npos)
          << seen.of(Ability::kQuerySafe).reason;
    else
      EXPECT_TRUE(seen.can(Ability::kClean)) << seen.text();
    // Seen, not read from the table, and yet the same.
    const hc::Quirks table((*hc::Runtime::get())->version());
    for (const Quirk quirk :
         {Quirk::kDescriptorPerCreate, Quirk::kDescriptorPerImport, Quirk::kSharedExportDescriptor,
          Quirk::kOwnerGrantedFirstReadsWrongPages, Quirk::kTailGrantIsInvalid}) {
      ASSERT_TRUE(seen.facts.contains(quirk)) << static_cast<int>(quirk) << "\n" << seen.text();
      EXPECT_EQ(seen.facts.at(quirk), table.on(quirk)) << static_cast<int>(quirk) << "\n" << seen.text();
    }
    // Nothing of it happened in this process.
    EXPECT_EQ(hip.fake_hip_count("calls:hipMemCreate"), 0);
  });
}

TEST_P(EveryVersionProbe, TheHelperLeavesNothingInTheRuntime) {
  expect_clean(env({{"FAKE_HIP_SWITCHES", "import_query_crashes=0"}}), [](const Hip&) {
    const auto runtime = hc::Runtime::get();
    ASSERT_TRUE(runtime);
    const auto end = hc::run_helper({HIP_PROBE_HELPER, (*runtime)->path(), "1"}, kLong);
    ASSERT_TRUE(end) << text_of(end);
    EXPECT_EQ(end->exit_code, 0) << end->output;  // the fake's verdict on leaks and wrong use
    EXPECT_TRUE(end->output.ends_with("yes clean\nend\n")) << end->output;
  });
}

TEST(HipProbe, WhatWasSeenOverrulesTheTable) {
  const TempDir cache;
  expect_clean(probing(cache.path(), {{"FAKE_HIP_VERSION", "7.15"},
                                      {"FAKE_HIP_SWITCHES",
                                       "host_on_import=1,import_query_crashes=0,shared_export_fd=1,"
                                       "runtime_closes_export_fd=1,tail_grant_fails=1"}}),
               [](const Hip&) {
                 const hc::ProbeReport report = probe_here();
                 hc::Quirks quirks((*hc::Runtime::get())->version());
                 EXPECT_FALSE(quirks.on(Quirk::kGrantsHostOnImport));
                 report.findings.apply(quirks);
                 EXPECT_TRUE(quirks.on(Quirk::kGrantsHostOnImport)) << report.findings.text();
                 EXPECT_FALSE(quirks.on(Quirk::kImportQueryCrashes));
                 EXPECT_TRUE(quirks.on(Quirk::kSharedExportDescriptor));
                 EXPECT_TRUE(quirks.on(Quirk::kRuntimeClosesExportDescriptor));
                 EXPECT_TRUE(quirks.on(Quirk::kTailGrantIsInvalid));
                 EXPECT_TRUE(quirks.was_overruled(Quirk::kTailGrantIsInvalid));
               });
}

TEST(HipProbe, AMappingThatShowsOtherBytesIsANo) {
  const TempDir cache;
  expect_clean(probing(cache.path(), {{"FAKE_HIP_SWITCHES", "corrupt_imports=1"}}), [](const Hip&) {
    const hc::ProbeReport report = probe_here();
    EXPECT_TRUE(report.findings.can(Ability::kExport));
    EXPECT_FALSE(report.findings.can(Ability::kImport));
    const auto refused = hc::demand(**hc::Runtime::get(), report, Ability::kImport);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, HB_UNSUPPORTED);
    EXPECT_NE(refused.error().message.find("other bytes than were written"), std::string::npos);
  });
}

TEST(HipProbe, ADeviceWithoutVmmAndAFailingExportAreNosWithTheReason) {
  for (const auto& [name, value, words] :
       {std::array{"FAKE_HIP_SWITCHES", "no_vmm=1", "attribute 89 is 0"},
        std::array{"FAKE_HIP_FAIL", "hipMemExportToShareableHandle:3:801", "hipErrorNotSupported (801)"}}) {
    const TempDir cache;
    expect_clean(probing(cache.path(), {{name, value}}), [&, words = words](const Hip&) {
      const hc::ProbeReport report = probe_here();
      EXPECT_EQ(report.findings.of(Ability::kExport).answer, Answer::kNo);
      EXPECT_EQ(report.findings.of(Ability::kImport).answer, Answer::kNo);
      EXPECT_NE(report.findings.of(Ability::kExport).reason.find(words), std::string::npos)
          << report.findings.text();
    });
  }
}

TEST(HipProbe, IsRememberedAndAskedAnewWhenSomethingChanged) {
  const TempDir cache;
  const std::string trace = cache / "trace";
  const auto look = [&](Env more, const std::string& source) {
    more["FAKE_HIP_TRACE"] = trace;
    expect_clean(probing(cache.path(), more), [&](const Hip&) {
      const hc::ProbeReport report = probe_here();
      EXPECT_EQ(report.source, source) << report.note;
      EXPECT_TRUE(report.findings.can(Ability::kImport));
      EXPECT_EQ(probe_here().source, source);  // this process's own memory
    });
  };
  look({}, "run");
  look({}, "remembered");
  EXPECT_EQ(creators(trace), 1u);
  look({{"HSA_ENABLE_SDMA", "0"}}, "run");
  look({{"HIP_VISIBLE_DEVICES", "1"}}, "run");
  look({{"FAKE_HIP_VERSION", "7.1"}}, "run");
  look({}, "remembered");
  EXPECT_EQ(creators(trace), 4u);
  struct stat st {};
  ASSERT_EQ(::stat((cache / "hipbroker").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700u);
}

// A helper whose first run alone has a fault.
std::string failing_once(const std::string& folder, const std::string& fault) {
  std::string path = folder + "/probe-once";
  write_file(path, "#!/bin/sh\nif mkdir " + folder + "/begun 2>/dev/null; then export FAKE_HIP_FAIL=" +
                       fault + "; fi\nexec " HIP_PROBE_HELPER " \"$@\"\n");
  ::chmod(path.c_str(), 0755);
  return path;
}

TEST(HipProbe, ANoOfOneRunAloneIsNotBelieved) {
  for (const char* fault :
       {"hipMemSetAccess:1:801", "hipMemImportFromShareableHandle:1:801", "hipMemcpyAsync:2"}) {
    const TempDir cache;
    Env env = probing(cache.path());
    env["HIPBROKER_PROBE_HELPER"] = failing_once(cache.path(), fault);
    for (const char* round : {"twice", "run"})
      expect_clean(env, [&](const Hip&) {
        const hc::ProbeReport report = probe_here();
        EXPECT_EQ(report.source, "run") << fault << round;
        EXPECT_TRUE(report.findings.can(Ability::kExport)) << fault << report.findings.text();
        EXPECT_TRUE(report.findings.can(Ability::kImport)) << fault << report.findings.text();
        EXPECT_EQ(report.note.find("two outcomes") != std::string::npos, round[0] == 't') << report.note;
      });
    expect_clean(env, [&](const Hip&) { EXPECT_EQ(probe_here().source, "remembered"); });
  }
}

TEST(HipProbe, WhatACallDoesNotNameOrThatIsAboutResourcesIsNotRemembered) {
  for (const char* fault :
       {"hipMemcpyAsync:2", "hipMemSetAccess:1:999", "hipMemImportFromShareableHandle:1:999",
        "hipMemcpyAsync:1:2", "hipStreamSynchronize:1:719"}) {
    const TempDir cache;
    expect_clean(probing(cache.path(), {{"FAKE_HIP_FAIL", fault}}), [&](const Hip&) {
      const hc::ProbeReport report = probe_here();
      EXPECT_FALSE(report.findings.can(Ability::kImport)) << fault;
      EXPECT_EQ(report.findings.of(Ability::kImport).reason.find("does not show"), std::string::npos)
          << report.findings.text();
    });
    expect_clean(probing(cache.path()), [&](const Hip&) {
      const hc::ProbeReport report = probe_here();
      EXPECT_EQ(report.source, "run") << fault;
      EXPECT_TRUE(report.findings.can(Ability::kImport)) << fault << report.findings.text();
    });
  }
}

TEST(HipProbe, ARememberedNoSaysSoAndIsAskedAnewAfterTenMinutes) {
  const TempDir cache;
  const auto look = [&](const std::string& source) {
    expect_clean(probing(cache.path(), {{"FAKE_HIP_SWITCHES", "corrupt_imports=1"}}), [&](const Hip&) {
      const hc::ProbeReport report = probe_here();
      EXPECT_EQ(report.source, source);
      const auto refused = hc::demand(**hc::Runtime::get(), report, Ability::kImport);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().message.find("remembered answer; `hipbrokerctl doctor --again`") !=
                    std::string::npos,
                source == "remembered")
          << refused.error().message;
    });
  };
  const auto grow_old = [&](long seconds) {
    for (const auto& entry : std::filesystem::directory_iterator(cache / "hipbroker")) {
      const timespec then{::time(nullptr) - seconds, 0};
      const timespec times[2] = {then, then};
      ASSERT_EQ(::utimensat(AT_FDCWD, entry.path().c_str(), times, 0), 0);
    }
  };
  look("run");
  grow_old(500);
  look("remembered");
  grow_old(601);
  look("run");
}

TEST(HipProbe, EightProcessesAtOnceRunOne) {
  const TempDir cache;
  const std::string trace = cache / "trace";
  std::vector<std::thread> ranks;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i)
    ranks.emplace_back([&] {
      const RoleResult result = run_role(probing(cache.path(), {{"FAKE_HIP_TRACE", trace},
                                                                {"HIPBROKER_HIP_RUNTIME", FAKE_HIP_PATH_7},
                                                                {"LD_LIBRARY_PATH", FAKE_HIP_DIR_7}}),
                                         "probe_once");
      if (result.exit_code == 0) ++good;
    });
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(creators(trace), 1u);
}

TEST(HipProbe, ADirectoryThatOthersReachIsNotUsed) {
  const TempDir cache;
  ASSERT_EQ(::mkdir((cache / "hipbroker").c_str(), 0755), 0);
  for (int round = 0; round < 2; ++round)
    expect_clean(probing(cache.path()), [](const Hip&) {
      const hc::ProbeReport report = probe_here();
      EXPECT_EQ(report.source, "run");
      EXPECT_TRUE(report.findings.can(Ability::kImport));
      EXPECT_NE(report.note.find("mode 0755"), std::string::npos) << report.note;
    });
}

TEST(HipProbe, AForgedOrTornAnswerIsAskedAnew) {
  const TempDir cache;
  const auto look = [&](const std::string& source) {
    expect_clean(probing(cache.path()), [&](const Hip&) { EXPECT_EQ(probe_here().source, source); });
  };
  look("run");
  const std::string folder = cache / "hipbroker";
  expect_clean(probing(cache.path()), [&](const Hip&) {
    std::string name;
    std::FILE* list = ::popen(("ls " + folder + " | grep -v lock").c_str(), "r");
    char text[128] = {};
    ASSERT_NE(std::fgets(text, sizeof text, list), nullptr);
    ::pclose(list);
    name = text;
    name.pop_back();
    const std::string whole = read_file(folder + "/" + name);
    ::unlink((folder + "/" + name).c_str());
    write_file(folder + "/" + name, whole.substr(0, whole.size() - 3));
  });
  look("run");
  look("remembered");
}

TEST(HipProbe, OffAndAssumeRunNothing) {
  const TempDir cache;
  const std::string trace = cache / "trace";
  const auto look = [&](const char* mode, const std::string& source, bool can, const std::string& words) {
    expect_clean(probing(cache.path(), {{"HIPBROKER_PROBE", mode}, {"FAKE_HIP_TRACE", trace}}),
                 [&](const Hip&) {
                   const hc::ProbeReport report = probe_here();
                   EXPECT_EQ(report.source, source);
                   EXPECT_EQ(report.findings.can(Ability::kImport), can);
                   EXPECT_NE(report.findings.of(Ability::kImport).reason.find(words), std::string::npos)
                       << report.findings.of(Ability::kImport).reason;
                 });
  };
  look("off", "off", false, "HIPBROKER_PROBE=off");
  look("assume", "assumed", true, "");
  look("maybe", "off", false, "auto, off or assume");
  EXPECT_EQ(creators(trace), 0u);
  look("auto", "run", true, "");
  look("off", "remembered", true, "");
}

TEST(HipProbe, WithoutItsHelperItSaysWhatToDo) {
  const TempDir cache;
  expect_clean(probing(cache.path()), [](const Hip&) {
    ::setenv("HIPBROKER_PROBE_HELPER", "/nonexistent/probe", 1);
    const hc::ProbeReport report = probe_here();
    const std::string& reason = report.findings.of(Ability::kExport).reason;
    for (const char* words : {"/nonexistent/probe", "ENOENT", "HIPBROKER_PROBE=assume"})
      EXPECT_NE(reason.find(words), std::string::npos) << reason;
  });
}

// ---- the helper process itself -------------------------------------------------------------------

std::vector<std::string> self(const std::string& role) { return {"/proc/self/exe", "--role=" + role}; }

std::atomic<int> g_child_signals{0};

TEST(HipHelper, TheHostSeesNoChild) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { ++g_child_signals; };
  ASSERT_EQ(::sigaction(SIGCHLD, &action, &before), 0);
  std::atomic<bool> stop = false;
  std::atomic<int> reaped = 0;
  std::atomic<int> looked = 0;
  std::thread reaper([&] {
    while (!stop) {
      if (::waitpid(-1, nullptr, WNOHANG) >= 0) ++reaped;
      ++looked;
      std::this_thread::yield();
    }
  });
  const auto end = hc::run_helper(self("say_hello"), kLong);
  while (looked == 0) std::this_thread::yield();
  stop = true;
  reaper.join();
  EXPECT_EQ(::waitpid(-1, nullptr, __WALL | WNOHANG), -1);  // nothing left over, of any kind
  ::sigaction(SIGCHLD, &before, nullptr);
  ASSERT_TRUE(end) << text_of(end);
  EXPECT_EQ(end->output, "hello\n");
  EXPECT_EQ(end->exit_code, 7);
  EXPECT_EQ(reaped, 0);
  EXPECT_EQ(g_child_signals, 0);
}

TEST(HipHelper, ItsEndIsKnownWhereTheHostIgnoresChildren) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGCHLD, &action, &before), 0);
  const auto end = hc::run_helper(self("say_hello"), kLong);
  ::sigaction(SIGCHLD, &before, nullptr);
  ASSERT_TRUE(end) << text_of(end);
  EXPECT_EQ(end->exit_code, 7);
}

TEST(HipHelper, ItHasFourDescriptorsAndNoSignalBlocked) {
  const auto end = hc::run_helper(self("tell_state"), kLong);
  ASSERT_TRUE(end) << text_of(end);
  EXPECT_EQ(end->output, "descriptors 4 blocked 0\n");
}

TEST(HipHelper, AnEndWithoutAnswersIsNone) {
  hc::HelperEnd end;
  end.output = "\x01\xff junk\nend\n";
  end.exit_code = 0;
  const hc::Findings findings = hc::findings_of(end);
  EXPECT_TRUE(findings.transient);
  EXPECT_EQ(findings.of(Ability::kExport).answer, Answer::kNo);
  EXPECT_NE(findings.of(Ability::kImport).reason, "");
}

// As a runtime that starts a daemon does: the output stays open, and nobody may wait for its end.
TEST(HipHelper, WhatItLeavesBehindHoldsNobodyUp) {
  const auto end = hc::run_helper(self("leave_a_child"), kLong);
  ASSERT_TRUE(end) << text_of(end);
  EXPECT_FALSE(end->timed_out);
  EXPECT_EQ(end->output, "hello\n");
  EXPECT_EQ(end->exit_code, 7);
  EXPECT_EQ(::waitpid(-1, nullptr, __WALL | WNOHANG), -1);
}

TEST(HipHelper, WithoutFreeDescriptorsItNamesTheLimit) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const std::size_t open = count_fds();
  std::size_t refused = 0;
  bool started = false;
  for (std::size_t free = 0; free < 12 && !started; ++free) {
    // Numbers are counted, not descriptors: the lowest free ones are taken.
    const rlimit few{open + free, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    const auto end = hc::run_helper(self("say_hello"), kLong);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    if (end) {
      EXPECT_FALSE(end->timed_out) << free;
      started = end->output == "hello\n";
      continue;
    }
    ++refused;
    EXPECT_EQ(end.error().status, HB_NO_FDS) << end.error().message;
    EXPECT_EQ(end.error().limit, open + free);
    for (const char* words : {"EMFILE", "RLIMIT_NOFILE is", "are open"})
      EXPECT_NE(end.error().message.find(words), std::string::npos) << end.error().message;
  }
  EXPECT_TRUE(started);
  EXPECT_GE(refused, 3u);
  EXPECT_EQ(count_fds(), open);
}

TEST(HipHelper, ACrashAndAHangAreAnswers) {
  const auto crashed = hc::run_helper(self("crash"), kLong);
  ASSERT_TRUE(crashed) << text_of(crashed);
  EXPECT_EQ(crashed->signal, SIGSEGV);
  const auto hung = hc::run_helper(self("hang"), 100'000'000);
  ASSERT_TRUE(hung) << text_of(hung);
  EXPECT_TRUE(hung->timed_out);
  EXPECT_EQ(hung->signal, SIGKILL);
  const hc::Findings findings = hc::findings_of(*hung);
  EXPECT_TRUE(findings.transient);
  EXPECT_NE(findings.of(Ability::kImport).reason.find("did not end within 20 s: importing"),
            std::string::npos)
      << findings.text();
  EXPECT_TRUE(findings.can(Ability::kExport));
}

}  // namespace

HB_ROLE(probe_once) {
  const auto runtime = hc::Runtime::get();
  if (!runtime) return 1;
  const auto devices = hc::DeviceTable::read(**runtime, "/nonexistent");
  if (!devices) return 2;
  return hc::probe(**runtime, devices->devices()[0], "/nonexistent").findings.can(Ability::kImport) ? 0 : 3;
}

HB_ROLE(leave_a_child) {
  if (::fork() == 0)
    for (;;) ::pause();
  return ::write(3, "hello\n", 6) == 6 ? 7 : 1;
}
HB_ROLE(say_hello) { return ::write(3, "hello\n", 6) == 6 ? 7 : 1; }

HB_ROLE(tell_state) {
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  int count = 0;
  for (int number = 1; number < 32; ++number) count += ::sigismember(&blocked, number);
  char text[64];
  const int bytes = std::snprintf(text, sizeof text, "descriptors %zu blocked %d\n", count_fds(), count);
  return ::write(3, text, static_cast<std::size_t>(bytes)) == bytes ? 0 : 1;
}

HB_ROLE(crash) {
  ::signal(SIGSEGV, SIG_DFL);
  ::raise(SIGSEGV);
  return 0;
}

HB_ROLE(hang) {
  const char text[] = "yes export\nbegin import importing\n";
  if (::write(3, text, sizeof text - 1) < 0) return 1;
  for (;;) ::pause();
}

}  // namespace hb::test
