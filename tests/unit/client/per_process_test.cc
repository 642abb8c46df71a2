// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "per_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <mutex>
#include <thread>

namespace hb::test {
namespace {

struct Thing {
  std::mutex lock;
  std::atomic<int> number{0};
};

bool is_five(const Thing& thing) { return thing.number == 5; }

// 0, or the line that was not as it must be.
int in_child(client::PerProcess<Thing>& things) {
  if (things.find() != nullptr) return __LINE__;
  if (!things.inherited(is_five)) return __LINE__;
  Thing& own = things.get();
  if (own.number != 0 || !own.lock.try_lock()) return __LINE__;  // the parent's is locked
  own.number = 7;
  if (things.find() != &own || &things.get() != &own) return __LINE__;
  if (things.inherited([](const Thing& thing) { return thing.number == 7; })) return __LINE__;
  const pid_t grandchild = ::fork();
  if (grandchild == 0) ::_exit(things.inherited(is_five) && things.find() == nullptr ? 0 : 1);
  int status = -1;
  ::waitpid(grandchild, &status, 0);
  return status == 0 ? 0 : __LINE__;
}

TEST(PerProcess, AForkedChildHasOneOfItsOwnWhateverTheParentHeld) {
  static constinit client::PerProcess<Thing> things;
  EXPECT_EQ(things.find(), nullptr);
  Thing& mine = things.get();
  EXPECT_EQ(&things.get(), &mine);
  EXPECT_EQ(things.find(), &mine);
  mine.number = 5;
  EXPECT_FALSE(things.inherited(is_five));
  const std::lock_guard guard(mine.lock);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(in_child(things));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "line of per_process_test.cc";
  EXPECT_EQ(mine.number, 5);
}

TEST(PerProcess, ThreadsThatComeAtOnceGetTheSame) {
  static std::array<client::PerProcess<Thing>, 50> rounds;  // what they hold is never destroyed
  for (client::PerProcess<Thing>& things : rounds) {
    Thing* first = nullptr;
    Thing* second = nullptr;
    std::thread other([&] { first = &things.get(); });
    second = &things.get();
    other.join();
    EXPECT_EQ(first, second);
    EXPECT_EQ(things.find(), first);
  }
}

}  // namespace
}  // namespace hb::test
