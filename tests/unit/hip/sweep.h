// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Every driver call of an operation fails once, in turn: nothing may be left over, and the error says where.
#pragma once

#include <functional>
#include <string>

#include "unit/hip/fixture.h"

namespace hb::test {

inline constexpr const char* kInjected = "hipErrorUnknown (999)";

// What an operation did while call number k failed.
struct Outcome {
  bool ok = true;
  client::Error error;
};

inline Outcome of(const client::Error& error) { return {false, error}; }

// Runs `operation` with the k-th call failing, for every k until it needs fewer calls than k.
inline void sweep(const Hip& hip, const std::function<Outcome()>& operation, bool chunk_expected,
                  long long step = 1) {
  EXPECT_TRUE(operation().ok);  // warm: what is made once for all is made
  const Counts before = counts_of(hip);
  int failed = 0;
  for (long long k = 1;; k += step) {
    ASSERT_EQ(hip.hipSetDevice(2), fh::kSuccess);
    ASSERT_EQ(hip.fake_hip_control(("fail=any:" + std::to_string(k)).c_str()), 0);
    const Outcome outcome = operation();
    const long long calls = hip.fake_hip_count("calls");
    ASSERT_EQ(hip.fake_hip_control("fail="), 0);
    ASSERT_EQ(counts_of(hip), before) << "call " << k;
    int current = -1;
    ASSERT_EQ(hip.hipGetDevice(&current), fh::kSuccess);
    ASSERT_EQ(current, 2) << "call " << k;
    ASSERT_EQ(hip.hipPeekAtLastError(), fh::kSuccess) << "call " << k;
    if (!outcome.ok) {
      ++failed;
      ASSERT_NE(outcome.error.message.find(kInjected), std::string::npos) << outcome.error.message;
      ASSERT_EQ(outcome.error.operation.find("hip"), 0u) << outcome.error.message;
      ASSERT_NE(outcome.error.message.find(outcome.error.operation), std::string::npos);
      const bool of_a_chunk =
          chunk_expected &&
          (outcome.error.operation == "hipMemCreate" || outcome.error.operation == "hipMemMap" ||
           outcome.error.operation == "hipMemSetAccess" ||
           outcome.error.operation.find("Shareable") != std::string::npos);
      if (of_a_chunk) {
        ASSERT_GE(outcome.error.chunk, 0) << outcome.error.message;
        ASSERT_NE(outcome.error.message.find("chunk " + std::to_string(outcome.error.chunk)),
                  std::string::npos)
            << outcome.error.message;
      }
    }
    if (calls < k) break;
  }
  EXPECT_GT(failed, 5);
}

}  // namespace hb::test
