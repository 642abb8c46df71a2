// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hipbrokerd's own command line: what it refuses to start with, and what it prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "cli/run_ctl.h"
#include "support/daemon_process.h"
#include "support/temp_dir.h"

namespace hb::test {
namespace {

using testing::HasSubstr;
using testing::Not;

Ran hipbrokerd(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv{daemon_program()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return run_program(argv);
}

// Under a limit that the shell sets as its last act.
Ran hipbrokerd_with_descriptors(int limit, const std::string& socket) {
  return run_program(
      {"/bin/sh", "-c",
       "ulimit -n " + std::to_string(limit) + "; exec '" + daemon_program() + "' --socket '" + socket + "'"});
}

TEST(DaemonStart, OutputThatCannotBeWrittenIsAFailure) {
  const TempDir directory;
  write_file(directory / "c.toml", "");
  for (const std::string& arguments :
       {std::string("--help"), std::string("--version"), "--check-config --config " + directory / "c.toml"}) {
    const Ran ran = run_program({"/bin/sh", "-c", daemon_program() + " " + arguments + " >/dev/full"});
    EXPECT_EQ(ran.exit_code, 71) << arguments;
    EXPECT_THAT(ran.err, HasSubstr("stdout")) << arguments;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
  EXPECT_EQ(hipbrokerd({"--help"}).exit_code, 0);
}

TEST(DaemonStart, ABadConfigurationIsRefusedCheckedOrStarted) {
  const TempDir directory;
  const std::string file = directory / "c.toml";
  write_file(file, "\nsocket = \"/run/" + std::string(120, 'x') + "\"\n");
  for (const bool check : {true, false}) {
    std::vector<std::string> arguments{"--config", file};
    if (check) arguments.push_back("--check-config");
    const Ran ran = hipbrokerd(arguments);
    EXPECT_EQ(ran.exit_code, 64) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(file + ":2:10: "));
    EXPECT_THAT(ran.err, HasSubstr("125"));
    EXPECT_THAT(ran.err, HasSubstr("107"));
  }
}

TEST(DaemonStart, AFifoAsConfigurationIsRefusedAndNotWaitedFor) {
  const TempDir directory;
  const std::string file = directory / "fifo";
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  const Ran ran = hipbrokerd({"--check-config", "--config", file});
  EXPECT_EQ(ran.exit_code, 64) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("FIFO"));
}

// The limit the refusal asks for is one the daemon serves with; anything below is refused, and by name.
TEST(DaemonStart, ADescriptorLimitTooSmallForOneSessionIsRefused) {
  const TempDir directory;
  const std::string socket = directory / "run/broker.sock";
  int needed = 0;
  for (const int limit : {5, 6, 8, 10, 12, 14, 16}) {
    const Ran ran = hipbrokerd_with_descriptors(limit, socket);
    EXPECT_EQ(ran.exit_code, 71) << limit << ": " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("RLIMIT_NOFILE is " + std::to_string(limit) + ","));
    EXPECT_THAT(ran.err, HasSubstr("LimitNOFILE"));
    const std::size_t at = ran.err.find("at least ");
    ASSERT_NE(at, std::string::npos) << ran.err;
    const int asked = std::atoi(ran.err.c_str() + at + 9);
    EXPECT_TRUE(needed == 0 || asked == needed) << asked << " at limit " << limit << ", before " << needed;
    needed = asked;
    struct stat status {};
    EXPECT_NE(::stat(socket.c_str(), &status), 0) << "a socket was left behind";
  }
  ASSERT_GT(needed, 16);
  // Refused only once everything is open, or before, but by the same count.
  const Ran nearly = hipbrokerd_with_descriptors(needed - 1, socket);
  EXPECT_EQ(nearly.exit_code, 71);
  EXPECT_THAT(nearly.err, HasSubstr("at least " + std::to_string(needed) + ":"));

  Process daemon({"/bin/sh", "-c",
                  "ulimit -n " + std::to_string(needed) + "; exec '" + daemon_program() + "' --socket '" +
                      socket + "' 2>/dev/null"},
                 {});
  const Ran ran = run_ctl({"--socket", socket, "--no-admin", "ping", "--wait", "20"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
}

}  // namespace
}  // namespace hb::test
