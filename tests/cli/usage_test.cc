// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a command line may say, and output that cannot be written; no daemon needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/run_ctl.h"

namespace hb::test {
namespace {

using testing::HasSubstr;

constexpr const char* kNoSocket = "/nonexistent/broker.sock";

TEST(CliUsage, SecondsAreAFiniteNumberInRange) {
  for (const char* bad :
       {"nan", "-nan", "NaN", "inf", "-inf", "infinity", "-1", "-0.5", "1e10", "1x", "x", ""}) {
    for (const bool wait : {false, true}) {
      const Ran ran = wait ? run_ctl({"--socket", kNoSocket, "ping", std::string("--wait=") + bad})
                           : run_ctl({"--socket", kNoSocket, std::string("--timeout=") + bad, "ping"});
      EXPECT_EQ(ran.exit_code, 64) << bad << ": " << ran.err;
      EXPECT_THAT(ran.err, HasSubstr(wait ? "--wait" : "--timeout")) << bad;
      EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    }
  }
  for (const char* good : {"0", "0.001", "1e-3", "1"})
    EXPECT_EQ(run_ctl({"--socket", kNoSocket, "--timeout", good, "ping"}).exit_code, 69) << good;
}

TEST(CliUsage, IdsAndUidsAreWholeNumbersThatFit) {
  for (const char* verb : {"show", "who"}) {
    for (const char* bad :
         {"-1", "99999999999999999999", "18446744073709551616", "x", "1x", "0x10", "1.5", " 1", "+1", ""}) {
      const Ran ran = run_ctl({"--socket", kNoSocket, verb, "--id", bad});
      EXPECT_EQ(ran.exit_code, 64) << verb << " --id " << bad << ": " << ran.err;
      EXPECT_THAT(ran.err, HasSubstr("--id")) << bad;
      EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    }
    for (const char* bad : {"-1", "4294967296", "root"}) {
      const Ran ran = run_ctl({"--socket", kNoSocket, verb, "name", "--owner", bad});
      EXPECT_EQ(ran.exit_code, 64) << verb << " --owner " << bad << ": " << ran.err;
      EXPECT_THAT(ran.err, HasSubstr("--owner")) << bad;
    }
    EXPECT_EQ(run_ctl({"--socket", kNoSocket, verb, "--id", "18446744073709551615"}).exit_code, 69) << verb;
  }
}

TEST(CliUsage, HelpAndVersionThatCannotBeWrittenAreFailures) {
  for (const char* arguments : {"--help", "--version", "ls --help", "completion bash"}) {
    const Ran ran = run_program({"/bin/sh", "-c", std::string(HB_TEST_CTL " ") + arguments + " >/dev/full"});
    EXPECT_EQ(ran.exit_code, 71) << arguments;
    EXPECT_THAT(ran.err, HasSubstr("stdout")) << arguments;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
  const Ran help = run_ctl({"ls", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("--names"));
  EXPECT_THAT(run_ctl({"--help"}).out, HasSubstr("completion"));
  EXPECT_THAT(run_ctl({"--version"}).out, HasSubstr("hipbrokerctl "));
}

}  // namespace
}  // namespace hb::test
