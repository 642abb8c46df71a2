// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Is this still the process that opened the handle? A page that the kernel wipes in every forked child
// (MADV_WIPEONFORK) answers without a system call, also after a raw clone() that runs no atfork handler.
//
// What never happens: a child of fork() keeps a parent's connection open (an atfork handler closes it), or
// shuts it down (shutdown() would end the parent's session: only close() is called).
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "error.h"
#include "wire/unique_fd.h"

namespace hb::client {

// Held across fork(), so that a child finds what it guards whole, whatever other threads were doing. The
// thread that forks may take it again meanwhile: the program's own atfork handlers run then, and may call the
// library.
class ProcessLock {
 public:
  void lock();
  void unlock();
  void before_fork();
  void after_fork();  // in the parent and in the child

 private:
  [[nodiscard]] bool is_mine_across_fork() const;
  std::mutex mutex_;
  std::atomic<pthread_t> forking_{};
};
// The one of everything the process has once: connections, own address ranges, own exports.
[[nodiscard]] ProcessLock& process_lock();

// Identity of a process among its fork ancestors. Default-constructed: taken now.
class ProcessMark {
 public:
  // Arms the guard. Fails only when a page cannot be mapped.
  [[nodiscard]] static Result<ProcessMark> take();
  // True in the process that took it, false in its forked children. One load.
  [[nodiscard]] bool is_here() const noexcept;

 private:
  explicit ProcessMark(std::uint64_t value) : value_(value) {}
  std::uint64_t value_ = 0;
};

// The owner of a connection. A child made by fork() starts without it.
class GuardedSocket {
 public:
  GuardedSocket(UniqueFd socket, ProcessMark mark);
  ~GuardedSocket();
  GuardedSocket(const GuardedSocket&) = delete;
  GuardedSocket& operator=(const GuardedSocket&) = delete;

  [[nodiscard]] int get() const noexcept { return fd_.load(std::memory_order_relaxed); }

 private:
  friend struct SocketRegistry;
  std::atomic<int> fd_;
  ProcessMark mark_;
  GuardedSocket* previous_ = nullptr;
  GuardedSocket* next_ = nullptr;
};

}  // namespace hb::client
