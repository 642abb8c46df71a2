// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/notify.h"

#include <systemd/sd-daemon.h>
#include <time.h>

#include <algorithm>

#include "os/notify_socket.h"

namespace hb::os {
namespace {

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

void tell(const std::string& lines) { static_cast<void>(notify_send(lines)); }

}  // namespace

void notify_ready(const std::string& status) { tell("READY=1\nSTATUS=" + one_line(status)); }

void notify_status(const std::string& status) { tell("STATUS=" + one_line(status)); }

void notify_stopping() { tell("STOPPING=1"); }

void notify_reloading() {
  // Type=notify-reload tells by the time that this is of now and not of a reload before.
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::uint64_t us =
      static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
  tell("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(us));
}

std::optional<std::uint64_t> watchdog_interval_ns() {
  std::uint64_t us = 0;
  if (::sd_watchdog_enabled(0, &us) <= 0) return std::nullopt;
  return us * 1000;
}

void notify_watchdog() { tell("WATCHDOG=1"); }

}  // namespace hb::os
