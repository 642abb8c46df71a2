// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <gtest/gtest.h>

#include "support/daemon_process.h"
#include "support/process.h"

namespace hb::test {
namespace {

TEST(TheLibrary, WorksBesideAnotherProtobuf) {
  DaemonProcess daemon;
  Process program({HB_TEST_PROGRAM, HB_TEST_LIBRARY, daemon.socket()}, {});
  const auto status = program.wait();
  ASSERT_TRUE(status);
  EXPECT_EQ(describe_exit(*status), describe_exit(0));
}

}  // namespace
}  // namespace hb::test
