// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/account_table.h"

#include <cstdlib>
#include <utility>

#include "core/failure.h"

namespace hb::core {

AccountTable::AccountTable() { add_scope(ScopeId{}, "main", LimitSet::unlimited()); }

bool AccountTable::add_scope(ScopeId id, std::string name, const LimitSet& total) {
  return scopes_.try_emplace(id.value, Scope{id, std::move(name), total, {}, 0}).second;
}

void AccountTable::remove_scope(ScopeId id) {
  if (find_scope(id)->accounts != 0) std::abort();  // something of it could still be reached
  scopes_.erase(id.value);
}

const Scope* AccountTable::find_scope(ScopeId id) const {
  const auto found = scopes_.find(id.value);
  return found == scopes_.end() ? nullptr : &found->second;
}

Scope* AccountTable::find_scope(ScopeId id) {
  const auto found = scopes_.find(id.value);
  return found == scopes_.end() ? nullptr : &found->second;
}

std::string AccountTable::text_of(ScopeId scope, std::uint32_t uid) const {
  return scope ? text("uid ", uid, " in scope ", find_scope(scope)->name) : text("uid ", uid);
}

std::uint32_t AccountTable::take(ScopeId scope, std::uint32_t uid) {
  const auto [found, made] = by_who_.try_emplace(Who{scope, uid}, kNoSlot);
  if (made) {
    found->second = table_.emplace();
    Account& account = table_.at(found->second);
    account.scope = scope;
    account.uid = uid;
    ++find_scope(scope)->accounts;
  }
  add_reference(found->second);
  return found->second;
}

void AccountTable::drop_reference(std::uint32_t slot) {
  const Account& account = table_.at(slot);
  if (--table_.at(slot).references != 0) return;
  if (!account.used.none() || account.ends != 0) std::abort();  // a charge was lost
  --find_scope(account.scope)->accounts;
  by_who_.erase(Who{account.scope, account.uid});
  table_.erase(slot);
}

void AccountTable::add(std::uint32_t slot, Resource resource, std::uint64_t amount) {
  Account& account = table_.at(slot);
  account.used.of(resource) += amount;
  find_scope(account.scope)->used.of(resource) += amount;
}

void AccountTable::subtract(std::uint32_t slot, Resource resource, std::uint64_t amount) {
  Account& account = table_.at(slot);
  account.used.of(resource) -= amount;
  find_scope(account.scope)->used.of(resource) -= amount;
}

const Account* AccountTable::find(ScopeId scope, std::uint32_t uid) const {
  const auto found = by_who_.find(Who{scope, uid});
  return found == by_who_.end() ? nullptr : &table_.at(found->second);
}

}  // namespace hb::core
