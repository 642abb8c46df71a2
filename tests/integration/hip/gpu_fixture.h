// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Programs with GPUs around one daemon: each a process of its own that has loaded the fake runtime.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "hipbroker/hipbroker.h"
#include "support/actor.h"
#include "support/fixture.h"

namespace hb::test {

inline constexpr std::uint64_t kGpuChunk = 2u << 20;
// The third of the fake's default devices.
inline constexpr const char* kU2 = "GPU-f00d000000000002";
inline constexpr const char* kU3 = "GPU-f00d000000000003";
inline constexpr const char* kPci2 = "0000:83:00.0";

using Variables = std::vector<std::pair<std::string, std::string>>;

// A process of its own with the fake runtime of that version, on a machine that this test program shares.
[[nodiscard]] inline Variables gpu_environment(const std::string& version) {
  return {{"FAKE_HIP_VERSION", version},
          {"FAKE_HIP_STATE", "gpu" + std::to_string(::getpid())},
          {"HIPBROKER_PROBE", "assume"},
          {"HIPBROKER_SYSFS_ROOT", "/nonexistent"},
          {"HIP_VISIBLE_DEVICES", ""},
          {"ROCR_VISIBLE_DEVICES", ""},
          {"CUDA_VISIBLE_DEVICES", ""},
          {"MALLOC_ARENA_MAX", "1"}};  // those of threads would look like reserved addresses
}

class Gpu : public DaemonTest, public testing::WithParamInterface<std::string> {
 protected:
  [[nodiscard]] bool is(std::initializer_list<const char*> versions) const {
    for (const char* version : versions)
      if (GetParam() == version) return true;
    return false;
  }
  // A process of the version under test with a session.
  [[nodiscard]] Actor gpu_actor(const Variables& more = {}, std::optional<std::uint64_t> nofile = {}) {
    ProcessOptions options;
    options.nofile = nofile;
    options.env = gpu_environment(GetParam());
    for (const auto& variable : more) options.env.push_back(variable);
    Actor actor(options, "gpu_actor");
    actor.ok("open", {{"socket", daemon().socket()}});
    return actor;
  }
  // `chunks` chunks on ordinal `device`, filled with seed 1 and exported as "kv".
  static Answer export_kv(Actor& producer, std::uint64_t chunks, int device = 2, Message more = {}) {
    more.insert({{"provider", HB_PROVIDER_HIP},
                 {"device", device},
                 {"bytes", chunks * kGpuChunk},
                 {"chunk", kGpuChunk}});
    const Answer made = producer.ok("alloc", more);
    producer.ok("gpu_fill", {{"mem", "m"}, {"on", device}, {"seed", 1}});
    producer.ok("export", {{"mem", "m"}, {"name", "kv"}});
    return made;
  }
};
#define HB_GPU_VERSIONS(suite, ...)                                                            \
  INSTANTIATE_TEST_SUITE_P(Hip, suite, testing::Values(__VA_ARGS__), [](const auto& version) { \
    std::string name = "v" + std::string(version.param);                                       \
    for (char& c : name)                                                                       \
      if (c == '.') c = '_';                                                                   \
    return name;                                                                               \
  })
#define HB_EVERY_GPU_VERSION(suite) HB_GPU_VERSIONS(suite, "6.2", "7.0", "7.1", "7.2", "7.14", "7.15")

}  // namespace hb::test
