// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Who uses how much: one account a principal (a uid in a scope), and the sum over each scope. Whether it may
// is asked in quota.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "core/slot_table.h"
#include "core/types.h"

namespace hb::core {

class Used {
 public:
  [[nodiscard]] std::uint64_t of(Resource resource) const { return of_[static_cast<std::size_t>(resource)]; }
  [[nodiscard]] std::uint64_t& of(Resource resource) { return of_[static_cast<std::size_t>(resource)]; }
  [[nodiscard]] const std::array<std::uint64_t, kResources>& all() const { return of_; }
  [[nodiscard]] bool none() const { return of_ == std::array<std::uint64_t, kResources>{}; }
  bool operator==(const Used&) const = default;

 private:
  std::array<std::uint64_t, kResources> of_{};
};

struct Scope {
  ScopeId id;
  std::string name;
  LimitSet total;  // of all its principals together
  Used used;
  std::uint64_t accounts = 0;
};

struct Account {
  ScopeId scope;
  std::uint32_t uid = 0;
  std::uint64_t references = 0;  // sessions, records of exports, tickets that stand
  Used used;
  std::shared_ptr<const LimitSet> limits;  // of the session that came last; none = the built-in ones
  // The line of its ended exports that are only remembered, through Export::of_account.
  std::uint32_t oldest_end = kNoSlot;
  std::uint32_t youngest_end = kNoSlot;
  std::uint64_t ends = 0;
};

class AccountTable {
 public:
  AccountTable();

  // False: there is one of that id.
  bool add_scope(ScopeId id, std::string name, const LimitSet& total);
  void remove_scope(ScopeId id);  // no account is left in it
  [[nodiscard]] const Scope* find_scope(ScopeId id) const;
  [[nodiscard]] Scope* find_scope(ScopeId id);
  [[nodiscard]] const std::unordered_map<std::uint64_t, Scope>& scopes() const { return scopes_; }
  // "uid 1001", and where it is not the main one the scope.
  [[nodiscard]] std::string text_of(ScopeId scope, std::uint32_t uid) const;

  // Made where there is none; one reference more.
  [[nodiscard]] std::uint32_t take(ScopeId scope, std::uint32_t uid);
  void add_reference(std::uint32_t slot) { ++table_.at(slot).references; }
  // The last one forgets it: nothing is charged to it by then.
  void drop_reference(std::uint32_t slot);

  void add(std::uint32_t slot, Resource resource, std::uint64_t amount);
  void subtract(std::uint32_t slot, Resource resource, std::uint64_t amount);

  [[nodiscard]] const Account* find(ScopeId scope, std::uint32_t uid) const;
  [[nodiscard]] Account& at(std::uint32_t slot) { return table_.at(slot); }
  [[nodiscard]] const Account& at(std::uint32_t slot) const { return table_.at(slot); }
  using Table = SlotTable<Account, Id<Account>>;
  [[nodiscard]] const Table& table() const { return table_; }

 private:
  struct Who {
    ScopeId scope;
    std::uint32_t uid = 0;
    bool operator==(const Who&) const = default;
  };
  struct HashWho {
    std::size_t operator()(const Who& who) const noexcept {
      return static_cast<std::size_t>((who.scope.value ^ std::uint64_t{who.uid} << 32) *
                                      0x9e3779b97f4a7c15ull);
    }
  };
  Table table_;
  std::unordered_map<Who, std::uint32_t, HashWho> by_who_;
  std::unordered_map<std::uint64_t, Scope> scopes_;
};

}  // namespace hb::core
