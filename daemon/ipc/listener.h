// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Accepts connections of one listening socket, a bounded number at a time, and stops for a moment where there
// are no descriptors for more: who waits in the backlog costs nothing.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <string>

#include "wire/unique_fd.h"

namespace hb::ipc {

class ListenerHost {
 public:
  virtual ~ListenerHost() = default;
  [[nodiscard]] virtual bool may_accept(bool admin) = 0;
  virtual void accepted(UniqueFd socket, bool admin) = 0;
};

class Listener {
 public:
  // `socket` is listening and non-blocking.
  Listener(boost::asio::io_context& io, UniqueFd socket, bool admin, ListenerHost& host);

  void start() { wait(); }
  void stop();
  // A session ended: there may be room again.
  void resume();

 private:
  void wait();
  void accept_some();
  void pause(const std::string& why);

  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  ListenerHost& host_;
  bool admin_;
  bool paused_ = false;
  std::uint64_t last_logged_ = 0;
};

}  // namespace hb::ipc
