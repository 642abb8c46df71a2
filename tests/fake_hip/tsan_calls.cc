// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The fake's own calls on descriptors, past the thread sanitizer's: it knows one descriptor table a process,
// without a lock, and the vault's keepers have tables of their own. Their equal numbers would be races to it,
// and a number closed there would end what it knows of the program's (its own checks fail then, rarely).
// Hidden: only this library's calls come here.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
extern "C" {
__attribute__((visibility("hidden"))) ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return ::syscall(SYS_sendmsg, fd, message, flags);
}
__attribute__((visibility("hidden"))) ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return ::syscall(SYS_recvmsg, fd, message, flags);
}
__attribute__((visibility("hidden"))) int close(int fd) { return static_cast<int>(::syscall(SYS_close, fd)); }
}
#endif
