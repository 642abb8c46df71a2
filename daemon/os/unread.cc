// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/unread.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>

#include "wire/limits_edge.h"

namespace hb::os {
namespace {

struct Peeked {
  ssize_t bytes = -1;
  bool fds = false;
};

// Without a control buffer the kernel says MSG_CTRUNC for a packet with descriptors. Peeking holds them a
// second time and lets go of that: never the last reference.
Peeked peek(BorrowedFd socket) {
  char byte = 0;
  iovec data{&byte, sizeof byte};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  Peeked peeked;
  do {
    peeked.bytes = ::recvmsg(socket.get(), &header, MSG_PEEK | MSG_DONTWAIT);
  } while (peeked.bytes < 0 && errno == EINTR);
  peeked.fds = peeked.bytes >= 0 && (header.msg_flags & MSG_CTRUNC) != 0;
  return peeked;
}

// A packet of no bytes reads like the end. With SO_PASSCRED a packet comes with credentials, for which there
// is no buffer either, and the end without.
bool at_end(BorrowedFd socket) {
  const int on = 1;
  const int off = 0;
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return false;
  const Peeked peeked = peek(socket);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &off, sizeof off);
  return peeked.bytes == 0 && !peeked.fds;
}

}  // namespace

Unread first_unread(BorrowedFd socket) {
  const Peeked peeked = peek(socket);
  if (peeked.bytes < 0) return Unread::kNothing;
  return peeked.fds ? Unread::kWithFds : Unread::kPlain;
}

bool shut_and_empty(BorrowedFd socket) {
  ::shutdown(socket.get(), SHUT_RDWR);
  for (int i = 0; i < limits::kPacketsDropped; ++i) {
    const Peeked peeked = peek(socket);
    if (peeked.fds) return false;
    if (peeked.bytes < 0) {
      if (errno == ECONNRESET) continue;  // told once, ahead of what is queued
      return false;
    }
    if (peeked.bytes == 0 && at_end(socket)) return true;
    char byte = 0;
    if (::recv(socket.get(), &byte, sizeof byte, MSG_DONTWAIT) < 0) return false;
  }
  return false;
}

}  // namespace hb::os
