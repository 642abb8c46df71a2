// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The service manager, from inside the sandbox: its socket lies outside of every directory that the daemon
// may open, and what outlives the daemon still grows, is parked and is stored.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "os/descriptor_store.h"
#include "os/notify.h"
#include "os/notify_socket.h"
#include "restart/parking.h"
#include "restart/record_heap.h"
#include "support/fake_service_manager.h"
#include "unit/sandbox/confined.h"

namespace hb::test {
namespace {

int deeds() {
  if (!os::notify_send("READY=1") || !os::watchdog_interval_ns()) return 1;
  os::DescriptorStore store(16);
  auto region = os::MemoryRegion::make("hbtest", restart::RecordHeap::kLeastBytes);
  if (!region || !region->grow(1 << 20)) return 2;
  if (!store.add("records", region->descriptor())) return 3;
  auto heap = restart::RecordHeap::open(std::move(*region));
  if (!heap) return 4;
  heap->heap.begin();
  const std::vector<std::byte> bytes(60'000);
  for (std::uint32_t i = 0; i < 40; ++i) {
    if (!heap->heap.put({1, i, 0}, bytes)) return 5;
  }
  heap->heap.commit();
  restart::Parking parking(store, {1000},
                           [&](const restart::ParkedEntry&) { return heap->heap.descriptor(); });
  std::vector<restart::ToPark> entries;
  for (std::uint64_t id = 0; id < 20; ++id) {
    entries.push_back({{restart::ParkedKind::kHandle, id, 0}, heap->heap.descriptor()});
  }
  if (!parking.park(entries) || !parking.unpark({&entries[5].entry, 1}).empty()) return 6;
  return store.remove("records") && store.barrier(kWatchdogNs) ? 0 : 7;
}

void talk_from_inside(bool abstract) {
  const TempDir dir;
  FakeServiceManager manager(dir, {.store_max = 16, .tells_capacity = true, .abstract = abstract, .env = {}});
  ::setenv("NOTIFY_SOCKET", manager.address().c_str(), 1);
  ::setenv("WATCHDOG_USEC", "2000000", 1);
  const Ending ending = confined({{"/proc"}, {}}, deeds);
  ::unsetenv("NOTIFY_SOCKET");
  ::unsetenv("WATCHDOG_USEC");
  EXPECT_EQ(ending.exit_code, 0) << "signal " << ending.signal;
  EXPECT_EQ(manager.stored_names(), (std::vector<std::string>{"q0a", "q0b"}));
  EXPECT_TRUE(manager.wait_for("READY=1"));
}

TEST(SandboxManager, BySocketOfAPath) { talk_from_inside(false); }

TEST(SandboxManager, ByAbstractSocket) { talk_from_inside(true); }

TEST(SandboxManager, AFileOfMemoryInADirectoryOfTheDaemons) {
  const std::string dir = "/dev/shm/hbtest-sandbox-" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(dir.c_str(), 0700), 0);
  const Ending ending = confined({{"/proc"}, {dir}}, [&] {
    auto file = os::MemoryRegion::open_file(dir, "records", 65'536);
    return file && file->made && file->region.grow(1 << 20) ? 0 : 1;
  });
  EXPECT_EQ(ending.exit_code, 0) << "signal " << ending.signal;
  EXPECT_EQ(::unlink((dir + "/records").c_str()), 0);
  EXPECT_EQ(::rmdir(dir.c_str()), 0);
}

}  // namespace
}  // namespace hb::test
