// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/export_table.h"

#include <cstdlib>

namespace hb::core {

namespace {

constexpr bool may_follow(ExportState from, ExportState to) {
  switch (from) {
    case ExportState::kNew:
      return to == ExportState::kLive || to == ExportState::kStaging;
    case ExportState::kStaging:
      return to == ExportState::kLive || to == ExportState::kEnded;
    case ExportState::kLive:
      return to == ExportState::kEnded;
    case ExportState::kEnded:
      return to == ExportState::kLive || to == ExportState::kStaging;
  }
  return false;
}

}  // namespace

KeyedHash::Input input_of(const Acl& acl) {
  KeyedHash::Input input;
  for (const AclEntry& entry : acl)
    input.add(std::uint64_t{entry.id} << 16 | static_cast<std::uint64_t>(entry.kind) << 8 |
              static_cast<std::uint64_t>(entry.access));
  return input;
}

KeyedHash::Input input_of(const Placement& placement) {
  KeyedHash::Input input;
  const auto add = [&input](const Device& device) {
    input.add(device.uuid).add(device.pci).add(std::uint64_t{device.partition});
  };
  add(placement.device);
  for (const Device& peer : placement.peers) add(peer);
  return input;
}

ExportTable::ExportTable(const Secret& secret, std::uint64_t remembered, std::uint64_t remembered_ns)
    : hash_(secret),
      remembered_(remembered),
      remembered_ns_(remembered_ns),
      acls_(secret),
      placements_(secret) {}

std::uint32_t ExportTable::hash_of(ScopeId scope, std::uint32_t uid, std::string_view name) const {
  return hash_(KeyedHash::Input().add(scope.value).add(std::uint64_t{uid}).add(name));
}

std::uint32_t ExportTable::find_name(ScopeId scope, std::uint32_t uid, std::string_view name) const {
  return by_name_.find(hash_of(scope, uid, name), [&](std::uint32_t slot) {
    const Export& e = table_.at(slot);
    return e.scope == scope && e.owner_uid == uid && *e.name == name;
  });
}

std::uint32_t ExportTable::create(ScopeId scope, std::uint32_t uid, const std::string& name) {
  const std::uint32_t slot = table_.emplace();
  Export& e = table_.at(slot);
  e.scope = scope;
  e.owner_uid = uid;
  if (!name.empty()) {
    e.name = std::make_unique<const std::string>(name);
    by_name_.insert(hash_of(scope, uid, name), slot);
  }
  return slot;
}

void ExportTable::set_state(std::uint32_t slot, ExportState state) {
  Export& e = table_.at(slot);
  if (!may_follow(e.state, state)) std::abort();
  if (e.state == ExportState::kLive) --live_;
  if (state == ExportState::kLive) ++live_;
  e.state = state;
}

void ExportTable::end(std::uint32_t slot, Time now) {
  Export& e = table_.at(slot);
  set_state(slot, ExportState::kEnded);
  placements_.drop(std::exchange(e.placement, 0));
  EndedExport ended;
  ended.exported = slot;
  ended.generation = e.generation;
  ended.acl = std::exchange(e.acl, 0);
  ended.earlier = e.last_end;
  ended.at = now;
  const std::uint32_t number = ends_.emplace(ended);
  if (e.last_end != kNoSlot) ends_.at(e.last_end).later = number;
  e.last_end = number;
  if (youngest_ != kNoSlot)
    ends_.at(youngest_).next = number;
  else
    oldest_ = number;
  youngest_ = number;
  while (ends_.size() > remembered_) forget_oldest();
}

void ExportTable::unstage(std::uint32_t slot) {
  set_state(slot, ExportState::kEnded);
  drop_if_forgotten(slot);
}

const EndedExport* ExportTable::past(const Export& exported, std::uint32_t generation) const {
  // Generations fall along the chain.
  for (std::uint32_t number = exported.last_end; number != kNoSlot; number = ends_.at(number).earlier) {
    const EndedExport& ended = ends_.at(number);
    if (ended.generation == generation) return &ended;
    if (ended.generation < generation) break;
  }
  return nullptr;
}

void ExportTable::forget_expired(Time now) {
  while (oldest_ != kNoSlot && next_expiry() <= now) forget_oldest();
}

Time ExportTable::next_expiry() const {
  if (oldest_ == kNoSlot) return kNever;
  const Time at = ends_.at(oldest_).at;
  return at > kNever - remembered_ns_ ? kNever : at + remembered_ns_;
}

void ExportTable::forget_oldest() {
  const std::uint32_t number = oldest_;
  const EndedExport ended = ends_.at(number);
  oldest_ = ended.next;
  if (oldest_ == kNoSlot) youngest_ = kNoSlot;
  acls_.drop(ended.acl);
  ends_.erase(number);
  Export& e = table_.at(ended.exported);
  // The oldest of all is the oldest of its export: the tail of that chain.
  if (e.last_end == number) {
    e.last_end = kNoSlot;
    drop_if_forgotten(ended.exported);
    return;
  }
  ends_.at(ended.later).earlier = kNoSlot;
}

void ExportTable::drop_if_forgotten(std::uint32_t slot) {
  const Export& e = table_.at(slot);
  if (e.state != ExportState::kEnded || e.last_end != kNoSlot) return;
  if (e.name) by_name_.erase(hash_of(e.scope, e.owner_uid, *e.name), slot);
  table_.erase(slot);
}

}  // namespace hb::core
