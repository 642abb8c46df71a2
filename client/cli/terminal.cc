// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace hb::cli {

TableStyle style_of(const Options& options) {
  TableStyle style;
  style.header = options.header;
  if (::isatty(STDOUT_FILENO) != 1) return style;
  winsize size{};
  style.width = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : 80;
  return style;
}

std::string view_note(const TableStyle& style, const Connection& connection) {
  if (!style.width || connection.info().admin != 0) return {};
  return fmt::format("(what uid {} may see; the admin socket shows all)\n", connection.info().uid);
}

}  // namespace hb::cli
