// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "text.h"

#include <gtest/gtest.h>

namespace hb::cli {
namespace {

TEST(CliText, WidthCountsTerminalColumns) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("kv/0"), 4u);
  EXPECT_EQ(display_width("größe"), 5u);
  EXPECT_EQ(display_width("重み"), 4u);
  EXPECT_EQ(display_width("e\xcc\x81"), 1u);         // with a combining accent
  EXPECT_EQ(display_width("\xf0\x9f\x98\x80"), 2u);  // emoji
  EXPECT_EQ(display_width("\xff\xfe"), 2u);          // not UTF-8: one each
  EXPECT_EQ(display_width("\xe9\x87"), 2u);          // cut off
}

TEST(CliText, FitCutsAtCharactersAndSaysSo) {
  EXPECT_EQ(fit("tensors", 7), "tensors");
  EXPECT_EQ(fit("tensors", 4), "ten…");
  EXPECT_EQ(fit("重み重み", 5), "重み…");
  EXPECT_EQ(fit("重み重み", 4), "重…");  // a wide one does not fit beside the mark
  EXPECT_EQ(fit("abc", 0), "");
  EXPECT_LE(display_width(fit("重み重み", 4)), 4u);
}

TEST(CliText, MessagesAreOneLine) { EXPECT_EQ(one_line("a\nb\x1b[0m\t\n"), "a b [0m"); }

}  // namespace
}  // namespace hb::cli
