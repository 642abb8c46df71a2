// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The log: to the journal when stderr is connected to it, else to stderr; through the writer (writer.h), so
// that saying something never waits. In normal operation nothing is logged at run time. Never a key or a
// secret; text of peers is escaped by who passes it in. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "observe/message.h"

namespace hb::observe {

enum class Level : std::uint8_t { kDebug, kInfo, kWarning, kError };
inline constexpr std::string_view kLevelNames = "debug, info, warning, error";
[[nodiscard]] std::optional<Level> level_from_name(std::string_view name);

// Once, before the first line; without it lines of level info and above come out.
void start_log(Level level);
// Of the log and of the audit: the process has one, which is never destroyed.
class Writer;
[[nodiscard]] Writer& process_writer();
void log(Level level, std::string_view text);
void log(Level level, Message message, std::string_view text);

// Who a line is about. `command` is escaped already.
struct Who {
  std::uint32_t uid = 0;
  std::uint32_t pid = 0;  // 0 = unknown
  std::string command;
};
// "uid 1000, pid 42 (python3): text"
void log(Level level, Message message, const Who& who, std::string_view text);
void log(Level level, const Who& who, std::string_view text);

// For lines that a peer can cause: some are let through in each period, the rest are counted and the count is
// told with the next line.
class Throttle {
 public:
  explicit Throttle(std::uint32_t lines_per_period) : lines_(lines_per_period) {}
  // `now` in nanoseconds of a clock that only rises. How many lines were left out before this one; none =
  // this one is left out.
  [[nodiscard]] std::optional<std::uint64_t> admit(std::uint64_t now);

 private:
  std::uint32_t lines_;
  std::uint64_t period_start_ = 0;
  std::uint32_t in_period_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace hb::observe
