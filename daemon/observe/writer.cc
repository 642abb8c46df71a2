// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "observe/writer.h"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "observe/log_line.h"

namespace hb::observe {
namespace {

// After it has written all there was, the thread sleeps for so long before it looks again: who says much does
// not pay for waking it each time.
constexpr std::chrono::milliseconds kRest{20};

struct Lost {
  std::uint64_t log = 0;
  std::uint64_t audit = 0;
  [[nodiscard]] bool any() const { return log + audit != 0; }
};

std::string lost_text(const Lost& lost, const std::string& sink) {
  return std::to_string(lost.log) + " lines of the log and " + std::to_string(lost.audit) +
         " audit records were lost here: " + sink +
         " did not take them in time; the audit records are still in `hipbrokerctl audit`, up to its bound";
}

}  // namespace

// Shared with the thread: the Writer may be gone while it still hangs in a write.
struct Writer::State {
  State(std::unique_ptr<Sink> to, Bounds within) : sink(std::move(to)), bounds(within) {}

  enum class Mode : std::uint8_t { kDirect, kThread, kClosed };

  mutable std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable ended;
  const std::unique_ptr<Sink> sink;
  const Bounds bounds;
  Mode mode = Mode::kDirect;
  std::deque<std::shared_ptr<const Writable>> queue;
  std::size_t bytes = 0;
  std::uint64_t log_dropped = 0;
  std::uint64_t audit_dropped = 0;
  Lost untold;                  // of the dropped
  std::size_t told_behind = 0;  // lines of the queue that came before the first of them
  bool writing = false;
  bool resting = false;
  bool stopping = false;
  bool has_ended = false;

  [[nodiscard]] bool has_work() const { return !queue.empty() || untold.any(); }
  void count_lost(Stream stream);
  [[nodiscard]] std::shared_ptr<const Writable> next();
  void run();
};

void Writer::State::count_lost(Stream stream) {
  if (!untold.any()) told_behind = queue.size();
  ++(stream == Stream::kLog ? log_dropped : audit_dropped);
  ++(stream == Stream::kLog ? untold.log : untold.audit);
}

// The gap is told in its place, between what was written before it and after it.
std::shared_ptr<const Writable> Writer::State::next() {
  if (untold.any() && told_behind == 0)
    return std::make_shared<LogLine>(Level::kWarning, Message::kLinesLost,
                                     lost_text(std::exchange(untold, {}), sink->name()));
  auto first = std::move(queue.front());
  queue.pop_front();
  bytes -= first->bytes();
  if (told_behind != 0) --told_behind;
  return first;
}

void Writer::State::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    wake.wait(lock, [this] { return stopping || has_work(); });
    while (has_work()) {
      auto first = next();
      writing = true;
      lock.unlock();
      const bool taken = sink->write(*first);
      const Stream stream = first->stream();
      first.reset();
      lock.lock();
      writing = false;
      // A sink that takes nothing at all is not told so over and over.
      if (!taken) ++(stream == Stream::kLog ? log_dropped : audit_dropped);
    }
    if (stopping) break;
    resting = true;
    wake.wait_for(lock, kRest, [this] { return stopping || queue.size() >= bounds.lines / 2; });
    resting = false;
  }
  has_ended = true;
  ended.notify_all();
}

Writer::Writer(std::unique_ptr<Sink> sink, Bounds bounds)
    : state_(std::make_shared<State>(std::move(sink), bounds)) {}

Writer::~Writer() { static_cast<void>(finish(0)); }

void Writer::start() {
  const std::lock_guard lock(state_->mutex);
  if (state_->mode != State::Mode::kDirect) return;
  // The process's signals are for the loop.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([state = state_] { state->run(); }).detach();
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  state_->stopping = false;
  state_->has_ended = false;
  state_->mode = State::Mode::kThread;
}

void Writer::put(std::shared_ptr<const Writable> what) {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  const Stream stream = what->stream();
  if (state.mode == State::Mode::kDirect) {
    if (!state.sink->write(*what)) ++(stream == Stream::kLog ? state.log_dropped : state.audit_dropped);
    return;
  }
  const std::size_t bytes = what->bytes();
  if (state.mode == State::Mode::kClosed || state.queue.size() >= state.bounds.lines ||
      state.bytes + bytes > state.bounds.bytes) {
    state.count_lost(stream);
    return;
  }
  state.queue.push_back(std::move(what));
  state.bytes += bytes;
  const std::size_t length = state.queue.size();
  if (state.resting ? length == state.bounds.lines / 2 : length == 1) state.wake.notify_one();
}

Writer::Totals Writer::totals() const {
  const std::lock_guard lock(state_->mutex);
  return {state_->queue.size() + (state_->writing ? 1 : 0), state_->log_dropped, state_->audit_dropped};
}

bool Writer::finish(std::uint64_t limit_ns) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  if (state.mode != State::Mode::kThread) return state.mode == State::Mode::kDirect;
  state.stopping = true;
  state.wake.notify_one();
  const bool ended =
      state.ended.wait_for(lock, std::chrono::nanoseconds(limit_ns), [&] { return state.has_ended; });
  state.mode = ended ? State::Mode::kDirect : State::Mode::kClosed;
  return ended;
}

}  // namespace hb::observe
