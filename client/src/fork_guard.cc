// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "fork_guard.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>

namespace hb::client {

bool ProcessLock::is_mine_across_fork() const {
  return forking_.load(std::memory_order_relaxed) == ::pthread_self();
}
void ProcessLock::lock() {
  if (!is_mine_across_fork()) mutex_.lock();
}
void ProcessLock::unlock() {
  if (!is_mine_across_fork()) mutex_.unlock();
}
void ProcessLock::before_fork() {
  mutex_.lock();
  forking_.store(::pthread_self(), std::memory_order_relaxed);
}
void ProcessLock::after_fork() {
  forking_.store(pthread_t{}, std::memory_order_relaxed);
  mutex_.unlock();
}

ProcessLock& process_lock() {
  static auto* lock = new ProcessLock;  // never destroyed: static destructors may still close handles
  return *lock;
}

// Every open connection of the process, under process_lock().
struct SocketRegistry {
  GuardedSocket* first = nullptr;
  std::atomic<std::uint64_t>* page = nullptr;  // one word in a page that is zero in every forked child
  std::uint64_t marks = 0;                     // survives fork(): a child's mark never equals its parent's

  static SocketRegistry& get() {
    static auto* registry = new SocketRegistry;
    return *registry;
  }

  void add(GuardedSocket* socket) {
    const std::lock_guard guard(process_lock());
    socket->next_ = first;
    if (first != nullptr) first->previous_ = socket;
    first = socket;
  }

  void remove(GuardedSocket* socket) {
    const std::lock_guard guard(process_lock());
    if (socket->previous_ != nullptr) socket->previous_->next_ = socket->next_;
    if (socket->next_ != nullptr) socket->next_->previous_ = socket->previous_;
    if (first == socket) first = socket->next_;
  }

  static void before_fork() { process_lock().before_fork(); }
  static void in_parent() { process_lock().after_fork(); }
  static void in_child() {
    SocketRegistry& registry = get();
    for (GuardedSocket* socket = registry.first; socket != nullptr; socket = socket->next_) {
      const int fd = socket->fd_.exchange(-1, std::memory_order_relaxed);
      if (fd >= 0) ::close(fd);
    }
    // A kernel that knows no MADV_WIPEONFORK is served by this line.
    if (registry.page != nullptr) registry.page->store(0, std::memory_order_relaxed);
    process_lock().after_fork();
  }
};

namespace {

std::atomic<std::uint64_t>* armed_page() {
  static std::atomic<std::uint64_t>* const page = []() -> std::atomic<std::uint64_t>* {
    const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    ::madvise(memory, bytes, MADV_WIPEONFORK);
    auto* word = new (memory) std::atomic<std::uint64_t>(0);
    SocketRegistry& registry = SocketRegistry::get();
    const std::lock_guard guard(process_lock());
    registry.page = word;
    ::pthread_atfork(SocketRegistry::before_fork, SocketRegistry::in_parent, SocketRegistry::in_child);
    return word;
  }();
  return page;
}

std::atomic<std::atomic<std::uint64_t>*> g_word{nullptr};

}  // namespace

Result<ProcessMark> ProcessMark::take() {
  auto* page = armed_page();
  if (page == nullptr) return fail(system_error(SysError::last("mmap"), "fork guard", HB_NO_MEMORY));
  SocketRegistry& registry = SocketRegistry::get();
  const std::lock_guard guard(process_lock());
  g_word.store(page, std::memory_order_release);
  std::uint64_t value = page->load(std::memory_order_relaxed);
  if (value == 0) {
    value = ++registry.marks;
    page->store(value, std::memory_order_relaxed);
  }
  return ProcessMark(value);
}

bool ProcessMark::is_here() const noexcept {
  const auto* word = g_word.load(std::memory_order_acquire);
  return word != nullptr && word->load(std::memory_order_relaxed) == value_;
}

GuardedSocket::GuardedSocket(UniqueFd socket, ProcessMark mark) : fd_(socket.release()), mark_(mark) {
  SocketRegistry::get().add(this);
}

GuardedSocket::~GuardedSocket() {
  SocketRegistry::get().remove(this);
  // In a child made by a raw clone() no atfork handler ran, and the number may be the child's own by now.
  if (!mark_.is_here()) return;
  const int fd = fd_.exchange(-1, std::memory_order_relaxed);
  if (fd >= 0) ::close(fd);
}

}  // namespace hb::client
