// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/heartbeat.h"

#include <algorithm>
#include <utility>

#include "os/notify.h"
#include "os/notify_socket.h"

namespace hb::app {
namespace {

constexpr std::chrono::seconds kStatusPause{5};  // between two texts

}  // namespace

Heartbeat::Heartbeat(boost::asio::io_context& io, const ipc::Engine& engine, std::string places)
    : timer_(io), engine_(engine), places_(std::move(places)), interval_(kStatusPause) {
  if (const auto watched = os::watchdog_interval_ns()) {
    watchdog_ = std::chrono::nanoseconds(*watched / 2);
    interval_ = std::min<std::chrono::nanoseconds>(interval_, *watchdog_);
  }
}

std::string Heartbeat::status() const {
  const core::Counters counters = engine_.counters();
  const ipc::Continuity::State state = engine_.continuity_state();
  std::string text = "serving " + places_ + ", " + std::to_string(counters.sessions) + " sessions, " +
                     std::to_string(counters.exports) + " exports, restart-safe: " + (state.safe ? "yes" : "no");
  if (!state.safe) text += " (" + state.reason + ")";
  if (const std::uint64_t awaited = engine_.awaited(); awaited != 0)
    text += ", " + std::to_string(awaited) + " exports wait for their owners";
  if (engine_.draining()) text += ", draining";
  return text;
}

void Heartbeat::start() {
  told_ = status();
  told_at_ = std::chrono::steady_clock::now();
  os::notify_ready(told_);
  if (watchdog_) os::notify_watchdog();
  if (os::notify_wanted()) wait();
}

void Heartbeat::wait() {
  timer_.expires_after(interval_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) beat();
  });
}

void Heartbeat::beat() {
  if (watchdog_) os::notify_watchdog();
  const auto now = std::chrono::steady_clock::now();
  if (now - told_at_ >= kStatusPause) {
    told_at_ = now;
    if (std::string text = status(); text != told_) {
      os::notify_status(text);
      told_ = std::move(text);
    }
  }
  wait();
}

void Heartbeat::reloading() { os::notify_reloading(); }

void Heartbeat::reloaded() {
  told_ = status();
  os::notify_ready(told_);
}

}  // namespace hb::app
