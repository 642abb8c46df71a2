// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "gpu/gpu_fixture.h"

#include <cstdlib>
#include <filesystem>

#include "support/temp_dir.h"

namespace hb::test {
namespace {

// NVIDIA's descriptors are /dev/nvidiactl, those of fake_cuda's "pty" /dev/ptmx: the broker's
// configuration has to name what it is to let in.
DaemonOptions with_driver_handles() {
  DaemonOptions options;
  options.config = "[handles]\nallow_driver = [\"char 195:255\", \"char 5:2\"]\n";
  return options;
}

// One for all tests, so that each version is tried out once for each form of descriptors.
std::string probe_cache(const std::string& handles) {
  static const auto* dir = new TempDir;
  static const bool removed = ::atexit([] { delete dir; }) == 0;
  static_cast<void>(removed);
  std::filesystem::create_directory(*dir / handles);
  return *dir / handles;
}

Message with(Message where, int seed, std::uint64_t stride) {
  where.insert({"seed", seed});
  if (stride != 0) where.insert({"stride", stride});
  return where;
}

}  // namespace

GpuTest::GpuTest(std::string visible) : DaemonTest(with_driver_handles()), visible_(std::move(visible)) {}

Actor GpuTest::gpu_actor(const Variables& more, std::optional<std::uint64_t> nofile) {
  ProcessOptions options;
  options.nofile = nofile;
  options.env = GetParam().variables();
  const Variables common{{"HIPBROKER_PROBE", "auto"},
                         {"HIPBROKER_PROBE_HELPER", probe_program()},
                         {"HIPBROKER_SYSFS_ROOT", "/nonexistent"},
                         {"XDG_CACHE_HOME", probe_cache(GetParam().handles)},
                         {"FAKE_CUDA_STATE", daemon().run_dir()},
                         {"CUDA_VISIBLE_DEVICES", visible_},
                         {"HIP_VISIBLE_DEVICES", ""},
                         {"ROCR_VISIBLE_DEVICES", ""}};
  for (const auto* list : {&common, &more})
    for (const auto& variable : *list) options.env.push_back(variable);
  Actor actor(options, "cuda_actor");
  actor.ok("open", {{"socket", daemon().socket()}});
  return actor;
}

Answer GpuTest::export_kv(Actor& producer, std::uint64_t bytes, std::uint64_t chunk, std::uint64_t stride) {
  const Answer made =
      producer.ok("alloc", {{"provider", HB_PROVIDER_HIP}, {"bytes", bytes}, {"chunk", chunk}});
  fill(producer, {{"mem", "m"}}, 1, stride);
  producer.ok("export", {{"mem", "m"}, {"name", "kv"}});
  return made;
}

void GpuTest::fill(Actor& actor, Message where, int seed, std::uint64_t stride) {
  actor.ok("gpu_fill", with(std::move(where), seed, stride));
}
void GpuTest::check(Actor& actor, Message where, int seed, std::uint64_t stride) {
  actor.ok("gpu_check", with(std::move(where), seed, stride));
}

void GpuTest::expect_free_again(Actor& watcher, std::uint64_t before, const std::string& when) {
  std::uint64_t now = 0;
  EXPECT_TRUE(poll_until([&] {
    now = free_bytes(watcher);
    return now + slack() >= before;
  })) << when
      << ": " << before << " bytes were free, " << now << " are";
}

}  // namespace hb::test
