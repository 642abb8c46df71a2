// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "lease_index.h"

#include <algorithm>

namespace hb::client {
namespace {

// More than a sound daemon can send of leases that are not there yet.
constexpr std::size_t kMostEarly = 65'536;

}  // namespace

void LeaseIndex::add(std::uint64_t lease) {
  const std::lock_guard guard(lock_);
  entries_.try_emplace(lease);
}

void LeaseIndex::remove(std::uint64_t lease) {
  const std::lock_guard guard(lock_);
  entries_.erase(lease);
}

bool LeaseIndex::give(std::uint64_t lease, hb_import* imported) {
  const std::lock_guard guard(lock_);
  entries_[lease] = {imported != nullptr ? Owner::kImport : Owner::kHandles, imported};
  return std::any_of(early_.begin(), early_.end(),
                     [&](const msg::Event& event) { return event.lease_id == lease; });
}

LeaseIndex::Found LeaseIndex::find(std::uint64_t lease) const {
  const std::lock_guard guard(lock_);
  const auto found = entries_.find(lease);
  if (found == entries_.end()) return {};
  return {found->second.owner, found->second.imported};
}

std::vector<std::uint64_t> LeaseIndex::imports() const {
  std::vector<std::uint64_t> leases;
  const std::lock_guard guard(lock_);
  for (const auto& [lease, entry] : entries_)
    if (entry.owner == Owner::kImport || entry.owner == Owner::kComing) leases.push_back(lease);
  std::sort(leases.begin(), leases.end());
  return leases;
}

LeaseIndex::Arrival::Arrival(LeaseIndex& index) : index_(index) {
  const std::lock_guard guard(index_.lock_);
  ++index_.arriving_;
}

LeaseIndex::Arrival::~Arrival() {
  const std::lock_guard guard(index_.lock_);
  --index_.arriving_;
}

LeaseIndex::Owner LeaseIndex::owner_of(std::uint64_t lease) const {
  const auto found = entries_.find(lease);
  return found == entries_.end() ? Owner::kNobody : found->second.owner;
}

bool LeaseIndex::is_to_be_kept(std::uint64_t lease) const {
  const Owner owner = owner_of(lease);
  return owner == Owner::kComing || (owner == Owner::kNobody && arriving_ > 0);
}

void LeaseIndex::sort_in(const msg::Event& event, std::vector<msg::Event>& out) {
  const std::lock_guard guard(lock_);
  if (is_to_be_kept(event.lease_id)) {
    if (early_.size() == kMostEarly) early_.pop_front();
    early_.push_back(event);
    return;
  }
  if (owner_of(event.lease_id) == Owner::kNobody) return;
  std::erase_if(early_, [&](const msg::Event& before) {
    if (before.lease_id != event.lease_id) return false;
    out.push_back(before);
    return true;
  });
  out.push_back(event);
}

void LeaseIndex::take_settled(std::vector<msg::Event>& out) {
  const std::lock_guard guard(lock_);
  std::erase_if(early_, [&](const msg::Event& event) {
    if (is_to_be_kept(event.lease_id)) return false;
    if (owner_of(event.lease_id) != Owner::kNobody) out.push_back(event);
    return true;
  });
}

}  // namespace hb::client
