// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "wire/name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace hb::test {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view name) {
  const auto checked = check_name(name);
  return checked ? "accepted" : checked.error();
}

TEST(Name, Accepted) {
  for (const char* name : {"a",
                           "kv/0",
                           "a/b/c",
                           "...",
                           ".hidden",
                           "a..b",
                           "..a",
                           "a..",
                           ".a/b.",
                           "spaces are fine",
                           "\"quoted\"",
                           "back\\slash",
                           "größe",
                           "名前/一",
                           "\xf0\x9f\x98\x80",
                           "\xc2\xa0",
                           "\xed\x9f\xbf",
                           "\xee\x80\x80",
                           "\xf4\x8f\xbf\xbf",
                           "\xef\xbf\xbf",
                           "\xe2\x80\xae"}) {
    EXPECT_TRUE(check_name(name).has_value()) << name << ": " << error_of(name);
  }
}

TEST(Name, LengthLimitBothSides) {
  EXPECT_TRUE(check_name(std::string(255, 'x')).has_value());
  EXPECT_THAT(error_of(std::string(256, 'x')), testing::AllOf(HasSubstr("256"), HasSubstr("255")));
  std::string wide;
  while (wide.size() < 254) wide += "\xc3\xb6";
  EXPECT_TRUE(check_name(wide + "x").has_value());
  EXPECT_THAT(error_of(wide + "\xc3\xb6"), HasSubstr("256 bytes"));
  EXPECT_THAT(error_of(""), HasSubstr("empty at byte 0"));
}

TEST(Name, PartsAreNamedWithTheirOffset) {
  EXPECT_THAT(error_of("a//b"), HasSubstr("empty part at byte 2"));
  EXPECT_THAT(error_of("/a"), HasSubstr("empty part at byte 0"));
  EXPECT_THAT(error_of("a/"), HasSubstr("empty part at byte 2"));
  EXPECT_THAT(error_of("/"), HasSubstr("empty part at byte 0"));
  EXPECT_THAT(error_of("."), HasSubstr("part \".\" at byte 0"));
  EXPECT_THAT(error_of(".."), HasSubstr("part \"..\" at byte 0"));
  EXPECT_THAT(error_of("../etc"), HasSubstr("part \"..\" at byte 0"));
  EXPECT_THAT(error_of("ab/../c"), HasSubstr("part \"..\" at byte 3"));
  EXPECT_THAT(error_of("ab/."), HasSubstr("part \".\" at byte 3"));
}

TEST(Name, EveryControlCharacterIsRefused) {
  for (int code = 0; code <= 0x9f; ++code) {
    if (code >= 0x20 && code < 0x7f) continue;
    std::string name = "ab";
    if (code < 0x80) {
      name += static_cast<char>(code);
    } else {
      name += static_cast<char>(0xc2);
      name += static_cast<char>(code);
    }
    char shown[8];
    std::snprintf(shown, sizeof shown, "U+%04X", code);
    EXPECT_THAT(error_of(name), testing::AllOf(HasSubstr(shown), HasSubstr("at byte 2")));
  }
}

TEST(Name, InvalidUtf8IsRefused) {
  const std::pair<std::string, const char*> cases[] = {
      {"a\x80", "lone continuation"},
      {"a\xc3", "cut after the lead"},
      {"a\xe2\x82", "cut inside three"},
      {"a\xf0\x9f\x98", "cut inside four"},
      {"a\xc3/b", "lead without continuation"},
      {"a\xc0\xaf", "overlong '/' in two"},
      {"a\xc1\xbf", "overlong in two"},
      {"a\xe0\x80\xaf", "overlong '/' in three"},
      {"a\xe0\x9f\xbf", "overlong in three"},
      {"a\xf0\x80\x80\xaf", "overlong '/' in four"},
      {"a\xf0\x8f\xbf\xbf", "overlong in four"},
      {std::string("a\xc0\x80", 3), "overlong NUL"},
      {"a\xed\xa0\x80", "first surrogate"},
      {"a\xed\xbf\xbf", "last surrogate"},
      {"a\xf4\x90\x80\x80", "above U+10FFFF"},
      {"a\xf5\x80\x80\x80", "lead of nothing"},
      {"a\xf8\x88\x80\x80\x80", "five bytes"},
      {"a\xfe", "0xFE"},
      {"a\xff", "0xFF"},
  };
  for (const auto& [name, what] : cases) {
    EXPECT_THAT(error_of(name), testing::AllOf(HasSubstr("not valid UTF-8"), HasSubstr("at byte 1"))) << what;
  }
}

