// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "wire/unique_fd.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <type_traits>

namespace hb::test {
namespace {

static_assert(!std::is_copy_constructible_v<UniqueFd> && !std::is_copy_assignable_v<UniqueFd>);
static_assert(!std::is_convertible_v<int, UniqueFd>, "adopting is said aloud");

UniqueFd make_fd() { return UniqueFd(::memfd_create("unique_fd_test", MFD_CLOEXEC)); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFd, EmptyOwnsNothing) {
  const UniqueFd none;
  EXPECT_FALSE(none);
  EXPECT_LT(none.get(), 0);
}

TEST(UniqueFd, ZeroIsADescriptor) {
  UniqueFd zero(0);
  EXPECT_TRUE(zero);
  EXPECT_EQ(zero.release(), 0);
}

TEST(UniqueFd, ClosesAtTheEndOfItsLife) {
  int number = -1;
  {
    const UniqueFd fd = make_fd();
    number = fd.get();
    ASSERT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, MoveLeavesTheSourceEmpty) {
  UniqueFd first = make_fd();
  const int number = first.get();
  UniqueFd second(std::move(first));
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(second.get(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(UniqueFd, MoveAssignmentClosesWhatWasOwned) {
  UniqueFd kept = make_fd();
  UniqueFd replaced = make_fd();
  const int old_number = replaced.get();
  const int number = kept.get();
  replaced = std::move(kept);
  EXPECT_FALSE(is_open(old_number));
  EXPECT_EQ(replaced.get(), number);
  UniqueFd& alias = replaced;
  replaced = std::move(alias);
  EXPECT_TRUE(is_open(number)) << "assigning to itself must not close";
}

TEST(UniqueFd, ReleaseGivesOwnershipAway) {
  UniqueFd fd = make_fd();
  const int number = fd.release();
  EXPECT_FALSE(fd);
  EXPECT_TRUE(is_open(number));
  ::close(number);
}

TEST(UniqueFd, ResetKeepsErrno) {
  UniqueFd bad(1'000'000);  // close() of it fails with EBADF
  errno = ENOSPC;
  bad.reset();
  EXPECT_EQ(errno, ENOSPC);
}

TEST(UniqueFd, DuplicateIsTheSameFileCloseOnExecAndAboveTwo) {
  const UniqueFd fd = make_fd();
  const UniqueFd copy = fd.duplicate();
  ASSERT_TRUE(copy);
  EXPECT_GT(copy.get(), 2);
  EXPECT_NE(copy.get(), fd.get());
  EXPECT_EQ(::fcntl(copy.get(), F_GETFD), FD_CLOEXEC);
  struct stat a {
  }, b{};
  ASSERT_EQ(::fstat(fd.get(), &a), 0);
  ASSERT_EQ(::fstat(copy.get(), &b), 0);
  EXPECT_EQ(a.st_ino, b.st_ino);
}

TEST(UniqueFd, DuplicateAvoidsAFreeZero) {
  const UniqueFd fd = make_fd();
  UniqueFd saved(::fcntl(0, F_DUPFD_CLOEXEC, 3));
  ASSERT_TRUE(saved);
  ::close(0);
  const UniqueFd copy = fd.duplicate();
  ASSERT_EQ(::dup2(saved.get(), 0), 0);
  EXPECT_GT(copy.get(), 2);
}

TEST(UniqueFd, DuplicateOfNothingSaysWhy) {
  errno = 0;
  EXPECT_FALSE(UniqueFd().duplicate());
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace hb::test
