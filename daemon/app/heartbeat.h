// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the service manager hears of a daemon that serves: by a timer of the event loop, so that a loop that
// stands still is one that says nothing.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "ipc/engine.h"

namespace hb::app {

class Heartbeat {
 public:
  // `places`: what is served.
  Heartbeat(boost::asio::io_context& io, const ipc::Engine& engine, std::string places);

  // The daemon is ready; beats from now on, where somebody listens.
  void start();
  // Around a configuration that is read again.
  void reloading();
  void reloaded();
  void stop() { timer_.cancel(); }

 private:
  [[nodiscard]] std::string status() const;
  void wait();
  void beat();

  boost::asio::steady_timer timer_;
  const ipc::Engine& engine_;
  std::string places_;
  std::optional<std::chrono::nanoseconds> watchdog_;
  std::chrono::nanoseconds interval_;
  std::string told_;
  std::chrono::steady_clock::time_point told_at_;
};

}  // namespace hb::app
