// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "observe/log_line.h"

#include <ctime>

#include <cstdio>
#include <string_view>
#include <utility>

namespace hb::observe {
namespace {

std::string_view name_of(Level level) {
  switch (level) {
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarning:
      return "warning";
    case Level::kError:
      return "error";
  }
  return "error";
}

// As in syslog(3).
int priority_of(Level level) {
  switch (level) {
    case Level::kDebug:
      return 7;
    case Level::kInfo:
      return 6;
    case Level::kWarning:
      return 4;
    case Level::kError:
      return 3;
  }
  return 3;
}

std::string text_of(const Who& who) {
  std::string out = "uid " + std::to_string(who.uid);
  out += who.pid != 0 ? ", pid " + std::to_string(who.pid) : std::string(", pid unknown");
  if (!who.command.empty()) out += " (" + who.command + ")";
  return out;
}

}  // namespace

LogLine::LogLine(Level level, const Who& who, std::string text)
    : level_(level), text_(text_of(who) + ": " + std::move(text)), who_(who) {}

std::size_t LogLine::bytes() const {
  return sizeof *this + text_.capacity() + (who_ ? who_->command.capacity() : 0);
}

std::string LogLine::line() const {
  using std::chrono::duration_cast;
  const auto since = time_.time_since_epoch();
  const std::time_t seconds = duration_cast<std::chrono::seconds>(since).count();
  const auto part = static_cast<int>(duration_cast<std::chrono::milliseconds>(since).count() % 1000);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char stamp[40];
  const std::size_t length = std::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &local);
  std::snprintf(stamp + length, sizeof stamp - length, ".%03d ", part);
  return std::string(stamp).append(name_of(level_)).append(" ").append(text_);
}

std::vector<std::string> LogLine::fields() const {
  std::vector<std::string> out{"MESSAGE=" + text_, "PRIORITY=" + std::to_string(priority_of(level_))};
  if (!who_) return out;
  out.push_back("HIPBROKER_UID=" + std::to_string(who_->uid));
  if (who_->pid != 0) out.push_back("HIPBROKER_PID=" + std::to_string(who_->pid));
  if (!who_->command.empty()) out.push_back("HIPBROKER_COMMAND=" + who_->command);
  return out;
}

}  // namespace hb::observe
