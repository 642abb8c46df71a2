// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "wire/packet_socket.h"
#include "wire/packet_bounded.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <utility>

namespace hb {
namespace {

// Not in Debian 12's headers. Only SO_PASSPIDFD makes the kernel send it; whoever set that on a socket
// handed to us must not make us leak a descriptor a packet.
constexpr int kScmPidfd = 0x04;

constexpr std::size_t kFdsSpace = CMSG_SPACE(limits::kFrameFds * sizeof(int));
constexpr std::size_t kReceiveSpace = kFdsSpace + CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int));

int borrowed_fd_at(const cmsghdr* message, std::size_t index) noexcept {
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(message) + index * sizeof fd, sizeof fd);
  return fd;
}

// The descriptors of one packet while they are collected. On the stack, because a vector that cannot
// grow would leave installed descriptors without an owner.
struct Adopted {
  std::array<UniqueFd, kReceiveSpace / sizeof(int)> fds;
  std::size_t count = 0;

  // False: the kernel gave 0, 1 or 2 and no higher number is free.
  bool adopt(UniqueFd fd) noexcept {
    bool moved = true;
    if (fd.get() <= STDERR_FILENO) {
      if (UniqueFd higher = fd.duplicate()) {
        fd = std::move(higher);
      } else {
        moved = false;
      }
    }
    fds[count++] = std::move(fd);
    return moved;
  }
};

