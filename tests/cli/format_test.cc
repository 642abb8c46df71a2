// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "format.h"

#include <gtest/gtest.h>

namespace hb::cli {
namespace {

TEST(CliFormat, BytesAreShortAndNeverMisleading) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(64u << 20), "64.0 MiB");
  EXPECT_EQ(format_bytes((1u << 20) - 1), "1.0 MiB");  // not 1024.0 KiB
  EXPECT_EQ(format_bytes(128'849'018'880), "120.0 GiB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "16.0 EiB");
}

TEST(CliFormat, AgesHaveTwoUnitsAtMost) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  EXPECT_EQ(format_age(0), "0s");
  EXPECT_EQ(format_age(59 * kSecond), "59s");
  EXPECT_EQ(format_age(192 * kSecond), "3m12s");
  EXPECT_EQ(format_age(3600 * kSecond), "1h00m");
  EXPECT_EQ(format_age((2 * 86400 + 4 * 3600) * kSecond), "2d4h");
}

TEST(CliFormat, WordsForNumbers) {
  EXPECT_EQ(format_pid(0), "unknown");
  EXPECT_EQ(format_pid(7), "7");
  EXPECT_EQ(format_access(HB_ACCESS_READ_WRITE, HB_LEVEL_ANY), "rw");
  EXPECT_EQ(format_access(HB_ACCESS_READ, HB_LEVEL_SEALED), "r/sealed");
  EXPECT_EQ(level_word(HB_LEVEL_PER_READER), "per-reader");
  EXPECT_EQ(level_word(9), "level-9");
  EXPECT_EQ(kind_word(HB_KIND_DMABUF), "dma-buf");
  EXPECT_EQ(kind_word(77), "kind-77");
}

TEST(CliFormat, StringsOfOthersAreSafeOnATerminal) {
  EXPECT_EQ(safe(nullptr), "-");
  EXPECT_EQ(safe(""), "-");
  EXPECT_EQ(safe("python3"), "python3");
  EXPECT_EQ(safe("\x1b[31mred").find('\x1b'), std::string::npos);
  EXPECT_EQ(shown_name("a\xe2\x80\xae"
                       "b")
                .find("\xe2\x80\xae"),
            std::string::npos);  // right-to-left override
  EXPECT_EQ(shown_name("a\xe2\x80\xa8\xef\xbb\xbf"
                       "b"),
            "a\\u{2028}\\u{FEFF}b");  // a line of its own, nothing at all
  EXPECT_EQ(shown_name(""), "(anonymous)");
}

}  // namespace
}  // namespace hb::cli
