// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// main() of every test program: GoogleTest with the descriptor census around each test.
#include <gtest/gtest.h>

#include "support/fd_census.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new hb::test::FdCensus);
  return RUN_ALL_TESTS();
}
