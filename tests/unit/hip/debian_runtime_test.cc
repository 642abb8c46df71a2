// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The real runtime of Debian 12, HIP 5.2: every symbol is there, and most do nothing.
#include "hipbroker/hipbroker.h"
#include "unit/hip/fixture.h"

namespace hb::test {
namespace {

TEST(HipDebianRuntime, IsRefusedWithItsVersionAndTheOneNeeded) {
  for (const Env& env : {Env{{"HIPBROKER_HIP_RUNTIME", HIP_DEBIAN_RUNTIME}}, Env{{"LD_LIBRARY_PATH", ""}}}) {
    const RoleResult result = run_role(env, "find_runtime");
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_TRUE(result.output.starts_with(std::to_string(HB_UNSUPPORTED))) << result.output;
    for (const char* words : {"HIP 5.2.", "libamdhip64.so.5", "6.2 or newer"})
      EXPECT_NE(result.output.find(words), std::string::npos) << result.output;
  }
}

}  // namespace
}  // namespace hb::test
