// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Programs with GPUs around one daemon: each a process of its own that has loaded the shim over libcuda.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "gpu/gpu_machine.h"
#include "hipbroker/hipbroker.h"
#include "support/actor.h"
#include "support/fixture.h"

namespace hb::test {

inline constexpr std::uint64_t kGpuChunk = 2u << 20;
inline constexpr std::uint64_t kGiB = 1u << 30;

class GpuTest : public DaemonTest, public testing::WithParamInterface<GpuCase> {
 protected:
  // `visible`: the GPUs of every process; starting each one takes a real driver a moment.
  explicit GpuTest(std::string visible = "0");
  // A process of the case under test with a session; started up, so that its descriptors stay the same.
  [[nodiscard]] Actor gpu_actor(const Variables& more = {}, std::optional<std::uint64_t> nofile = {});
  // Memory of the library on ordinal 0, filled with seed 1 and exported as "kv". `stride`: see gpu_fill.
  static Answer export_kv(Actor& producer, std::uint64_t bytes, std::uint64_t chunk,
                          std::uint64_t stride = 0);
  static void fill(Actor& actor, Message where, int seed, std::uint64_t stride = 0);
  static void check(Actor& actor, Message where, int seed, std::uint64_t stride = 0);
  // Free bytes of GPU 0, as another process sees them.
  static std::uint64_t free_bytes(Actor& watcher) { return watcher.ok("gpu_memory").number("free"); }
  // Waits until as much is free as was. A real driver keeps a little for itself.
  static void expect_free_again(Actor& watcher, std::uint64_t before, const std::string& when);
  [[nodiscard]] static std::uint64_t slack() { return gpu_machine().real ? 64u << 20 : 0; }

 private:
  std::string visible_;
};

#define HB_GPU_CASES(suite, cases)                                 \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite);            \
  INSTANTIATE_TEST_SUITE_P(Gpu, suite, testing::ValuesIn(cases()), \
                           [](const auto& one) { return one.param.name(); })

}  // namespace hb::test
