// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Every export there is, is being sent, or has ended and is remembered. By id an index, by (scope, owner
// uid, name) one hash lookup. A name has one record, whatever the state: its next export is a generation
// more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/chunk_list.h"
#include "core/intern_table.h"
#include "core/slot_index.h"
#include "core/slot_table.h"
#include "core/types.h"

namespace hb::core {

// Values that go on the wire are fixed for ever; owner-died, suspended and revoked get the next ones.
enum class ExportState : std::uint8_t {
  kNew = 0,
  kLive = 1,
  kStaging = 2,  // pages are still to come; nobody sees it, its name is reserved
  kEnded = 3,    // remembered, so that old keys are answered truly
};

using Acl = std::vector<AclEntry>;

struct Export {
  ChunkList chunks;
  std::uint64_t layout_version = 0;
  Time created = 0;
  ScopeId scope;
  std::unique_ptr<const std::string> name;      // none = anonymous
  std::unique_ptr<const std::string> metadata;  // none = empty
  std::uint32_t generation = 0;                 // of the last complete export; 0 = never one
  std::uint32_t owner_uid = 0;
  std::uint32_t session = kNoSlot;  // of the owner, while live or staging
  Links of_session;                 // while live
  std::uint32_t leases = kNoSlot;   // list through Lease::of_export
  std::uint32_t lease_count = 0;
  std::uint32_t acl = 0;        // in acls()
  std::uint32_t placement = 0;  // in placements()
  std::uint32_t last_end = kNoSlot;
  ExportState state = ExportState::kNew;
  Lifetime lifetime = Lifetime::kOwner;
  HandleKind kind = HandleKind::kMemfd;
  Access access : 2 = Access::kNone;  // the most it gives to anyone
  bool all_sealed : 1 = false;
  bool size_declared : 1 = false;
};
static_assert(sizeof(Export) <= 128);

// One remembered end: who could read that generation.
struct EndedExport {
  std::uint32_t exported = kNoSlot;
  std::uint32_t generation = 0;
  std::uint32_t acl = 0;
  std::uint32_t earlier = kNoSlot;  // ends of the same export
  std::uint32_t later = kNoSlot;
  std::uint32_t next = kNoSlot;  // younger, of all
  Time at = 0;
};

class ExportTable {
 public:
  ExportTable(const Secret& secret, std::uint64_t remembered, std::uint64_t remembered_ns);

  [[nodiscard]] Export* find(ExportId id) { return table_.find(id); }
  [[nodiscard]] const Export* find(ExportId id) const { return table_.find(id); }
  [[nodiscard]] Export& at(std::uint32_t slot) { return table_.at(slot); }
  [[nodiscard]] const Export& at(std::uint32_t slot) const { return table_.at(slot); }
  [[nodiscard]] ExportId id_of(std::uint32_t slot) const { return table_.id_of(slot); }
  // Any state; kNoSlot when there is no record.
  [[nodiscard]] std::uint32_t find_name(ScopeId scope, std::uint32_t uid, std::string_view name) const;

  // A record in state kNew. The name, when there is one, must have none yet.
  [[nodiscard]] std::uint32_t create(ScopeId scope, std::uint32_t uid, const std::string& name);
  // The only setter. A transition that is not in the table is a defect: it stops the process, since going
  // on could hand out the wrong memory.
  void set_state(std::uint32_t slot, ExportState state);
  // kLive to kEnded: the ACL moves into the memory of ends, chunks and metadata must be empty.
  void end(std::uint32_t slot, Time now);
  // A staging that came to nothing: what was remembered before it is remembered again.
  void unstage(std::uint32_t slot);

  // The remembered end of that generation, or nullptr.
  [[nodiscard]] const EndedExport* past(const Export& exported, std::uint32_t generation) const;
  void forget_expired(Time now);
  [[nodiscard]] Time next_expiry() const;

  [[nodiscard]] InternTable<Acl>& acls() { return acls_; }
  [[nodiscard]] const InternTable<Acl>& acls() const { return acls_; }
  [[nodiscard]] InternTable<Placement>& placements() { return placements_; }
  [[nodiscard]] const InternTable<Placement>& placements() const { return placements_; }
  [[nodiscard]] const SlotTable<Export, ExportId>& table() const { return table_; }
  [[nodiscard]] SlotTable<Export, ExportId>& table() { return table_; }
  [[nodiscard]] const SlotTable<EndedExport, Id<EndedExport>>& ends() const { return ends_; }
  [[nodiscard]] std::uint32_t oldest_end() const { return oldest_; }
  [[nodiscard]] std::uint64_t live() const { return live_; }
  [[nodiscard]] std::uint64_t remembered_limit() const { return remembered_; }
  [[nodiscard]] std::size_t names() const { return by_name_.size(); }

 private:
  [[nodiscard]] std::uint32_t hash_of(ScopeId scope, std::uint32_t uid, std::string_view name) const;
  void forget_oldest();
  void drop_if_forgotten(std::uint32_t slot);

  KeyedHash hash_;
  std::uint64_t remembered_;
  std::uint64_t remembered_ns_;
  SlotTable<Export, ExportId> table_;
  SlotIndex by_name_;
  InternTable<Acl> acls_;
  InternTable<Placement> placements_;
  SlotTable<EndedExport, Id<EndedExport>> ends_;
  std::uint32_t oldest_ = kNoSlot;
  std::uint32_t youngest_ = kNoSlot;
  std::uint64_t live_ = 0;
};

[[nodiscard]] KeyedHash::Input input_of(const Acl& acl);
[[nodiscard]] KeyedHash::Input input_of(const Placement& placement);

}  // namespace hb::core
