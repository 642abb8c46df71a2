// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "text.h"

namespace hb::cli {
namespace {

constexpr auto kLeft = Column::Align::kLeft;
constexpr auto kRight = Column::Align::kRight;

Table sample() {
  Table table({{"ID", kRight}, {"AGE", kRight, 0, 1}, {"COMMAND", kLeft, 4, 0}, {"NAME", kLeft, 8, 0}});
  table.add({"1", "3m12s", "python3", "kv/0"});
  table.add({"4294967297", "0s", "a-command-of-some-length", std::string(60, 'n')});
  return table;
}

std::size_t widest_line(const std::string& text) {
  std::istringstream in(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(in, line);) widest = std::max(widest, display_width(line));
  return widest;
}

TEST(CliTable, APipeGetsEverythingWithoutTabsOrTrailingBlanks) {
  const std::string text = sample().render({});
  EXPECT_NE(text.find(std::string(60, 'n')), std::string::npos);
  EXPECT_EQ(text.find('\t'), std::string::npos);
  EXPECT_EQ(text.find(" \n"), std::string::npos);
  EXPECT_EQ(text.substr(0, text.find('\n')), "        ID    AGE  COMMAND                   NAME");
}

TEST(CliTable, ATerminalGetsItsWidth) {
  for (const std::size_t width : {120u, 80u, 60u, 40u}) {
    const std::string text = sample().render({width, true});
    EXPECT_LE(widest_line(text), width) << text;
    EXPECT_NE(text.find("NAME"), std::string::npos);
  }
}

TEST(CliTable, TheLeastNeededColumnIsLeftOutLast) {
  EXPECT_NE(sample().render({45, true}).find("AGE"), std::string::npos);  // shrinking is enough
  EXPECT_EQ(sample().render({30, true}).find("AGE"), std::string::npos);
}

TEST(CliTable, WideCharactersLineUp) {
  Table table({{"A", kLeft}, {"B", kLeft}});
  table.add({"重み", "x"});
  table.add({"abcd", "x"});
  EXPECT_EQ(table.render({{}, false}), "重み  x\nabcd  x\n");
}

TEST(CliTable, HeaderCanBeLeftOut) {
  Table table({{"TITLE", kLeft}});
  EXPECT_EQ(table.render({{}, false}), "");
  EXPECT_EQ(table.render({}), "TITLE\n");
  table.add({"x"});
  EXPECT_EQ(table.render({{}, false}), "x\n");
}

}  // namespace
}  // namespace hb::cli
