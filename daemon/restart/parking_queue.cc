// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "restart/parking_queue.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#ifndef SO_PEEK_OFF
#define SO_PEEK_OFF 42
#endif

namespace hb::restart {
namespace {

constexpr std::size_t kDataBytes = ParkingQueue::kMessageFds * kParkedBytes;
constexpr std::size_t kControlBytes = CMSG_SPACE(ParkingQueue::kMessageFds * sizeof(int));

// Every descriptor of a message, in order; each has an owner from here on.
std::vector<UniqueFd> take_descriptors(msghdr& message) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

}  // namespace

tl::expected<ParkingQueue, SysError> ParkingQueue::make() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return tl::unexpected(SysError::last("socketpair"));
  }
  return ParkingQueue(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

ParkingQueue::ParkingQueue(UniqueFd sending, UniqueFd holding)
    : sending_(std::move(sending)), holding_(std::move(holding)) {}

void ParkingQueue::read(std::vector<Restored>& out, Trouble& trouble) {
  // The offset is the socket's, not this process's: one that ended while it read has left its own.
  const auto set_offset = [this](int offset) {
    return ::setsockopt(holding_.get(), SOL_SOCKET, SO_PEEK_OFF, &offset, sizeof offset) == 0;
  };
  if (!set_offset(0)) {
    trouble.error = SysError::last("setsockopt(SO_PEEK_OFF)").text();
    return;
  }
  std::array<std::byte, kDataBytes> data;
  alignas(cmsghdr) std::array<std::byte, kControlBytes> control;
  for (;;) {
    iovec part{data.data(), data.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(holding_.get(), &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      if (errno != EAGAIN) trouble.error = SysError::last("recvmsg(MSG_PEEK)").text();
      break;
    }
    std::vector<UniqueFd> fds = take_descriptors(message);
    if (got == 0 && fds.empty()) break;  // the other end is gone, and all was read
    const auto bytes = static_cast<std::size_t>(got);
    const std::size_t count = bytes / kParkedBytes;
    Message entries;
    if (bytes == 0 || (message.msg_flags & MSG_TRUNC) != 0) {
      // The offset does not come past such a message.
      trouble.error = "a message of " + std::to_string(bytes) + " bytes or more is none of this program's";
      break;
    }
    if (bytes % kParkedBytes != 0 || fds.size() > count) {
      ++trouble.broken;
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        const ParkedEntry entry = load_entry(data.data() + i * kParkedBytes);
        entries.push_back(entry);
        // No room in the table of descriptors: those that fitted came in order, the kernel closed the rest.
        if (i < fds.size()) {
          out.push_back({entry, std::move(fds[i])});
        } else {
          trouble.lost.push_back(entry);
        }
      }
    }
    entries_ += entries.size();
    messages_.push_back(std::move(entries));
  }
  static_cast<void>(set_offset(-1));
}

tl::expected<void, SysError> ParkingQueue::send(std::span<const ToPark> entries) {
  if (!sending_) return tl::unexpected(SysError{"sendmsg", EPIPE});
  if (entries.empty() || entries.size() > kMessageFds) return tl::unexpected(SysError{"sendmsg", EINVAL});
  std::array<std::byte, kDataBytes> data;
  alignas(cmsghdr) std::array<std::byte, kControlBytes> control{};
  std::array<int, kMessageFds> numbers;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    store_entry(data.data() + i * kParkedBytes, entries[i].entry);
    numbers[i] = entries[i].fd.get();
  }
  iovec part{data.data(), entries.size() * kParkedBytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(entries.size() * sizeof(int));
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(entries.size() * sizeof(int));
  std::memcpy(CMSG_DATA(rights), numbers.data(), entries.size() * sizeof(int));
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(sending_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return tl::unexpected(SysError::last("sendmsg"));
  Message& added = messages_.emplace_back();
  for (const ToPark& one : entries) added.push_back(one.entry);
  entries_ += entries.size();
  return {};
}

tl::expected<void, SysError> ParkingQueue::discard_first() {
  std::byte first{};
  iovec part{&first, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ssize_t got = 0;
  do {
    got = ::recvmsg(holding_.get(), &message, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return tl::unexpected(SysError::last("recvmsg"));
  if (!messages_.empty()) {
    entries_ -= messages_.front().size();
    messages_.pop_front();
  }
  return {};
}

}  // namespace hb::restart
