// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A process forks while one of its threads is inside the runtime, holding whatever is held there. Nothing
// that the child calls may wait for that thread, which it does not have.
#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>

#include "integration/hip/gpu_fixture.h"
#include "support/temp_dir.h"

namespace hb::test {
namespace {

class GpuFork : public Gpu {
 protected:
  Answer child_of(Actor& actor) { return actor.call("child", {{"socket", daemon().socket()}}); }
};
HB_EVERY_GPU_VERSION(GpuFork);

// The first use of GPU memory in the process: the look for the runtime, and the table of devices.
TEST_P(GpuFork, WhileTheRuntimeIsBeingMetForTheFirstTime) {
  Actor producer = gpu_actor();
  export_kv(producer, 1);
  for (const char* inside : {"hipRuntimeGetVersion", "hipGetDeviceCount"}) {
    Actor actor = gpu_actor();
    actor.ok("on_thread",
             {{"do", "alloc"}, {"hang", inside}, {"provider", HB_PROVIDER_HIP}, {"bytes", kGpuChunk}});
    const Answer child = child_of(actor);
    EXPECT_EQ(child.status, HB_OK) << inside << ": " << child;
    EXPECT_EQ(actor.call("join").status, HB_OK) << inside;
    actor.leave();
  }
  producer.leave();
}

// Later: the lock over calls of virtual memory, and the list of what waits for events.
TEST_P(GpuFork, WhileMemoryIsMadeMappedOrGivenBack) {
  Actor producer = gpu_actor();
  export_kv(producer, 1);
  Actor actor = gpu_actor();
  actor.ok("named_stream", {{"stream", "s"}, {"on", 3}});  // of a GPU that has no access to any of it
  const Message gpu{{"provider", HB_PROVIDER_HIP}, {"bytes", kGpuChunk}};
  const auto while_in = [&](const char* inside, const char* verb, Message arguments) {
    actor.ok("alloc", gpu);
    actor.ok("import", {{"name", "kv"}, {"offset", 4096}});
    arguments.insert({{"do", verb}, {"hang", inside}});
    actor.ok("on_thread", arguments);
    const Answer child = child_of(actor);
    EXPECT_EQ(child.status, HB_OK) << verb << " in " << inside << ": " << child;
    EXPECT_EQ(actor.call("join").status, HB_OK) << verb;
    actor.ok("free");
    actor.ok("close_import");
  };
  Message second = gpu;
  second.emplace("mem", "second");
  while_in("hipMemCreate", "alloc", second);
  while_in("hipMemUnmap", "free", {{"mem", "second"}});
  while_in("hipMemImportFromShareableHandle", "import", {{"import", "second"}, {"name", "kv"}});
  while_in("hipMemUnmap", "close_import", {{"import", "second"}});
  while_in("hipMemExportToShareableHandle", "export", {{"mem", "m"}, {"name", "own"}});
  while_in("hipImportExternalMemory", "import",
           {{"import", "x"}, {"name", "kv"}, {"mapping", HB_MAP_EXTERNAL}});
  actor.ok("close_import", {{"import", "x"}});

  // Waiting for an event when another thread looks after it: it is the parent's to give back, once.
  actor.ok("work", {{"stream", "s"}, {"busy", 1}});
  actor.ok("record", {{"stream", "s"}, {"event", "e"}});
  actor.ok("import", {{"import", "w"}, {"name", "kv"}});
  actor.ok("unmap_when", {{"import", "w"}, {"event", "e"}});
  while_in("hipEventQuery", "reap", {});
  actor.ok("work", {{"stream", "s"}, {"busy", 0}});
  EXPECT_EQ(actor.ok("reap").number("waiting"), 0u);
  EXPECT_EQ(actor.ok("fake").number("mappings"), 0u);
  actor.ok("drop_streams");
  actor.leave();
  producer.leave();
}

// The helper that tries the runtime out is running, and its answer is waited for under a lock.
TEST_P(GpuFork, WhileTheRuntimeIsTriedOut) {
  const TempDir dir;
  const std::string helper = dir / "helper";
  // A no is asked for twice: the second run ends at once.
  std::ofstream(helper) << "#!/bin/sh\n[ -e " << (dir / "started") << " ] && exit 1\n: > "
                        << (dir / "started") << "\nread line < " << (dir / "gate") << "\nexit 1\n";
  ASSERT_EQ(::chmod(helper.c_str(), 0700), 0);
  ASSERT_EQ(::mkfifo((dir / "gate").c_str(), 0600), 0);
  Actor producer = gpu_actor();
  export_kv(producer, 1);
  Actor actor = gpu_actor(
      {{"HIPBROKER_PROBE", "auto"}, {"HIPBROKER_PROBE_HELPER", helper}, {"XDG_CACHE_HOME", dir / "cache"}});
  actor.ok("on_thread", {{"do", "probe"}});
  ASSERT_TRUE(poll_until([&] { return ::access((dir / "started").c_str(), F_OK) == 0; }));
  const Answer child = child_of(actor);
  EXPECT_EQ(child.status, HB_OK) << child;
  std::ofstream(dir / "gate") << "\n";
  EXPECT_EQ(actor.call("join").status, HB_OK);
  actor.leave();
  producer.leave();
}

}  // namespace
}  // namespace hb::test
