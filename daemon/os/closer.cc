// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/closer.h"

#include <csignal>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "wire/limits_edge.h"

namespace hb::os {
namespace {

constexpr std::size_t kThreadsEach = limits::kQuarantineThreadsPerUid;

struct MemoryJob {
  std::vector<UniqueFd> fds;
  Closer::Done done;
};

struct QuarantineJob {
  UniqueFd fd;
  bool counted = false;
  Closer::Done done;
  std::function<void()> work = nullptr;
};

struct PayerQueue {
  std::deque<QuarantineJob> waiting;
  std::size_t busy = 0;     // threads inside a close for this one
  std::size_t counted = 0;  // refused descriptors, waiting or being closed
};

}  // namespace

// Shared with the detached threads: the Closer may be gone while one of them is still inside close().
struct Closer::State {
  mutable std::mutex mutex;
  std::condition_variable memory_wanted;
  std::condition_variable quarantine_wanted;
  std::deque<MemoryJob> memory;
  std::size_t closing = 0;
  std::map<std::uint64_t, PayerQueue> quarantine;
  std::size_t quarantined = 0;
  std::size_t jobs_waiting = 0;  // on the quarantine lane
  std::size_t threads = 0;       // of the quarantine lane
  std::size_t idle = 0;
  std::uint64_t last_payer = 0;
  bool stopped = false;

  void run_memory();
  void run_quarantine();
  [[nodiscard]] std::map<std::uint64_t, PayerQueue>::iterator next_queue();
  void finish(const Done& done) const {  // with the mutex held, so that stop() means stopped
    if (!stopped && done) done();
  }
};

namespace {

// The process's signals are for the loop.
template <class Function>
void start_thread(Function function) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(std::move(function)).detach();
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void Closer::State::run_memory() {
  std::unique_lock lock(mutex);
  for (;;) {
    memory_wanted.wait(lock, [this] { return stopped || !memory.empty(); });
    if (stopped) return;
    MemoryJob job = std::move(memory.front());
    memory.pop_front();
    const std::size_t count = job.fds.size();
    lock.unlock();
    for (UniqueFd& fd : job.fds) fd.reset();
    lock.lock();
    closing -= count;
    finish(job.done);
  }
}

// Round robin over those that have work and threads left to their share.
std::map<std::uint64_t, PayerQueue>::iterator Closer::State::next_queue() {
  const auto ready = [](const auto& entry) {
    return !entry.second.waiting.empty() && entry.second.busy < kThreadsEach;
  };
  const auto start = quarantine.upper_bound(last_payer);
  auto found = std::find_if(start, quarantine.end(), ready);
  if (found == quarantine.end()) {
    found = std::find_if(quarantine.begin(), start, ready);
    if (found == start) found = quarantine.end();
  }
  return found;
}

void Closer::State::run_quarantine() {
  std::unique_lock lock(mutex);
  for (;;) {
    auto queue = quarantine.end();
    ++idle;
    quarantine_wanted.wait(lock, [&] { return stopped || (queue = next_queue()) != quarantine.end(); });
    --idle;
    if (stopped) return;
    const std::uint64_t payer = queue->first;
    last_payer = payer;
    QuarantineJob job = std::move(queue->second.waiting.front());
    queue->second.waiting.pop_front();
    ++queue->second.busy;
    --jobs_waiting;
    lock.unlock();
    if (job.work) job.work();
    job.work = nullptr;
    job.fd.reset();
    lock.lock();
    // Looked up anew: others may have come and gone meanwhile, this one's entry stays while busy.
    queue = quarantine.find(payer);
    --queue->second.busy;
    if (job.counted) {
      --queue->second.counted;
      --quarantined;
    }
    if (queue->second.waiting.empty() && queue->second.busy == 0) quarantine.erase(queue);
    finish(job.done);
    if (jobs_waiting != 0) quarantine_wanted.notify_one();
  }
}

Closer::Closer() : state_(std::make_shared<State>()) {
  state_->threads = 1;
  start_thread([state = state_] { state->run_memory(); });
  start_thread([state = state_] { state->run_quarantine(); });
}

Closer::~Closer() { stop(); }

void Closer::close_memory(std::vector<UniqueFd> fds, Done done) {
  const std::scoped_lock lock(state_->mutex);
  state_->closing += fds.size();
  state_->memory.push_back({std::move(fds), std::move(done)});
  state_->memory_wanted.notify_one();
}

namespace {

// One thread more where more jobs may run than threads are idle. A process that may have no more
// threads goes on with those it has.
template <class State>
void add_thread_if_needed(const std::shared_ptr<State>& state) {
  if (state->threads >= limits::kQuarantineThreads) return;
  std::size_t runnable = 0;
  for (const auto& [payer, queue] : state->quarantine) {
    runnable += std::min(queue.waiting.size(), kThreadsEach - queue.busy);
  }
  // An idle thread that was notified and has not woken up yet still counts as idle, and its job as waiting.
  if (state->idle >= runnable) return;
  try {
    start_thread([state] { state->run_quarantine(); });
    ++state->threads;
  } catch (const std::system_error&) {
  }
}

template <class State>
void enqueue(const std::shared_ptr<State>& state, std::uint64_t payer, QuarantineJob job) {
  const std::scoped_lock lock(state->mutex);
  PayerQueue& queue = state->quarantine[payer];
  if (job.counted) {
    ++queue.counted;
    ++state->quarantined;
  }
  queue.waiting.push_back(std::move(job));
  ++state->jobs_waiting;
  add_thread_if_needed(state);
  state->quarantine_wanted.notify_one();
}

}  // namespace

void Closer::quarantine(std::uint64_t payer, UniqueFd fd, Done done) {
  enqueue(state_, payer, {std::move(fd), true, std::move(done)});
}

void Closer::close_socket(std::uint64_t payer, UniqueFd socket, Done done) {
  enqueue(state_, payer, {std::move(socket), false, std::move(done)});
}

void Closer::run(std::uint64_t payer, std::function<void()> work, Done done) {
  enqueue(state_, payer, {UniqueFd(), false, std::move(done), std::move(work)});
}

bool Closer::crowded(std::uint64_t payer) const {
  const std::scoped_lock lock(state_->mutex);
  if (state_->jobs_waiting < limits::kSocketsClosing) return false;
  const auto queue = state_->quarantine.find(payer);
  return queue != state_->quarantine.end() && queue->second.waiting.size() >= limits::kSocketsClosing;
}

bool Closer::quarantine_full(std::uint64_t payer) const {
  const std::scoped_lock lock(state_->mutex);
  if (state_->quarantined == 0) return false;
  const auto queue = state_->quarantine.find(payer);
  return queue != state_->quarantine.end() && queue->second.counted >= limits::kQuarantinePerUid;
}

std::size_t Closer::closing() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->closing;
}

std::size_t Closer::quarantined() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->quarantined;
}

void Closer::stop() {
  const std::scoped_lock lock(state_->mutex);
  state_->stopped = true;
  // What still waits is left to the process's exit, which no SO_LINGER makes wait. Whoever let go of the
  // queue last, perhaps the loop, would close it otherwise.
  for (auto& [uid, queue] : state_->quarantine) {
    for (QuarantineJob& job : queue.waiting) static_cast<void>(job.fd.release());
  }
  state_->memory_wanted.notify_all();
  state_->quarantine_wanted.notify_all();
}

}  // namespace hb::os
