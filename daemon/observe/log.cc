// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "observe/log.h"

#include <ctime>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "observe/log_line.h"
#include "observe/sinks.h"
#include "observe/writer.h"

namespace hb::observe {
namespace {

std::atomic<Level> least{Level::kInfo};

bool is_told(Level level) { return level >= least.load(std::memory_order_relaxed); }

}  // namespace

std::optional<Level> level_from_name(std::string_view name) {
  if (name == "debug") return Level::kDebug;
  if (name == "info") return Level::kInfo;
  if (name == "warning") return Level::kWarning;
  if (name == "error") return Level::kError;
  return std::nullopt;
}

// The file of the local time is read now: later the sandbox may hide it.
void start_log(Level level) {
  ::tzset();
  least.store(level, std::memory_order_relaxed);
}

// Never deleted: a closer thread may outlive main().
Writer& process_writer() {
  static auto* const writer = new Writer(make_default_sink());
  return *writer;
}

void log(Level level, Message message, std::string_view text) {
  if (is_told(level)) process_writer().put(std::make_shared<LogLine>(level, message, std::string(text)));
}

void log(Level level, Message message, const Who& who, std::string_view text) {
  if (is_told(level)) process_writer().put(std::make_shared<LogLine>(level, message, who, std::string(text)));
}

void log(Level level, std::string_view text) { log(level, Message::kNone, text); }

void log(Level level, const Who& who, std::string_view text) { log(level, Message::kNone, who, text); }

std::optional<std::uint64_t> Throttle::admit(std::uint64_t now) {
  constexpr std::uint64_t kPeriodNs = 10'000'000'000;
  if (now - period_start_ >= kPeriodNs) {
    period_start_ = now;
    in_period_ = 0;
  }
  if (in_period_ >= lines_) {
    ++left_out_;
    return std::nullopt;
  }
  ++in_period_;
  return std::exchange(left_out_, 0);
}

}  // namespace hb::observe
