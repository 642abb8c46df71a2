// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/edge_note.h"

#include <gtest/gtest.h>

namespace hb::test {
namespace {

using ipc::EdgeNote;

TEST(EdgeNote, ComesBackFromItsNumber) {
  for (const EdgeNote note : {EdgeNote{}, EdgeNote{true, false, 1, 2}, EdgeNote{false, true, UINT16_MAX, 0},
                              EdgeNote{true, true, 7, UINT16_MAX}})
    EXPECT_EQ(EdgeNote::of(note.word()), note);
  // Recorded by other versions: bits stay what they are.
  EXPECT_EQ((EdgeNote{true, false, 3, 4}.word()), 0x4'0003'0001u);
}

TEST(EdgeNote, TheNextOfACountIsNeverNone) {
  EXPECT_EQ(ipc::next_of(0), 1);
  EXPECT_EQ(ipc::next_of(UINT16_MAX), 1);
}

}  // namespace
}  // namespace hb::test
