// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace hb::cli {
namespace {

struct Range {
  std::uint32_t first, last;
};

// wcwidth() answers by the locale, and a tool that runs under LANG=C has to line up the same. The tables hold
// what names on GPU nodes meet: East Asian scripts and emoji are wide; combining marks and joiners take none.
constexpr std::array kWide{
    Range{0x1100, 0x115f},   Range{0x231a, 0x231b},   Range{0x2329, 0x232a},   Range{0x23e9, 0x23ec},
    Range{0x25fd, 0x25fe},   Range{0x2614, 0x2615},   Range{0x26a1, 0x26a1},   Range{0x2705, 0x2705},
    Range{0x2728, 0x2728},   Range{0x274c, 0x274c},   Range{0x2753, 0x2757},   Range{0x2795, 0x2797},
    Range{0x2b1b, 0x2b1c},   Range{0x2b50, 0x2b55},   Range{0x2e80, 0x303e},   Range{0x3041, 0x33ff},
    Range{0x3400, 0x4dbf},   Range{0x4e00, 0x9fff},   Range{0xa000, 0xa4cf},   Range{0xa960, 0xa97f},
    Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},   Range{0xfe10, 0xfe19},   Range{0xfe30, 0xfe6f},
    Range{0xff00, 0xff60},   Range{0xffe0, 0xffe6},   Range{0x16fe0, 0x18aff}, Range{0x1b000, 0x1b2ff},
    Range{0x1f004, 0x1f004}, Range{0x1f0cf, 0x1f0cf}, Range{0x1f18e, 0x1f19a}, Range{0x1f200, 0x1f64f},
    Range{0x1f680, 0x1f6ff}, Range{0x1f7e0, 0x1f7eb}, Range{0x1f90c, 0x1faff}, Range{0x20000, 0x3fffd}};
constexpr std::array kNarrowest{
    Range{0x0300, 0x036f}, Range{0x0483, 0x0489}, Range{0x0591, 0x05bd},  Range{0x0610, 0x061a},
    Range{0x064b, 0x065f}, Range{0x0900, 0x0902}, Range{0x0e31, 0x0e31},  Range{0x0e34, 0x0e3a},
    Range{0x0e47, 0x0e4e}, Range{0x1ab0, 0x1aff}, Range{0x1dc0, 0x1dff},  Range{0x200b, 0x200f},
    Range{0x202a, 0x202e}, Range{0x2060, 0x2064}, Range{0x20d0, 0x20ff},  Range{0xfe00, 0xfe0f},
    Range{0xfe20, 0xfe2f}, Range{0xfeff, 0xfeff}, Range{0xe0100, 0xe01ef}};

template <std::size_t N>
bool in(const std::array<Range, N>& ranges, std::uint32_t c) {
  const auto* r =
      std::lower_bound(ranges.begin(), ranges.end(), c,
                       [](const Range& range, std::uint32_t value) { return range.last < value; });
  return r != ranges.end() && c >= r->first;
}

struct Character {
  std::size_t bytes;
  std::size_t columns;
};

Character next(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t lead = at(0);
  const std::size_t bytes = lead < 0x80         ? 1
                            : (lead >> 5) == 6  ? 2
                            : (lead >> 4) == 14 ? 3
                            : (lead >> 3) == 30 ? 4
                                                : 1;
  if (bytes == 1 || bytes > text.size()) return {1, 1};
  std::uint32_t c = lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xc0) != 0x80) return {1, 1};
    c = c << 6 | (at(i) & 0x3fu);
  }
  return {bytes, in(kNarrowest, c) ? 0u : in(kWide, c) ? 2u : 1u};
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character c = next(text);
    columns += c.columns;
    text.remove_prefix(c.bytes);
  }
  return columns;
}

std::string fit(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t columns = 0;
  std::size_t bytes = 0;
  for (;;) {
    const Character c = next(text.substr(bytes));
    if (columns + c.columns > width - 1) break;
    columns += c.columns;
    bytes += c.bytes;
  }
  return std::string(text.substr(0, bytes)) + "…";
}

std::string one_line(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace hb::cli
