// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "fd_room.h"

#include <gtest/gtest.h>

#include <vector>

#include "hipbroker/status.h"
#include "support/fd_census.h"
#include "wire/unique_fd.h"

namespace hb::test {
namespace {

TEST(FdRoom, CountsWhatIsOpen) {
  const client::FdRoom before = client::fd_room();
  EXPECT_EQ(before.open, count_fds());
  std::vector<UniqueFd> more;
  for (int i = 0; i < 10; ++i) more.emplace_back(::fcntl(0, F_DUPFD_CLOEXEC, 3));
  const client::FdRoom after = client::fd_room();
  EXPECT_EQ(after.open, before.open + 10);
  EXPECT_EQ(after.free(), before.free() - 10);
}

TEST(FdRoom, NamesLimitNeedAndWhatIsOpen) {
  const client::Error error = client::no_fds({256, 17}, 1000, "doing it");
  EXPECT_EQ(error.status, HB_NO_FDS);
  EXPECT_EQ(error.what, "RLIMIT_NOFILE");
  EXPECT_EQ(error.used, 1000u);
  EXPECT_EQ(error.limit, 256u);
  for (const char* part : {"doing it", "1000", "256", "17", "RLIMIT_NOFILE"})
    EXPECT_NE(error.message.find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace hb::test
