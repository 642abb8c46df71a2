// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/fd_need.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "wire/limits.h"

namespace hb::test {
namespace {

TEST(FdNeed, RoomForOneSessionBesideBaseAndReserve) {
  for (const std::uint64_t base : {3u, 12u, 100u, 900u, 5'000u}) {
    std::uint64_t limit = 0;
    while (app::refuse_fd_limit(limit, base, 2)) ++limit;
    EXPECT_EQ(limit - limits::fd_reserve(limit), base + 2) << "the first limit that is enough";
  }
  EXPECT_FALSE(app::refuse_fd_limit(1024, 12, 2));
}

TEST(FdNeed, TheRefusalNamesAllNumbers) {
  EXPECT_EQ(
      app::refuse_fd_limit(16, 12, 2).value_or(""),
      "RLIMIT_NOFILE is 16, hipbrokerd needs at least 18: 12 descriptors for itself, 2 for one session and "
      "4 kept free; raise it with LimitNOFILE= of the service or ulimit -Hn");
}

}  // namespace
}  // namespace hb::test
