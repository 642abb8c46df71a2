// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Debian 12's own runtime: a stranger who has installed nothing else is told so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_selftest.h"

namespace hb::test {
namespace {

using testing::HasSubstr;

TEST(SelfTestDebianRuntime, IsNotHereWithItsVersionAndTheOneNeeded) {
  const TempDir folder;
  for (const Variables& env : {Variables{{"HIPBROKER_HIP_RUNTIME", HIP_DEBIAN_RUNTIME}}, Variables{}}) {
    const SelfTest test = run_selftest(folder, env);
    EXPECT_EQ(test.ran.exit_code, 0) << test.ran.out << test.ran.err;
    EXPECT_EQ(test.verdicts.at("probe/run"), "NOT HERE");
    EXPECT_THAT(test.reasons.at("probe/run"), HasSubstr("HIP 5.2."));
    EXPECT_THAT(test.reasons.at("probe/run"), HasSubstr("6.2 or newer"));
    EXPECT_EQ(test.verdicts.at("host/withdraw"), "PASS");
    EXPECT_EQ(test.all("FAIL"), "");
  }
}

}  // namespace
}  // namespace hb::test