TEST(Escape, PlainTextStays) {
  for (const char* text : {"", "kv/layer 0", "größe", "名前", "\xf0\x9f\x98\x80", "\xc2\xa0", "a$b`c*?"}) {
    EXPECT_EQ(escape_for_display(text), text);
  }
}

TEST(Escape, WhatCouldMislead) {
  EXPECT_EQ(escape_for_display("a\x1b[31mb"), "a\\x1B[31mb");
  EXPECT_EQ(escape_for_display("a\nb\tc\rd"), "a\\x0Ab\\x09c\\x0Dd");
  EXPECT_EQ(escape_for_display(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escape_for_display("\x7f"), "\\x7F");
  EXPECT_EQ(escape_for_display("\xc2\x9b"
                               "31m"),
            "\\u{009B}31m");
  EXPECT_EQ(escape_for_display("\"'\\"), "\\x22\\x27\\x5C");
  EXPECT_EQ(escape_for_display("a\xffz"), "a\\xFFz");
  EXPECT_EQ(escape_for_display("\xc0\xaf"), "\\xC0\\xAF");
  EXPECT_EQ(escape_for_display("\xed\xa0\x80"), "\\xED\\xA0\\x80");
  EXPECT_EQ(escape_for_display("\xe2\x82"), "\\xE2\\x82");
}

TEST(Escape, BidirectionalControls) {
  EXPECT_EQ(escape_for_display("\xd8\x9c"), "\\u{061C}");
  EXPECT_EQ(escape_for_display("\xe2\x80\x8e\xe2\x80\x8f"), "\\u{200E}\\u{200F}");
  EXPECT_EQ(escape_for_display("\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad\xe2\x80\xae"),
            "\\u{202A}\\u{202B}\\u{202C}\\u{202D}\\u{202E}");
  EXPECT_EQ(escape_for_display("\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9"),
            "\\u{2066}\\u{2067}\\u{2068}\\u{2069}");
  EXPECT_EQ(escape_for_display("\xe2\x80\xaf"), "\xe2\x80\xaf") << "U+202F is a space";
}

TEST(Escape, InvisibleCharactersAndLineSeparators) {
  EXPECT_EQ(escape_for_display("\xe2\x80\x8b\xe2\x80\x8c\xe2\x80\x8d"), "\\u{200B}\\u{200C}\\u{200D}");
  EXPECT_EQ(escape_for_display("\xe2\x80\xa8\xe2\x80\xa9"), "\\u{2028}\\u{2029}");
  EXPECT_EQ(escape_for_display("\xe2\x81\xa0\xe2\x81\xa4"), "\\u{2060}\\u{2064}");
  EXPECT_EQ(escape_for_display("\xef\xbb\xbf"), "\\u{FEFF}");
  EXPECT_EQ(escape_for_display("\xe2\x80\x8a\xe2\x80\x90\xe2\x80\xa7"),
            "\xe2\x80\x8a\xe2\x80\x90\xe2\x80\xa7")
      << "a thin space, a hyphen and a hyphenation point are seen";
}

TEST(Escape, ResultIsCleanBoundedAndItselfDisplayable) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 64, '\0');
    for (char& byte : text) byte = static_cast<char>(random());
    const std::string shown = escape_for_display(text);
    EXPECT_LE(shown.size(), 4 * text.size());
    for (const char byte : shown) {
      EXPECT_FALSE(static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f || byte == '"');
    }
    // Undo the backslashes: what remains has nothing left to escape.
    std::string without;
    for (const char byte : shown) {
      if (byte != '\\') without += byte;
    }
    EXPECT_EQ(escape_for_display(without), without);
  }
}

}  // namespace
}  // namespace hb::test
