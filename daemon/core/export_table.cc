// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/export_table.h"

#include <cstdlib>

namespace hb::core {

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
    : remembered_(remembered),
      remembered_ns_(remembered_ns),
      names_(secret),
      acls_(secret),
      placements_(secret) {}

ExportLife& ExportTable::life_of(std::uint32_t slot) {
  Export& e = table_.at(slot);
  if (e.life == nullptr) e.life = std::make_unique<ExportLife>();
  return *e.life;
}

const Name* ExportTable::find_name(ScopeId scope, std::uint32_t uid, std::string_view name) const {
  const std::uint32_t slot = names_.find(scope, uid, name);
  return slot == kNoSlot ? nullptr : &names_.at(slot);
}

std::uint32_t ExportTable::create(ScopeId scope, std::uint32_t uid, const std::string& name) {
  const std::uint32_t slot = table_.emplace();
  Export& e = table_.at(slot);
  e.scope = scope;
  e.owner_uid = uid;
  if (name.empty()) return slot;
  e.name = names_.take(scope, uid, name);
  names_.at(e.name).staging = slot;
  return slot;
}

void ExportTable::complete(std::uint32_t slot) {
  Export& e = table_.at(slot);
  e.generation = 1;
  if (e.name != kNoSlot) {
    Name& name = names_.at(e.name);
    if (name.staging != slot || name.current != kNoSlot) std::abort();
    name.staging = kNoSlot;
    name.current = name.latest = slot;
    e.generation = ++name.generation;
  }
  set_state(slot, ExportState::kLive);
}

void ExportTable::discard(std::uint32_t slot) {
  Export& e = table_.at(slot);
  if (e.state != ExportState::kStaging) std::abort();
  if (e.name != kNoSlot) names_.at(e.name).staging = kNoSlot;
  erase(slot);
}

void ExportTable::claim(std::uint32_t slot) {
  Export& e = table_.at(slot);
  if (e.state != ExportState::kOrphaned) std::abort();
  e.generation = e.name == kNoSlot ? e.generation + 1 : ++names_.at(e.name).generation;
  set_state(slot, ExportState::kLive);
}

void ExportTable::set_state(std::uint32_t slot, ExportState state) {
  Export& e = table_.at(slot);
  if (!may_follow(e.state, state)) std::abort();
  if (is_current(state) && !is_current(e.state)) ++current_;
  if (is_current(e.state) && !is_current(state)) --current_;
  if (has_ended(state)) {
    ++ended_held_;
    if (e.name != kNoSlot) {
      names_.at(e.name).current = kNoSlot;
      link_front<&Export::of_session>(table_, names_.at(e.name).held, slot);
    }
  }
  e.state = state;
}

void ExportTable::remember(std::uint32_t slot, Time now) {
  Export& e = table_.at(slot);
  --ended_held_;
  if (e.name != kNoSlot) unlink<&Export::of_session>(table_, names_.at(e.name).held, slot);
  placements_.drop(std::exchange(e.placement, 0));
  e.metadata.reset();
  e.life.reset();
  e.ended = now;
  e.of_session = {youngest_, kNoSlot};
  if (youngest_ != kNoSlot)
    table_.at(youngest_).of_session.next = slot;
  else
    oldest_ = slot;
  youngest_ = slot;
  ++remembered_count_;
  while (remembered_count_ > remembered_) forget_oldest();
}

void ExportTable::forget_expired(Time now) {
  while (oldest_ != kNoSlot && next_expiry() <= now) forget_oldest();
}

Time ExportTable::next_expiry() const {
  if (oldest_ == kNoSlot) return kNever;
  const Time at = table_.at(oldest_).ended;
  return at > kNever - remembered_ns_ ? kNever : at + remembered_ns_;
}

void ExportTable::forget_oldest() {
  const std::uint32_t slot = oldest_;
  oldest_ = table_.at(slot).of_session.next;
  if (oldest_ == kNoSlot)
    youngest_ = kNoSlot;
  else
    table_.at(oldest_).of_session.previous = kNoSlot;
  --remembered_count_;
  acls_.drop(std::exchange(table_.at(slot).acl, 0));
  erase(slot);
}

void ExportTable::erase(std::uint32_t slot) {
  const std::uint32_t name = table_.at(slot).name;
  if (name != kNoSlot) {
    if (names_.at(name).latest == slot) names_.at(name).latest = kNoSlot;
    names_.drop(name);
  }
  table_.erase(slot);
}

}  // namespace hb::core
