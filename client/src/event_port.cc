// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "event_port.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "fd_room.h"

namespace hb::client {
namespace {

// Never 0..2: a program that closes and opens its standard streams would take its place.
UniqueFd above_streams(UniqueFd fd) {
  if (fd && fd.get() < 3) return fd.duplicate();
  return fd;
}

Result<UniqueFd> checked(UniqueFd fd, const char* operation) {
  if (fd) return fd;
  const SysError cause = SysError::last(operation);
  if (cause.code == EMFILE) return fail(no_fds(fd_room(), 1, "listening for events"));
  return fail(system_error(cause, "listening for events"));
}

bool add_to(int poll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  return ::epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

Result<std::unique_ptr<EventPort>> EventPort::make(ProcessMark mark) {
  auto poll = checked(above_streams(UniqueFd(::epoll_create1(EPOLL_CLOEXEC))), "epoll_create1");
  if (!poll) return tl::unexpected(std::move(poll.error()));
  auto timer =
      checked(above_streams(UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK))),
              "timerfd_create");
  if (!timer) return tl::unexpected(std::move(timer.error()));
  if (!add_to(poll->get(), timer->get()))
    return fail(system_error(SysError::last("epoll_ctl"), "listening for events"));
  return std::make_unique<EventPort>(std::move(*poll), std::move(*timer), mark);
}

EventPort::EventPort(UniqueFd poll, UniqueFd timer, ProcessMark mark)
    : mark_(mark), poll_(std::move(poll), mark), timer_(std::move(timer), mark) {}

EventPort::~EventPort() { unhang(); }

Result<void> EventPort::hang(UniqueFd doorbell) {
  unhang();
  auto guarded = std::make_unique<GuardedSocket>(above_streams(std::move(doorbell)), mark_);
  if (!add_to(poll_.get(), guarded->get()))
    return fail(system_error(SysError::last("epoll_ctl"), "listening for events"));
  doorbell_ = std::move(guarded);
  return {};
}

void EventPort::unhang() noexcept {
  if (doorbell_ == nullptr) return;
  // Taken out before it is closed: a child that has a copy would keep it in there. A child itself shares the
  // instance with its parent and leaves it as it is.
  if (mark_.is_here()) ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, doorbell_->get(), nullptr);
  doorbell_.reset();
}

EventPort::Heard EventPort::listen() noexcept {
  if (doorbell_ == nullptr) return Heard::kEnd;
  std::array<char, 16> rings{};
  ssize_t got = 0;
  do {
    got = ::recv(doorbell_->get(), rings.data(), rings.size(), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got > 0) return Heard::kRing;
  return got < 0 && errno == EAGAIN ? Heard::kNothing : Heard::kEnd;
}

void EventPort::set_timer(std::uint64_t seconds, std::uint64_t nanoseconds) noexcept {
  const int before = errno;
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(seconds);
  when.it_value.tv_nsec = static_cast<long>(nanoseconds);
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
  errno = before;
}

void EventPort::wake_at(std::uint64_t time_ns) noexcept {
  // Zero would switch it off.
  set_timer(time_ns / 1'000'000'000u, time_ns == 0 ? 1 : time_ns % 1'000'000'000u);
}

void EventPort::wake_never() noexcept { set_timer(0, 0); }

void EventPort::wait() noexcept {
  pollfd poller{poll_.get(), POLLIN, 0};
  ::poll(&poller, 1, -1);
}

}  // namespace hb::client
