// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Exports: those that are there, and as much of the ended ones as tells GONE, STALE and REVOKED from
// NOT_FOUND, and who still holds them. Every export has a record and an id of its own; a name goes from one
// to the next.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/account_table.h"
#include "core/chunk_list.h"
#include "core/export_life.h"
#include "core/export_state.h"
#include "core/intern_table.h"
#include "core/name_table.h"
#include "core/slot_table.h"
#include "core/types.h"

namespace hb::core {

using Acl = std::vector<AclEntry>;

struct Export {
  ChunkList chunks;
  std::uint64_t layout_version = 0;
  Time created = 0;
  Time ended = 0;           // since when it is remembered: nothing holds it any more
  std::uint64_t order = 0;  // of getting its owner, then of its end, then of being remembered; among all
  ScopeId scope;
  std::unique_ptr<const std::string> metadata;  // none = empty
  std::unique_ptr<ExportLife> life;             // none = a plain one
  std::uint32_t name = kNoSlot;                 // none = anonymous
  std::uint32_t generation = 0;
  std::uint32_t owner_uid = 0;
  std::uint32_t session = kNoSlot;  // of the owner, while live, suspended or staging
  Links of_account;                 // of one that is only remembered: the line of its account's
  std::uint32_t account = kNoSlot;  // who pays; a reference
  Links of_session;                 // while live or suspended; of an ended one: those that bore its name and
                                    // are held, then the line of those that are remembered
  std::uint32_t leases = kNoSlot;   // list through Lease::of_export
  std::uint32_t lease_count = 0;
  std::uint32_t acl = 0;        // in acls(); kept until it is forgotten
  std::uint32_t placement = 0;  // in placements(); kept until nothing holds it
  HandleKind kind = HandleKind::kMemfd;
  ExportState state = ExportState::kNew;
  Lifetime lifetime = Lifetime::kOwner;
  Access access : 2 = Access::kNone;  // the most it gives to anyone
  bool all_sealed : 1 = false;
  bool size_declared : 1 = false;
  bool chunks_changed : 1 = true;  // since they were recorded

  [[nodiscard]] std::uint32_t ticket_count() const { return life == nullptr ? 0 : life->ticket_count; }
  // Its chunks stay when it ends.
  [[nodiscard]] bool is_pinned() const { return life != nullptr && life->ticket_count + life->pinning != 0; }
  // By leases or tickets: an ended one is more than remembered.
  [[nodiscard]] bool is_held() const { return lease_count != 0 || ticket_count() != 0; }
  [[nodiscard]] std::uint64_t max_size() const { return life == nullptr ? 0 : life->max_size; }
  // Where it grows, or slept: what size it has.
  [[nodiscard]] std::uint64_t size() const {
    if (life != nullptr && has_ended(state)) return life->ended_size;
    return state == ExportState::kSuspended ? life->suspended_size : chunks.bytes();
  }
};
static_assert(sizeof(Export) <= 152);

class ExportTable {
 public:
  ExportTable(AccountTable& accounts, const Secret& secret, std::uint64_t remembered,
              std::uint64_t remembered_ns);

  [[nodiscard]] Export* find(ExportId id) { return table_.find(id); }
  [[nodiscard]] const Export* find(ExportId id) const { return table_.find(id); }
  [[nodiscard]] Export& at(std::uint32_t slot) { return table_.at(slot); }
  [[nodiscard]] const Export& at(std::uint32_t slot) const { return table_.at(slot); }
  [[nodiscard]] ExportId id_of(std::uint32_t slot) const { return table_.id_of(slot); }
  [[nodiscard]] ExportLife& life_of(std::uint32_t slot);  // made when there is none yet
  // The record of a name; nullptr when nothing of that name is remembered.
  [[nodiscard]] const Name* find_name(ScopeId scope, std::uint32_t uid, std::string_view name) const;
  [[nodiscard]] const Name* name_of(const Export& exported) const {
    return exported.name == kNoSlot ? nullptr : &names_.at(exported.name);
  }

  // A record in state kNew; a named one is that name's staging until it bears it.
  [[nodiscard]] std::uint32_t create(std::uint32_t account, const std::string& name);
  // kNew or kStaging to kLive: it bears its name, one generation on. Nothing else may bear it then.
  void complete(std::uint32_t slot);
  // A staging that came to nothing leaves no trace.
  void discard(std::uint32_t slot);
  // Orphaned to live again, one generation on.
  void claim(std::uint32_t slot);
  // The only setter of states that are not above. A transition that is not in the table is a defect: it
  // stops the process, since going on could hand out the wrong memory. An ended one loses its name.
  void set_state(std::uint32_t slot, ExportState state);

  // It goes to the front of its owner's list.
  void note_owned(std::uint32_t slot) { table_.at(slot).order = ++last_order_; }
  // Nothing holds an ended export any more: from now on it is only remembered, for the usual time.
  void remember(std::uint32_t slot, Time now);
  void forget_expired(Time now);
  void forget_ends_of(std::uint32_t account);
  [[nodiscard]] Time next_expiry() const;

  // As it was before a restart, of a name that is found or made. `name_generation`: the last one that is
  // known to have been given out. False: the id is none, or the name has such an export already. Ended ones
  // come in their order.
  [[nodiscard]] bool restore(ExportId id, Export exported, std::string_view name,
                             std::uint32_t name_generation);

  [[nodiscard]] InternTable<Acl>& acls() { return acls_; }
  [[nodiscard]] const InternTable<Acl>& acls() const { return acls_; }
  [[nodiscard]] InternTable<Placement>& placements() { return placements_; }
  [[nodiscard]] const InternTable<Placement>& placements() const { return placements_; }
  [[nodiscard]] const SlotTable<Export, ExportId>& table() const { return table_; }
  [[nodiscard]] SlotTable<Export, ExportId>& table() { return table_; }
  [[nodiscard]] const NameTable& names() const { return names_; }
  [[nodiscard]] std::uint32_t oldest_end() const { return oldest_; }
  [[nodiscard]] std::uint64_t remembered() const { return remembered_count_; }
  [[nodiscard]] std::uint64_t remembered_limit() const { return remembered_; }
  [[nodiscard]] std::uint64_t current() const { return current_; }        // live, suspended, orphaned
  [[nodiscard]] std::uint64_t ended_held() const { return ended_held_; }  // ended, and not only remembered

 private:
  void line_up(std::uint32_t slot);
  void forget(std::uint32_t slot);
  void erase(std::uint32_t slot);

  AccountTable& accounts_;
  std::uint64_t remembered_;
  std::uint64_t remembered_ns_;
  SlotTable<Export, ExportId> table_;
  NameTable names_;
  InternTable<Acl> acls_;
  InternTable<Placement> placements_;
  std::uint32_t oldest_ = kNoSlot;
  std::uint32_t youngest_ = kNoSlot;
  std::uint64_t remembered_count_ = 0;
  std::uint64_t current_ = 0;
  std::uint64_t ended_held_ = 0;
  std::uint64_t last_order_ = 0;
};

[[nodiscard]] KeyedHash::Input input_of(const Acl& acl);
[[nodiscard]] KeyedHash::Input input_of(const Placement& placement);

}  // namespace hb::core
