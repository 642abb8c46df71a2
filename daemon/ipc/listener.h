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
#include <memory>
#include <string>

#include "ipc/scope.h"
#include "wire/unique_fd.h"

namespace hb::ipc {

class ListenerHost {
 public:
  virtual ~ListenerHost() = default;
  [[nodiscard]] virtual bool may_accept(bool admin) = 0;
  virtual void accepted(UniqueFd socket, const Door& door) = 0;
};

class Listener : public std::enable_shared_from_this<Listener> {
 public:
  // `socket` is listening and non-blocking.
  Listener(boost::asio::io_context& io, UniqueFd socket, Door door, ListenerHost& host);

  void start() { wait(); }
  // Nothing is accepted any more. What comes back holds the connections that nobody has accepted, with
  // whatever was sent into them: its close can take as long as theirs.
  [[nodiscard]] UniqueFd stop();
  [[nodiscard]] const Door& door() const { return door_; }
  // A session ended: there may be room again.
  void resume();

 private:
  void wait();
  void accept_some();
  void pause(const std::string& why);

  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  ListenerHost& host_;
  const Door door_;
  bool paused_ = false;
  std::uint64_t last_logged_ = 0;
};

}  // namespace hb::ipc
