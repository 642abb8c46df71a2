// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "table.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "text.h"

namespace hb::cli {
namespace {

constexpr std::size_t kGap = 2;

std::size_t line_width(const std::vector<std::size_t>& widths, const std::vector<std::size_t>& shown) {
  std::size_t sum = shown.empty() ? 0 : kGap * (shown.size() - 1);
  for (const std::size_t i : shown) sum += widths[i];
  return sum;
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  assert(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::render(const TableStyle& style) const {
  std::vector<std::size_t> widths(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (style.header) widths[i] = columns_[i].title.size();
    for (const auto& row : rows_) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::vector<std::size_t> shown(columns_.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});

  while (style.width && line_width(widths, shown) > *style.width) {
    // The widest column that may shrink gives way first, one column of the terminal at a time, so that two
    // long ones end up equal.
    std::size_t widest = columns_.size();
    for (const std::size_t i : shown)
      if (columns_[i].shrink_to != 0 && widths[i] > columns_[i].shrink_to &&
          (widest == columns_.size() || widths[i] > widths[widest]))
        widest = i;
    if (widest != columns_.size()) {
      --widths[widest];
      continue;
    }
    const auto least = std::max_element(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) {
      return columns_[a].drop < columns_[b].drop;
    });
    if (least == shown.end() || columns_[*least].drop == 0) break;
    shown.erase(least);
  }

  std::string out;
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (const std::size_t i : shown) {
      const std::string cell = fit(cell_of(i), widths[i]);
      const std::string blanks(widths[i] - display_width(cell), ' ');
      if (i != shown.front()) text.append(kGap, ' ');
      text += columns_[i].align == Column::Align::kRight ? blanks + cell : cell + blanks;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  if (style.header) line([&](std::size_t i) { return columns_[i].title; });
  for (const auto& row : rows_) line([&](std::size_t i) { return row[i]; });
  return out;
}

}  // namespace hb::cli
