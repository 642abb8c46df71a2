// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "exit_codes.h"

#include <gtest/gtest.h>

#include "connection.h"

namespace hb::cli {
namespace {

TEST(CliExitCodes, EveryClassOfOutcomeHasOne) {
  EXPECT_EQ(exit_code_of(HB_OK), 0);
  EXPECT_EQ(exit_code_of(HB_NOT_FOUND), 1);
  EXPECT_EQ(exit_code_of(HB_DENIED), 1);
  EXPECT_EQ(exit_code_of(HB_QUOTA), 1);
  EXPECT_EQ(exit_code_of(-4711), 1);  // of a newer daemon: it is still the daemon that says no
  EXPECT_EQ(exit_code_of(HB_INVALID), 64);
  EXPECT_EQ(exit_code_of(HB_NO_DAEMON), 69);
  EXPECT_EQ(exit_code_of(HB_TIMEOUT), 69);
  EXPECT_EQ(exit_code_of(HB_UNTRUSTED), 71);
  EXPECT_EQ(exit_code_of(HB_SYSTEM), 71);
}

TEST(CliExitCodes, AFailureNamesStatusAndWayOutInOneLine) {
  hb_error error = HB_ERROR_INIT;
  std::snprintf(error.message, sizeof error.message, "no daemon listens on\n/run/x.sock");
  const Failure failure = failure_of(HB_NO_DAEMON, error);
  const std::string text = failure.what();
  EXPECT_EQ(failure.exit_code(), 69);
  EXPECT_NE(text.find("/run/x.sock"), std::string::npos);
  EXPECT_NE(text.find("hipbrokerd --user"), std::string::npos);
  EXPECT_NE(text.find("HB_NO_DAEMON"), std::string::npos);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(CliExitCodes, AnErrorWithoutAMessageSaysWhatItsStatusMeans) {
  const hb_error error = HB_ERROR_INIT;
  EXPECT_NE(std::string(failure_of(HB_STALE, error).what()).find(hb_status_text(HB_STALE)),
            std::string::npos);
}

TEST(CliExitCodes, DeadlinesNeverOverflow) {
  EXPECT_EQ(deadline_of(1e12), HB_NO_DEADLINE);
  EXPECT_EQ(deadline_of(1e300), HB_NO_DEADLINE);
  const std::uint64_t at_once = deadline_of(0);
  EXPECT_LE(at_once, hb_deadline_in(0));
  EXPECT_LT(deadline_of(1e9 - 1), HB_NO_DEADLINE);
}

}  // namespace
}  // namespace hb::cli