// False: a descriptor could not be moved above 2.
bool adopt_all(msghdr& header, std::vector<UniqueFd>& out) {
  Adopted adopted;
  bool complete = true;
  for (cmsghdr* message = CMSG_FIRSTHDR(&header); message != nullptr;
       message = CMSG_NXTHDR(&header, message)) {
    if (message->cmsg_level != SOL_SOCKET) continue;
    const std::size_t count = (message->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    if (message->cmsg_type == SCM_RIGHTS) {
      for (std::size_t i = 0; i < count; ++i) {
        complete = adopted.adopt(UniqueFd(borrowed_fd_at(message, i))) && complete;
      }
    } else if (message->cmsg_type == kScmPidfd && count == 1) {
      const UniqueFd stray(borrowed_fd_at(message, 0));
    }
  }
  if (adopted.count == 0) return complete;
  out.reserve(adopted.count);
  for (std::size_t i = 0; i < adopted.count; ++i) out.push_back(std::move(adopted.fds[i]));
  return complete;
}

ReceiveOutcome outcome_of(const msghdr& header, const Received& received) noexcept {
  if ((header.msg_flags & MSG_TRUNC) != 0) return ReceiveOutcome::kBytesTruncated;
  if ((header.msg_flags & MSG_CTRUNC) != 0) return ReceiveOutcome::kFdsTruncated;
  if (received.bytes == 0 && received.fds.empty()) return ReceiveOutcome::kEnd;
  return ReceiveOutcome::kPacket;
}

std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

namespace {

tl::expected<Received, SysError> receive(int socket, std::span<std::byte> buffer, ReceiveMode mode,
                                         std::size_t control_bytes) {
  alignas(cmsghdr) std::byte control[kReceiveSpace];  // left uninitialized: the kernel says what it wrote
  iovec data{buffer.data(), buffer.size()};
  msghdr header{};
  Received received;
  const int flags = MSG_CMSG_CLOEXEC | (mode == ReceiveMode::kNow ? MSG_DONTWAIT : 0);
  bool was_reset = false;
  ssize_t got = 0;
  for (;;) {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control_bytes == 0 ? nullptr : control;
    header.msg_controllen = control_bytes;
    got = ::recvmsg(socket, &header, flags);
    if (got >= 0) break;
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return received;
    if (errno != ECONNRESET) return tl::unexpected(SysError::last("recvmsg"));
    // The peer closed with packets of ours unread. The kernel reports that once, ahead of what the peer
    // had sent before it closed (an Error frame, often), which is still queued.
    if (std::exchange(was_reset, true)) {
      received.outcome = ReceiveOutcome::kEnd;
      return received;
    }
  }

  received.bytes = static_cast<std::size_t>(got);
  const bool complete = header.msg_controllen == 0 || adopt_all(header, received.fds);
  received.outcome = outcome_of(header, received);
  if (!complete && received.outcome == ReceiveOutcome::kPacket) {
    received.outcome = ReceiveOutcome::kFdsTruncated;
  }
  return received;
}

}  // namespace

tl::expected<Received, SysError> receive_packet(int socket, std::span<std::byte> buffer, ReceiveMode mode) {
  return receive(socket, buffer, mode, kReceiveSpace);
}

tl::expected<Received, SysError> receive_packet_bounded(int socket, std::span<std::byte> buffer,
                                                        std::size_t fds) {
  // Not CMSG_SPACE: its padding has room for one more.
  const std::size_t control = fds == 0 ? 0 : CMSG_LEN(std::min(fds, limits::kFrameFds) * sizeof(int));
  return receive(socket, buffer, ReceiveMode::kNow, control);
}

tl::expected<SendOutcome, SysError> send_packet(int socket, std::span<const std::byte> head,
                                                std::span<const std::byte> body, std::span<const int> fds) {
  if (head.empty() && body.empty()) {
    // The receiver could not tell it from the end of the connection.
    return tl::unexpected(SysError{"sendmsg of a packet without bytes", EINVAL});
  }
  if (fds.size() > limits::kFrameFds) {
    return tl::unexpected(SysError{"sendmsg of more than 253 descriptors", EINVAL});
  }
  // iovec has no const form; sendmsg does not write.
  iovec data[2] = {{const_cast<std::byte*>(head.data()), head.size()},
                   {const_cast<std::byte*>(body.data()), body.size()}};
  msghdr header{};
  header.msg_iov = data;
  header.msg_iovlen = 2;
  alignas(cmsghdr) std::byte control[kFdsSpace];
  if (!fds.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* message = CMSG_FIRSTHDR(&header);
    message->cmsg_level = SOL_SOCKET;
    message->cmsg_type = SCM_RIGHTS;
    message->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(message), fds.data(), fds.size_bytes());
  }
  for (;;) {
    if (::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return SendOutcome::kSent;
    switch (errno) {
      case EINTR:
        continue;
      case EAGAIN:
        return SendOutcome::kWouldBlock;
      case EPIPE:
      case ECONNRESET:
        return SendOutcome::kPeerGone;
      case ETOOMANYREFS:
        return SendOutcome::kTooManyInFlight;
      default:
        return tl::unexpected(SysError::last("sendmsg"));
    }
  }
}

tl::expected<bool, SysError> wait_socket(int socket, WaitFor what, std::uint64_t deadline_ns) {
  constexpr std::uint64_t kNoEnd = UINT64_MAX;
  pollfd watched{socket, static_cast<short>(what == WaitFor::kReadable ? POLLIN : POLLOUT), 0};
  for (;;) {
    timespec left{};
    if (deadline_ns != kNoEnd && deadline_ns != 0) {
      const std::uint64_t now = monotonic_ns();
      const std::uint64_t left_ns = deadline_ns > now ? deadline_ns - now : 0;
      left.tv_sec = static_cast<time_t>(left_ns / 1'000'000'000u);
      left.tv_nsec = static_cast<long>(left_ns % 1'000'000'000u);
    }
    const int ready = ::ppoll(&watched, 1, deadline_ns == kNoEnd ? nullptr : &left, nullptr);
    if (ready == 0) return false;
    if (ready < 0) {
      if (errno == EINTR) continue;
      return tl::unexpected(SysError::last("ppoll"));
    }
    if ((watched.revents & POLLNVAL) != 0) return tl::unexpected(SysError{"ppoll", EBADF});
    // POLLERR and POLLHUP too: the next call on the socket says what happened.
    return true;
  }
}

}  // namespace hb
