// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Tests that hold for every kind of memory: for the host's, and for a GPU's over each version of the fake
// runtime. A test that is about memfds themselves (seals, modes, descriptors brought along, sizes below a
// GPU's granularity) says so and stays a TEST_F.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "integration/hip/gpu_fixture.h"
#include "support/actor.h"
#include "support/fixture.h"
#include "support/memfd.h"
#include "support/temp_dir.h"

namespace hb::test {

// The folder of both fake runtimes, where every uid can read it: the build directory may be closed to some.
[[nodiscard]] inline std::string fake_hip_for_everyone() {
  static const TempDir* const dir = [] {
    namespace fs = std::filesystem;
    auto* made = new TempDir;
    for (const fs::path& runtime : {fs::path(FAKE_HIP_PATH_6), fs::path(FAKE_HIP_PATH_7)})
      for (const fs::path& file : {runtime.filename(), fs::path("libhsa-runtime64.so.1")})
        fs::copy_file(runtime.parent_path() / file, *made / file.string(), fs::copy_options::skip_existing);
    std::atexit([] { std::filesystem::remove_all(fake_hip_for_everyone()); });
    return made;
  }();
  return dir->path();
}

// The parameter: "host", or a HIP version.
class EveryMemory : public DaemonTest, public testing::WithParamInterface<std::string> {
 protected:
  using DaemonTest::DaemonTest;

  [[nodiscard]] static bool on_gpu() { return GetParam() != "host"; }
  [[nodiscard]] static bool is(std::initializer_list<const char*> versions) {
    for (const char* version : versions)
      if (GetParam() == version) return true;
    return false;
  }
  // The least that can be shared, and what offsets and wished addresses agree on.
  [[nodiscard]] static std::uint64_t unit() { return on_gpu() ? kGpuChunk : kPage; }

  // A process whose verbs about memory mean this kind, without a session.
  [[nodiscard]] static Actor process(ProcessOptions options = {}) {
    if (!on_gpu()) return Actor(options);
    if (options.uid) options.env.emplace_back("HB_FAKE_HIP_DIR", fake_hip_for_everyone());
    options.env.insert(options.env.begin(), {{"HB_GPU_MEMORY", "1"}});
    for (const auto& variable : gpu_environment(GetParam())) options.env.push_back(variable);
    return Actor(options, "gpu_actor");
  }
  [[nodiscard]] Actor actor(const ProcessOptions& options = {}) {
    Actor made = process(options);
    made.ok("open", {{"socket", daemon().socket()}});
    return made;
  }
};

// Test names begin with Host/ or Hip/: by that they get their labels.
#define HB_EVERY_MEMORY(suite)                                                                          \
  INSTANTIATE_TEST_SUITE_P(Host, suite, testing::Values("host"), [](const auto&) { return "memory"; }); \
  HB_EVERY_GPU_VERSION(suite)

}  // namespace hb::test
