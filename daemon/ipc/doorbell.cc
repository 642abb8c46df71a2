// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/doorbell.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace hb::ipc {

tl::expected<Doorbell::Made, SysError> Doorbell::make() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
    return tl::unexpected(SysError::last("socketpair"));
  Made made{Doorbell(UniqueFd(ends[0])), UniqueFd(ends[1])};
  // Nothing is read here. What the client sent would stay in the queue, and closing it would close
  // descriptors whose close may block the loop: from now on its sends are EPIPE.
  if (::shutdown(ends[0], SHUT_RD) != 0) return tl::unexpected(SysError::last("shutdown"));
  return made;
}

bool Doorbell::ring() {
  if (!fd_) return false;
  int unread = 0;  // memory of what was sent and not read; 0 where the kernel does not tell
  if (::ioctl(fd_.get(), SIOCOUTQ, &unread) == 0 && unread > 0) return true;
  const char byte = 1;
  ssize_t sent = 0;
  do {
    sent = ::send(fd_.get(), &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  // A full queue is one that the client hears.
  if (sent >= 0 || errno == EAGAIN) return true;
  fd_.reset();
  return false;
}

}  // namespace hb::ipc
