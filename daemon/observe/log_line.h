// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "observe/log.h"
#include "observe/message.h"
#include "observe/writable.h"

namespace hb::observe {

class LogLine : public Writable {
 public:
  LogLine(Level level, Message message, std::string text)
      : level_(level), message_(message), text_(std::move(text)) {}
  LogLine(Level level, Message message, const Who& who, std::string text);

  [[nodiscard]] Stream stream() const override { return Stream::kLog; }
  [[nodiscard]] std::size_t bytes() const override;
  [[nodiscard]] std::string line() const override;
  [[nodiscard]] std::vector<std::string> fields() const override;

 private:
  std::chrono::system_clock::time_point time_ = std::chrono::system_clock::now();
  Level level_;
  Message message_;
  std::string text_;
  std::optional<Who> who_;
};

}  // namespace hb::observe
