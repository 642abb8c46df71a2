// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "pending.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace hb::client {
namespace {

// Its answer obtains something that would stay behind.
bool obtains(Late late) { return late == Late::kAcquire || late == Late::kExport || late == Late::kJoin; }

}  // namespace

void Pending::add(Waiter& waiter) { waiters_.push_back(&waiter); }

void Pending::remove(Waiter& waiter) { std::erase(waiters_, &waiter); }

void Pending::abandon(Waiter& waiter, Late late) {
  remove(waiter);
  Abandoned& kept = abandoned_[waiter.id];
  kept.late = late;
  kept.type = waiter.request.type;
  if (!obtains(late)) return;
  kept.body.assign(waiter.request.body.begin(), waiter.request.body.end());
  for (const int number : waiter.request.fds) {
    UniqueFd own(::fcntl(number, F_DUPFD_CLOEXEC, 3));
    if (!own) {
      kept.whole = false;
      kept.fds.clear();
      kept.numbers.clear();
      return;
    }
    kept.numbers.push_back(own.get());
    kept.fds.push_back(std::move(own));
  }
}

std::vector<std::uint64_t> Pending::unanswered() {
  std::erase_if(abandoned_, [](const auto& entry) { return !obtains(entry.second.late); });
  std::vector<std::uint64_t> ids;
  for (const Waiter* waiter : waiters_)
    if (!waiter->done && !waiter->closed) ids.push_back(waiter->id);
  for (const auto& [id, kept] : abandoned_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::optional<Pending::Again> Pending::find(std::uint64_t id) const {
  for (const Waiter* waiter : waiters_) {
    if (waiter->id != id) continue;
    if (waiter->done || waiter->closed) return std::nullopt;
    return Again{waiter->request};
  }
  const auto found = abandoned_.find(id);
  if (found == abandoned_.end()) return std::nullopt;
  const Abandoned& kept = found->second;
  return Again{{kept.type, kept.body, kept.numbers}, kept.late, kept.whole};
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
  if (given_up == abandoned_.end()) {
    // Asked twice, and answered twice: what the second answer took out of the daemon is nowhere else any
    // more.
    if (reply.header.type == FrameType::kTakeEvents) return Unclaimed{Late::kEvents, std::move(reply)};
    return std::nullopt;
  }
  Unclaimed unclaimed{given_up->second.late, std::move(reply)};
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
