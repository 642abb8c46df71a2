// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The censuses and filters that the other tests rely on must be able to fail.
#include "support/fd_census.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/actor.h"
#include "support/fixture.h"
#include "support/memfd.h"
#include "support/role.h"

namespace hb::test {
namespace {

class LeakyTest : public testing::Test {
 public:
  void TestBody() override { (void)!::open("/dev/null", O_RDONLY | O_CLOEXEC); }
};

// Runs one test that leaks, under the same listener as every other.
HB_ROLE(leaky_test) {
  testing::RegisterTest("Leaky", "Leaks", nullptr, nullptr, __FILE__, __LINE__,
                        []() -> testing::Test* { return new LeakyTest; });
  int argc = 2;
  char program[] = "leaky";
  char filter[] = "--gtest_filter=Leaky.Leaks";
  char* argv[] = {program, filter, nullptr};
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new FdCensus);
  ::_exit(RUN_ALL_TESTS());
}

HB_ROLE(leaky_role) { return ::open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0 ? 0 : 1; }

struct Finished {
  int status;
  std::string output;
};
Finished run_role(const std::string& role) {
  const TempDir dir;
  const UniqueFd out(::open((dir / "out").c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  Process process({own_program(), "--role=" + role}, {}, {{out.get(), 1}, {out.get(), 2}});
  return {process.wait().value_or(-1), read_file(dir / "out")};
}

TEST(Census, FailsATestThatLeaksADescriptor) {
  const Finished run = run_role("leaky_test");
  ASSERT_TRUE(WIFEXITED(run.status));
  EXPECT_EQ(WEXITSTATUS(run.status), 1);
  EXPECT_NE(run.output.find("descriptor census of Leaky.Leaks"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("-> /dev/null"), std::string::npos) << run.output;
}

TEST(Census, FailsARoleThatLeaksADescriptor) {
  const Finished run = run_role("leaky_role");
  ASSERT_TRUE(WIFEXITED(run.status));
  EXPECT_EQ(WEXITSTATUS(run.status), kRoleLeaked) << run.output;
}

class DaemonCensus : public DaemonTest {};

TEST_F(DaemonCensus, SeesAConnectionAndADescriptorOfTheDaemon) {
  EXPECT_EQ(difference(0), "");
  RawPeer holder = peer();
  EXPECT_NE(difference(0), "");
  EXPECT_TRUE(poll_until([&] { return difference(1).empty(); })) << difference(1);
  const UniqueFd memory = sealed_memfd(kPage, 1);
  ASSERT_EQ(holder.export_fds("held", {memory.get()}).status, HB_OK);
  EXPECT_NE(difference(1).find("memfd"), std::string::npos) << difference(1);
}

TEST(TheftFilter, KillsWhoTakesDescriptorsFromOthers) {
  ProcessOptions options;
  options.forbid_fd_theft = true;
  Actor thief(options);
  EXPECT_TRUE(thief.call("steal").died);
  const auto status = thief.process().wait();
  ASSERT_TRUE(status && WIFSIGNALED(*status));
  EXPECT_EQ(WTERMSIG(*status), SIGSYS);
}

}  // namespace
}  // namespace hb::test
