// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "observe/log_line.h"

#include <spdlog/pattern_formatter.h>

#include <utility>

namespace hb::observe {
namespace {

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
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

LogLine::LogLine(Level level, Message message, const Who& who, std::string text)
    : level_(level), message_(message), text_(text_of(who) + ": " + std::move(text)), who_(who) {}

std::size_t LogLine::bytes() const {
  return sizeof *this + text_.capacity() + (who_ ? who_->command.capacity() : 0);
}

std::string LogLine::line() const {
  // One a thread: a formatter keeps what it made of the last second.
  thread_local spdlog::pattern_formatter formatter("%Y-%m-%dT%H:%M:%S.%e %l %v",
                                                   spdlog::pattern_time_type::local, "");
  spdlog::memory_buf_t out;
  formatter.format({time_, {}, "hipbrokerd", spdlog_level(level_), text_}, out);
  return {out.data(), out.size()};
}

std::vector<std::string> LogLine::fields() const {
  std::vector<std::string> out{"MESSAGE=" + text_, "PRIORITY=" + std::to_string(priority_of(level_))};
  if (message_ != Message::kNone) out.push_back("MESSAGE_ID=" + std::string(message_id(message_)));
  if (!who_) return out;
  out.push_back("HIPBROKER_UID=" + std::to_string(who_->uid));
  if (who_->pid != 0) out.push_back("HIPBROKER_PID=" + std::to_string(who_->pid));
  if (!who_->command.empty()) out.push_back("HIPBROKER_COMMAND=" + who_->command);
  return out;
}

}  // namespace hb::observe
