// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <string>

namespace hb::fakehip {

// Appends one line a call to a file, by one write(), so that lines of several processes do not mix. The file
// is opened for each line: the trace costs no descriptor while nobody calls.
class Tracer {
 public:
  void open(const char* path);
  void line(const char* function, const std::string& arguments, const std::string& result) const;
  [[nodiscard]] bool enabled() const { return !path_.empty(); }

 private:
  std::string path_;
};

}  // namespace hb::fakehip
