// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/deadline_queue.h"

namespace hb::core {

std::uint32_t DeadlineQueue::insert(Time at, Deadline what) {
  const std::uint32_t ticket = entries_.emplace(Entry{at, what, 0});
  heap_.push_back(ticket);
  place(heap_.size() - 1, ticket);
  sift_up(heap_.size() - 1);
  return ticket;
}

void DeadlineQueue::erase(std::uint32_t ticket) {
  const std::size_t position = entries_.at(ticket).position;
  const std::uint32_t last = heap_.back();
  heap_.pop_back();
  entries_.erase(ticket);
  if (last == ticket) return;
  place(position, last);
  sift_up(position);
  sift_down(entries_.at(last).position);
}

std::optional<Deadline> DeadlineQueue::pop_due(Time now) {
  if (heap_.empty() || next() > now) return std::nullopt;
  const std::uint32_t ticket = heap_.front();
  const Deadline what = entries_.at(ticket).what;
  erase(ticket);
  return what;
}

bool DeadlineQueue::ordered() const {
  for (std::size_t i = 0; i < heap_.size(); ++i)
    if (entries_.at(heap_[i]).position != i || at((i == 0 ? 0 : i - 1) / 2) > at(i)) return false;
  return entries_.size() == heap_.size();
}

void DeadlineQueue::place(std::size_t position, std::uint32_t ticket) {
  heap_[position] = ticket;
  entries_.at(ticket).position = static_cast<std::uint32_t>(position);
}

void DeadlineQueue::sift_up(std::size_t position) {
  const std::uint32_t ticket = heap_[position];
  const Time time = entries_.at(ticket).at;
  while (position > 0 && at((position - 1) / 2) > time) {
    place(position, heap_[(position - 1) / 2]);
    position = (position - 1) / 2;
  }
  place(position, ticket);
}

void DeadlineQueue::sift_down(std::size_t position) {
  const std::uint32_t ticket = heap_[position];
  const Time time = entries_.at(ticket).at;
  for (;;) {
    std::size_t child = 2 * position + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && at(child + 1) < at(child)) ++child;
    if (at(child) >= time) break;
    place(position, heap_[child]);
    position = child;
  }
  place(position, ticket);
}

}  // namespace hb::core
