// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "pending.h"

#include <algorithm>
#include <utility>

namespace hb::client {

void Pending::add(Waiter& waiter) { waiters_.push_back(&waiter); }

void Pending::remove(Waiter& waiter) { std::erase(waiters_, &waiter); }

void Pending::abandon(Waiter& waiter, Late late) {
  remove(waiter);
  abandoned_.emplace(waiter.id, late);
}

std::optional<Pending::Unclaimed> Pending::deliver(Reply reply) {
  const std::uint64_t id = reply.header.request_id;
  const auto waiter = std::find_if(waiters_.begin(), waiters_.end(), [&](Waiter* w) { return w->id == id; });
  if (waiter != waiters_.end() && !(*waiter)->done) {
    (*waiter)->reply = std::move(reply);
    (*waiter)->done = true;
    (*waiter)->wake.notify_one();
    return std::nullopt;
  }
  const auto given_up = abandoned_.find(id);
  if (given_up == abandoned_.end()) return std::nullopt;
  Unclaimed unclaimed{given_up->second, std::move(reply)};
  abandoned_.erase(given_up);
  return unclaimed;
}

void Pending::close_all() {
  for (Waiter* waiter : waiters_) {
    waiter->closed = true;
    waiter->wake.notify_one();
  }
  abandoned_.clear();
}

void Pending::wake_one() {
  for (Waiter* waiter : waiters_) {
    if (waiter->done || waiter->closed) continue;
    waiter->wake.notify_one();
    return;
  }
}

}  // namespace hb::client
