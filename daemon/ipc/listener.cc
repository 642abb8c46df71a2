// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/listener.h"

#include <sys/socket.h>

#include <chrono>

#include "ipc/engine.h"
#include "observe/log.h"
#include "wire/sys_error.h"

namespace hb::ipc {
namespace {

constexpr int kAcceptsPerWakeup = 16;
constexpr std::chrono::milliseconds kPause{100};
constexpr std::uint64_t kEpisodeNs = 10'000'000'000;  // one line each, however often it pauses

}  // namespace

Listener::Listener(boost::asio::io_context& io, UniqueFd socket, bool admin, ListenerHost& host)
    : socket_(io, socket.release()), pause_(io), host_(host), admin_(admin) {}

void Listener::stop() {
  pause_.cancel();
  // Not closed: that would close what lies in connections nobody accepted, and wait for it. The process's
  // exit waits for less.
  if (socket_.is_open()) static_cast<void>(socket_.release());
}

void Listener::wait() {
  socket_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                     [this](const boost::system::error_code& error) {
                       if (!error) accept_some();
                     });
}

void Listener::accept_some() {
  for (int i = 0; i < kAcceptsPerWakeup; ++i) {
    if (!host_.may_accept(admin_)) return pause("no descriptors are left for another session");
    UniqueFd socket(::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      host_.accepted(std::move(socket), admin_);
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
        observe::Level::kWarning,
        "new connections wait: " + why + "; they are accepted when a session ends, or raise LimitNOFILE");
  }
  paused_ = true;
  pause_.expires_after(kPause);
  pause_.async_wait([this](const boost::system::error_code& error) {
    if (!error) resume();
  });
}

void Listener::resume() {
  if (!paused_) return;
  paused_ = false;
  pause_.cancel();
  wait();
}

}  // namespace hb::ipc
