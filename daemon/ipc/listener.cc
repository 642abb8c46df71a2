// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/listener.h"

#include <sys/socket.h>

#include <chrono>
#include <utility>

#include "ipc/engine.h"
#include "observe/log.h"
#include "wire/sys_error.h"

namespace hb::ipc {
namespace {

constexpr int kAcceptsPerWakeup = 16;
constexpr std::chrono::milliseconds kPause{100};
constexpr std::uint64_t kEpisodeNs = 10'000'000'000;  // one line each, however often it pauses

}  // namespace

Listener::Listener(boost::asio::io_context& io, UniqueFd socket, Door door, ListenerHost& host)
    : socket_(io, socket.release()), pause_(io), host_(host), door_(std::move(door)) {}

UniqueFd Listener::stop() {
  pause_.cancel();
  return UniqueFd(socket_.is_open() ? socket_.release() : -1);
}

void Listener::wait() {
  socket_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!error && self->socket_.is_open()) self->accept_some();
                     });
}

void Listener::accept_some() {
  for (int i = 0; i < kAcceptsPerWakeup; ++i) {
    if (!host_.may_accept(door_.admin)) return pause("no descriptors are left for another session");
    UniqueFd socket(::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      host_.accepted(std::move(socket), door_);
      continue;
    }
    const SysError error = SysError::last("accept4");
    if (error.code == EAGAIN || error.code == EWOULDBLOCK) break;
    if (error.code == EINTR || error.code == ECONNABORTED) continue;
    return pause(error.text());
  }
  wait();
}

void Listener::pause(const std::string& why) {
  const std::uint64_t now = monotonic_now();
  if (last_logged_ == 0 || now - last_logged_ >= kEpisodeNs) {
    last_logged_ = now;
    observe::log(
        observe::Level::kWarning, observe::Message::kDescriptorsShort,
        "new connections wait: " + why + "; they are accepted when a session ends, or raise LimitNOFILE");
  }
  paused_ = true;
  pause_.expires_after(kPause);
  pause_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->resume();
  });
}

void Listener::resume() {
  if (!paused_ || !socket_.is_open()) return;
  paused_ = false;
  pause_.cancel();
  wait();
}

}  // namespace hb::ipc
