// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace hb::cli {

struct Column {
  std::string title;
  enum class Align { kLeft, kRight } align = Align::kLeft;
  std::size_t shrink_to = 0;  // on a narrow terminal down to so many columns; 0 = never
  int drop = 0;               // left out of a terminal still too narrow, highest first; 0 = never
};

struct TableStyle {
  std::optional<std::size_t> width;  // of the terminal; none = a pipe: nothing is cut or left out
  bool header = true;
};

// Columns two blanks apart, no tabs, no blanks at the ends of lines.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells);  // as many as columns, already safe to print
  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] std::string render(const TableStyle& style) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace hb::cli
