// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "observe/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/systemd_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace hb::observe {
namespace {

// $JOURNAL_STREAM names the device and inode of the journal's socket: a stderr redirected elsewhere by the
// service inherits the variable all the same.
bool stderr_is_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  if (stream == nullptr) return false;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  if (std::sscanf(stream, "%" SCNu64 ":%" SCNu64, &device, &inode) != 2) return false;
  struct stat status {};
  return ::fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

spdlog::logger& logger() {
  static spdlog::logger* instance = [] {
    std::shared_ptr<spdlog::sinks::sink> sink;
    if (stderr_is_journal()) {
      sink = std::make_shared<spdlog::sinks::systemd_sink_mt>("hipbrokerd");
    } else {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
      sink->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
    }
    // Never deleted: a closer thread may outlive main().
    auto* made = new spdlog::logger("hipbrokerd", std::move(sink));
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  return *instance;
}

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

}  // namespace

std::optional<Level> level_from_name(std::string_view name) {
  if (name == "debug") return Level::kDebug;
  if (name == "info") return Level::kInfo;
  if (name == "warning") return Level::kWarning;
  if (name == "error") return Level::kError;
  return std::nullopt;
}

void start_log(Level level) { logger().set_level(spdlog_level(level)); }

void log(Level level, std::string_view text) {
  logger().log(spdlog_level(level), spdlog::string_view_t(text.data(), text.size()));
}

void log(Level level, const Who& who, std::string_view text) {
  if (!logger().should_log(spdlog_level(level))) return;
  std::string line = "uid " + std::to_string(who.uid);
  line += who.pid != 0 ? ", pid " + std::to_string(who.pid) : std::string(", pid unknown");
  if (!who.command.empty()) line += " (" + who.command + ")";
  line += ": ";
  line += text;
  log(level, line);
}

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
