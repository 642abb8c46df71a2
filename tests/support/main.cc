// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// main() of every test program: GoogleTest with the descriptor census around each test; or one of the
// program's helper processes.
#include <gtest/gtest.h>

#include "support/fd_census.h"
#include "support/role.h"

int main(int argc, char** argv) {
  const int role = hb::test::run_role_if_asked(argc, argv);
  if (role >= 0) return role;
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new hb::test::FdCensus);
  return RUN_ALL_TESTS();
}
