// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "wire/amount.h"

#include <gtest/gtest.h>

namespace hb::test {
namespace {

TEST(Amount, SizesAreExact) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("300G"), 322'122'547'200u);
  EXPECT_EQ(parse_bytes("1K"), 1024u);
  EXPECT_EQ(parse_bytes("3M"), 3'145'728u);
  EXPECT_EQ(parse_bytes("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_bytes("16777215T"), 16'777'215ull << 40);
  for (const char* bad : {"", "G", "16777216T", "18446744073709551616", "18014398509481984K", "-1", "+1",
                          "1.5G", "1 G", " 1", "1g", "1GB", "0x10"})
    EXPECT_FALSE(parse_bytes(bad)) << bad;
}

TEST(Amount, CountsAreDecimal) {
  EXPECT_EQ(parse_count("200k"), 200'000u);
  EXPECT_EQ(parse_count("1k"), 1000u);
  EXPECT_EQ(parse_count("4M"), 4'000'000u);
  EXPECT_EQ(parse_count("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_count("18446744073G"), 18'446'744'073'000'000'000u);
  for (const char* bad : {"", "k", "1K", "1T", "18446744074G", "1.5k", "-1", "1 k"})
    EXPECT_FALSE(parse_count(bad)) << bad;
}

TEST(Amount, WhatIsPrintedIsReadBack) {
  for (const auto& [bytes, text] : {std::pair<std::uint64_t, const char*>{0, "0"},
                                    {1, "1"},
                                    {1023, "1023"},
                                    {1024, "1K"},
                                    {1536ull << 20, "1536M"},
                                    {300ull << 30, "300G"},
                                    {2048ull << 40, "2048T"},
                                    {(300ull << 30) + 1, "322122547201"},
                                    {UINT64_MAX, "18446744073709551615"}}) {
    EXPECT_EQ(exact_bytes(bytes), text);
    EXPECT_EQ(parse_bytes(text), bytes);
  }
}

}  // namespace
}  // namespace hb::test
