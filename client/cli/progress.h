// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <string>

namespace hb::cli {

// What is being done, on one line that is gone when it is over, for a person who waits at a terminal.
class Progress {
 public:
  Progress() : shown_(::isatty(STDERR_FILENO) == 1) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void tell(const std::string& what) const {
    if (shown_) fmt::print(stderr, "\r\033[K{} ...", what);
  }
  void clear() const {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }
  [[nodiscard]] bool shown() const { return shown_; }

 private:
  bool shown_;
};

}  // namespace hb::cli
