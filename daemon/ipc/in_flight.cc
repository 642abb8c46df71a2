// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/in_flight.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <utility>

#include "wire/limits_edge.h"

namespace hb::ipc {
namespace {

// A peer's read wakes nobody here: a socket with unread packets is writable all the same. So it is looked
// after, often at first.
constexpr std::chrono::milliseconds kFirstPause{1};
constexpr std::chrono::milliseconds kLongestPause{64};
constexpr std::chrono::milliseconds kKeptPause{1'000};  // nobody waits, only sockets are kept
constexpr std::size_t kLooks = 64;                      // system calls of one turn

bool queue_empty(BorrowedFd socket) {
  int unread = 0;  // memory of what was sent and not read
  return ::ioctl(socket.get(), SIOCOUTQ, &unread) != 0 || unread == 0;
}

}  // namespace

InFlight::InFlight(boost::asio::io_context& io, std::uint64_t limit)
    : budget_(limits::in_flight_budget(limit)), timer_(io), pause_(kFirstPause) {}

bool InFlight::admit(Line& line, std::size_t fds) {
  if (fds == 0) return true;
  if (line.unread_ != 0) look(line);
  if (!fits(line, fds)) {
    look_at_oldest();
    if (!fits(line, fds)) return false;
  }
  charge(line, fds);
  return true;
}

// Half of what the others leave, to each uid of a scope and of that to each of its sessions: however many do
// not read, there is something left for one more. And one frame always, if it fits at all.
bool InFlight::fits(const Line& line, std::uint64_t fds) const {
  const auto less = [](std::uint64_t from, std::uint64_t what) { return from > what ? from - what : 0; };
  const std::uint64_t budget = less(budget_, parked_);
  if (total_ + fds > budget && total_ != 0) return false;
  const auto found = by_payer_.find(line.payer_);
  const std::uint64_t of_payer = found == by_payer_.end() ? 0 : found->second;
  const std::uint64_t share = less(budget, total_ - of_payer) / 2;
  if (of_payer + fds > share && of_payer != 0) return false;
  return line.unread_ == 0 || line.unread_ + fds <= less(share, of_payer - line.unread_) / 2;
}

void InFlight::charge(Line& line, std::uint64_t fds) {
  if (line.unread_ == 0) {
    held_.push_back(&line);
    line.held_ = std::prev(held_.end());
  } else {
    held_.splice(held_.end(), held_, line.held_);
  }
  line.unread_ += fds;
  total_ += fds;
  by_payer_[line.payer_] += fds;
}

void InFlight::discharge(Line& line, std::uint64_t fds) {
  if (fds == 0) return;
  line.unread_ -= fds;
  total_ -= fds;
  const auto of_payer = by_payer_.find(line.payer_);
  of_payer->second -= fds;
  if (of_payer->second == 0) by_payer_.erase(of_payer);
  if (line.unread_ == 0) held_.erase(line.held_);
}

void InFlight::give_back(Line& line, std::size_t fds) { discharge(line, fds); }

bool InFlight::look(Line& line) {
  if (line.unread_ == 0 || !queue_empty(line.socket_)) return false;
  discharge(line, line.unread_);
  if (!turning_ && !waiting_.empty() && pause_ != kFirstPause) {
    pause_ = kFirstPause;
    arm(pause_);
  }
  return true;
}

void InFlight::look_at_oldest() {
  for (std::size_t left = std::min(kLooks, held_.size()); left > 0; --left) {
    Line& line = *held_.front();
    if (!look(line)) held_.splice(held_.end(), held_, line.held_);
  }
}

bool InFlight::all_read(Line& line) {
  look(line);
  return line.unread_ == 0;
}

std::pair<Payer, std::uint64_t> InFlight::largest() const {
  std::pair<Payer, std::uint64_t> largest{};
  for (const auto& [payer, fds] : by_payer_)
    if (fds > largest.second) largest = {payer, fds};
  return largest;
}

void InFlight::wait(Line& line) {
  if (line.waits_ || stopped_) return;
  waiting_.push_back(&line);
  line.waiting_ = std::prev(waiting_.end());
  line.waits_ = true;
  if (turning_ || waiting_.size() != 1) return;  // tick() arms, or has
  pause_ = kFirstPause;
  arm(pause_);
}

void InFlight::stop_waiting(Line& line) {
  if (!line.waits_) return;
  waiting_.erase(line.waiting_);
  line.waits_ = false;
}

std::unique_ptr<InFlight::Line> InFlight::detach(Line& line, BorrowedFd socket) {
  stop_waiting(line);
  const std::uint64_t unread = line.unread_;
  discharge(line, unread);
  auto own = std::make_unique<Line>(line.payer_, nullptr);
  own->open(socket);
  if (unread != 0) charge(*own, unread);
  return own;
}

void InFlight::end(Line& line, UniqueFd socket, Done done) {
  look(line);
  auto kept = detach(line, socket);
  if (stopped_) discharge(*kept, kept->unread_);
  if (kept->unread_ == 0) return done(std::move(socket));
  kept_.push_back({std::move(kept), std::move(socket), std::move(done)});
  if (!turning_ && waiting_.empty() && kept_.size() == 1) arm(kKeptPause);
}

void InFlight::arm(std::chrono::milliseconds after) {
  timer_.expires_after(after);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

bool InFlight::release_kept() {
  bool released = false;
  for (std::size_t left = std::min(kLooks, kept_.size()); left > 0; --left) {
    Kept& first = kept_.front();
    if (first.line->unread_ != 0) look(*first.line);
    if (first.line->unread_ != 0) {
      kept_.splice(kept_.end(), kept_, kept_.begin());
      continue;
    }
    Kept gone = std::move(first);
    kept_.pop_front();
    released = true;
    gone.done(std::move(gone.socket));
  }
  return released;
}

void InFlight::tick() {
  turning_ = true;
  const std::uint64_t before = total_;
  bool progress = release_kept();
  for (std::size_t left = std::min(kLooks, waiting_.size()); left > 0 && !waiting_.empty(); --left) {
    Line& line = *waiting_.front();
    stop_waiting(line);
    line.retry_();  // may wait again, or end the session
  }
  turning_ = false;
  progress = progress || total_ != before;
  pause_ = progress ? kFirstPause : std::min(pause_ * 2, kLongestPause);
  if (stopped_) return;
  if (!waiting_.empty()) {
    arm(pause_);
  } else if (!kept_.empty()) {
    arm(kKeptPause);
  }
}

void InFlight::stop() {
  stopped_ = true;
  timer_.cancel();
}

}  // namespace hb::ipc
