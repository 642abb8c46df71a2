// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the daemon does at each event to outlive itself costs no system call. Shown by a process that may make
// none: strict seccomp leaves read, write and exit.
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "restart/node_memory.h"
#include "restart/record_heap.h"

namespace hb::test {
namespace {

using restart::RecordHeap;

bool change(RecordHeap& heap, restart::NodeMemory& node, std::uint32_t round) {
  std::vector<std::byte> bytes(200 + round % 100, std::byte(round));
  heap.begin();
  for (std::uint32_t i = 0; i < 5; ++i) {
    if (!heap.put({1, (round + i) % 50, 0}, bytes)) return false;
  }
  heap.drop({1, (round + 25) % 50, 0});
  heap.commit();
  return node.keep(std::span(bytes).first(16));
}

TEST(SilentMemory, ChangingRecordsMakesNoSystemCall) {
  auto records = os::MemoryRegion::make("hbtest", RecordHeap::kLeastBytes);
  auto page = os::MemoryRegion::make("hbtest", restart::NodeMemory::kBytes);
  ASSERT_TRUE(records && page);
  auto heap = RecordHeap::open(std::move(*records));
  auto node = restart::NodeMemory::open(std::move(*page), {});
  ASSERT_TRUE(heap && node);
  for (std::uint32_t round = 0; round < 200; ++round) ASSERT_TRUE(change(heap->heap, *node, round));
  const pid_t child = ::fork();
  if (child == 0) {
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) ::_exit(3);
    bool good = true;
    for (std::uint32_t round = 200; round < 2000; ++round) good = good && change(heap->heap, *node, round);
    ::syscall(SYS_exit, good ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace hb::test
