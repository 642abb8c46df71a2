// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/export_table.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "wire/limits.h"

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

ExportTable::ExportTable(AccountTable& accounts, const Secret& secret, std::uint64_t remembered,
                         std::uint64_t remembered_ns)
    : accounts_(accounts),
      remembered_(remembered),
      remembered_ns_(remembered_ns),
      names_(secret),
      acls_(secret),
      placements_(secret) {}

namespace {

constexpr std::uint64_t share_of_one(std::uint64_t remembered) {
  constexpr std::uint64_t kOfAll = limits::kEndedExports / limits::kUidEndedExports;
  return remembered / kOfAll + 1;
}

}  // namespace

ExportLife& ExportTable::life_of(std::uint32_t slot) {
  Export& e = table_.at(slot);
  if (e.life == nullptr) e.life = std::make_unique<ExportLife>();
  return *e.life;
}

const Name* ExportTable::find_name(ScopeId scope, std::uint32_t uid, std::string_view name) const {
  const std::uint32_t slot = names_.find(scope, uid, name);
  return slot == kNoSlot ? nullptr : &names_.at(slot);
}

std::uint32_t ExportTable::create(std::uint32_t account, const std::string& name) {
  const std::uint32_t slot = table_.emplace();
  Export& e = table_.at(slot);
  accounts_.add_reference(account);
  e.account = account;
  e.scope = accounts_.at(account).scope;
  e.owner_uid = accounts_.at(account).uid;
  if (name.empty()) return slot;
  e.name = names_.take(e.scope, e.owner_uid, name);
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
    e.order = ++last_order_;
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
  e.order = ++last_order_;
  line_up(slot);
  // Who has more than its share loses its own: it cannot make the broker forget what others have ended.
  const Account& account = accounts_.at(e.account);
  if (remembered_count_ > remembered_)
    forget(account.ends > share_of_one(remembered_) ? account.oldest_end : oldest_);
}

void ExportTable::line_up(std::uint32_t slot) {
  Export& e = table_.at(slot);
  e.of_session = {youngest_, kNoSlot};
  if (youngest_ != kNoSlot)
    table_.at(youngest_).of_session.next = slot;
  else
    oldest_ = slot;
  youngest_ = slot;
  ++remembered_count_;
  Account& account = accounts_.at(e.account);
  e.of_account = {account.youngest_end, kNoSlot};
  if (account.youngest_end != kNoSlot)
    table_.at(account.youngest_end).of_account.next = slot;
  else
    account.oldest_end = slot;
  account.youngest_end = slot;
  ++account.ends;
}

bool ExportTable::restore(ExportId id, Export exported, std::string_view name_text,
                          std::uint32_t name_generation) {
  const bool current = is_current(exported.state);
  if (!table_.emplace_at(id, std::move(exported))) return false;
  const std::uint32_t slot = id.slot();
  Export& e = table_.at(slot);
  accounts_.add_reference(e.account);
  last_order_ = std::max(last_order_, e.order);
  current_ += current ? 1 : 0;
  Name* name = nullptr;
  if (!name_text.empty()) {
    e.name = names_.take(e.scope, e.owner_uid, std::string(name_text));
    name = &names_.at(e.name);
    if ((current && name->current != kNoSlot) ||
        (e.state == ExportState::kStaging && name->staging != kNoSlot))
      return false;
    if (current) name->current = slot;
    if (e.state == ExportState::kStaging) name->staging = slot;
    name->generation = std::max({name->generation, name_generation, e.generation});
    if (name->latest != kNoSlot && table_.at(name->latest).generation != name->generation)
      name->latest = kNoSlot;
    if (e.state != ExportState::kStaging && e.generation == name->generation) name->latest = slot;
  }
  if (!has_ended(e.state)) return true;
  if (e.ended != 0) {
    line_up(slot);
    return true;
  }
  ++ended_held_;
  if (name != nullptr) link_front<&Export::of_session>(table_, name->held, slot);
  return true;
}

void ExportTable::forget_expired(Time now) {
  while (oldest_ != kNoSlot && next_expiry() <= now) forget(oldest_);
}

void ExportTable::forget_ends_of(std::uint32_t account) {
  // The last one may be the account's last reference.
  for (std::uint64_t left = accounts_.at(account).ends; left != 0; --left)
    forget(accounts_.at(account).oldest_end);
}

Time ExportTable::next_expiry() const {
  if (oldest_ == kNoSlot) return kNever;
  const Time at = table_.at(oldest_).ended;
  return at > kNever - remembered_ns_ ? kNever : at + remembered_ns_;
}

void ExportTable::forget(std::uint32_t slot) {
  Export& e = table_.at(slot);
  Account& account = accounts_.at(e.account);
  const auto take_out = [&](Links Export::*links, std::uint32_t& oldest, std::uint32_t& youngest) {
    const Links own = e.*links;
    (own.previous == kNoSlot ? oldest : (table_.at(own.previous).*links).next) = own.next;
    (own.next == kNoSlot ? youngest : (table_.at(own.next).*links).previous) = own.previous;
  };
  take_out(&Export::of_session, oldest_, youngest_);
  take_out(&Export::of_account, account.oldest_end, account.youngest_end);
  --account.ends;
  --remembered_count_;
  acls_.drop(std::exchange(e.acl, 0));
  erase(slot);
}

void ExportTable::erase(std::uint32_t slot) {
  const std::uint32_t name = table_.at(slot).name;
  if (name != kNoSlot) {
    Name& own = names_.at(name);
    if (own.latest == slot) own.latest = kNoSlot;
    // What is recorded of those that are left has to tell the name's generation, which was this one's.
    for (std::uint32_t held = own.held; held != kNoSlot; held = table_.at(held).of_session.next)
      static_cast<void>(table_.at(held));
    if (own.staging != kNoSlot && own.staging != slot) static_cast<void>(table_.at(own.staging));
    names_.drop(name);
  }
  const std::uint32_t account = table_.at(slot).account;
  table_.erase(slot);
  accounts_.drop_reference(account);
}

}  // namespace hb::core
