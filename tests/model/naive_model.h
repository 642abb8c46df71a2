// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The broker as one would write it without a care for time or memory: plain maps, everything searched. What
// it predicts is design section 3, 5 and 6, not the code of daemon/core.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/effect.h"
#include "core/export_state.h"
#include "core/request.h"
#include "core/types.h"
#include "hipbroker/status.h"

namespace hb::test {

// A piece of memory of the pretended kernel. Two descriptors of one object and one mode are one allocation.
struct Object {
  std::uint64_t inode = 0;
  bool writable = true;
  auto operator<=>(const Object&) const = default;
  [[nodiscard]] bool sealed() const { return inode >= 6; }
  [[nodiscard]] std::uint64_t bytes() const { return 16'384 + 512 * inode; }
  // What the pretended edge finds for a reader whom a reopening binds.
  [[nodiscard]] core::Level fact() const {
    return inode % 2 == 1 ? core::Level::kPerReader : core::Level::kIntent;
  }
};

struct NaiveChunk {
  Object object;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct NaiveSession {
  core::Principal who;
  bool subscribed = false;
  bool rung = false;  // and has not taken all events since
  bool lost = false;  // it has to look at everything: what happened is not known any more
};

struct NaiveExport {
  std::uint64_t scope = 0;
  std::uint32_t uid = 0;
  std::string name;
  std::uint32_t generation = 0;
  std::uint64_t layout_version = 0;
  core::ExportState state = core::ExportState::kStaging;
  std::uint64_t session = 0;
  std::vector<core::AclEntry> acl;
  core::Placement placement;
  core::Access max_access = core::Access::kNone;
  core::Access access = core::Access::kNone;  // once complete
  bool sealed = false;                        // promised to readers, once complete
  bool replace = false;
  std::uint64_t max_size = 0;
  core::Lifetime lifetime = core::Lifetime::kOwner;
  std::uint64_t linger_ns = 0;
  core::Time linger_end = core::kNever;  // of an orphan
  std::vector<NaiveChunk> chunks;        // as they were last; memory is held where holds_memory()
  std::uint64_t total_chunks = 0;
  std::uint64_t order = 0;                                        // of getting its owner
  std::uint64_t end_order = 0;                                    // of ending
  std::vector<std::pair<std::uint64_t, core::ChunkRun>> changes;  // by layout version
  std::uint64_t step = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> departed;  // lease, step it had acknowledged

  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] bool ended() const { return core::has_ended(state); }
  [[nodiscard]] bool current() const { return core::is_current(state); }
  [[nodiscard]] bool staging() const { return state == core::ExportState::kStaging; }
  [[nodiscard]] bool asleep() const { return state == core::ExportState::kSuspended; }
  [[nodiscard]] bool holds_memory() const { return staging() || (current() && !asleep()); }
  // Chunks that others took the place of after `version`.
  [[nodiscard]] std::set<std::uint64_t> changed_since(std::uint64_t version) const;
  // Chunks that have bytes of this range: [first, end).
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> chunks_of(std::uint64_t offset,
                                                                  std::uint64_t length) const;
};

// Half sent.
struct NaiveChange {
  std::uint64_t session = 0;
  std::uint64_t id = 0;
  core::ChangeRequest::Kind kind = core::ChangeRequest::Kind::kNone;
  std::uint64_t first = 0;
  std::uint64_t total_chunks = 0;
  std::vector<NaiveChunk> chunks{};
};

struct NaiveLease {
  std::uint64_t session = 0;
  std::uint64_t id = 0;  // of the export
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t slot = 0;
  std::uint32_t value = 0;
  core::Access access = core::Access::kNone;
  core::Level level = core::Level::kNone;
  bool follows = false;
  std::uint64_t layout_version = 0;
  std::uint64_t order = 0;  // of being granted
  std::uint64_t acked = 0;
  bool current = true;
  bool grown = false;
  bool unmap_asked = false;
  bool pins = false;                                                 // it came of a ticket
  std::vector<std::pair<core::EventKind, core::ChunkRun>> untold{};  // all that happened, in order
  std::uint64_t untold_since = 0;                                    // order of the first
};

struct NaiveTicket {
  std::uint64_t id = 0;  // of the export
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  core::Access access = core::Access::kNone;
  core::Time deadline = 0;
  std::uint64_t scope = 0;
  std::uint32_t uid = 0;  // of the maker
  std::uint64_t order = 0;
  bool stands = true;
  bool revoked = false;  // and that is why it does not
};

struct NaiveMember {
  std::uint64_t session = 0;
  std::uint32_t world = 0;  // as it said
  std::uint64_t offer = 0;
  std::string agreement;
  bool any_layout = false;
  core::Access access = core::Access::kNone;
  std::uint32_t max_handles = 0;
  bool arrived = false;                 // at the barrier under way
  std::vector<std::uint64_t> orders{};  // of the leases it is to have, by rank of the others,
  std::vector<std::uint64_t> leases{};  // and those
};

struct NaiveGroup {
  enum class Phase { kGathering, kMapping, kOpen, kEnded };
  std::uint64_t scope = 0;
  std::uint32_t uid = 0;
  std::string name;
  std::uint64_t attempt = 0;
  std::uint64_t round = 0;
  Phase phase = Phase::kGathering;
  hb_status end = HB_OK;
  std::uint64_t id = 0;  // once somebody was told
  std::map<std::uint32_t, NaiveMember> ranks{};
};

// The owner has to be told that an export was taken from it.
struct NaiveLoss {
  std::uint64_t session = 0;
  core::Event event;
  std::uint64_t order = 0;
};

struct NaiveWait {
  enum class Kind { kName, kLeft, kUnmapped, kStep, kAcks, kMember };
  Kind kind = Kind::kName;
  std::uint64_t session = 0;
  std::uint64_t request_id = 0;
  core::Time deadline = 0;
  std::uint64_t id = 0;       // of the export
  std::uint64_t exports = 0;  // that the request ended
  std::uint64_t step = 0;
  std::uint64_t lease = 0;  // by which a step is waited for
  std::uint32_t owner = 0;  // of the name
  std::uint64_t group = 0;
  std::uint32_t rank = 0;
  core::AcquireRequest request{};
};

// What a request that waits, or could have, must be told.
struct NaiveAnswer {
  enum class What { kByKind, kJoined, kReady, kAppended };
  NaiveWait wait;
  hb_status status = HB_OK;
  std::uint64_t layout_version = 0;
  std::set<std::uint64_t> left;  // leases, and tickets by ticket_mark()
  What what = What::kByKind;
  std::vector<std::uint64_t> versions;  // of what the ranks of a group offer
  std::set<std::uint64_t> departed;     // leases that have gone without acknowledging
  std::uint64_t number = 0;             // who acknowledged, or the step
};

struct NaiveKey {
  std::uint64_t id = 0;
  std::uint32_t generation = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // UINT64_MAX: to the end
  bool true_key = true;      // MAC and broker are right
  std::uint64_t ticket = 0;  // it is this ticket
};

struct NaiveAim {
  core::Target target;
  NaiveKey key;  // where the target is one
};

struct NaiveFound {
  hb_status status = HB_OK;
  std::uint64_t id = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool follows = false;
};

// What an acquire must come to.
struct Expected {
  hb_status status = HB_OK;
  std::uint64_t id = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  core::Level level = core::Level::kNone;
  bool follows = false;
  std::uint64_t ticket = 0;  // is used for it
};

// Tells a ticket from a lease of the same number.
constexpr std::uint64_t ticket_mark(std::uint64_t ticket) { return ticket | 1ull << 63; }

class NaiveModel {
 public:
  NaiveModel(std::size_t remembered, core::Time remembered_ns)
      : remembered_(remembered), remembered_ns_(remembered_ns) {}

  std::map<std::uint64_t, NaiveSession> sessions;
  std::map<std::uint64_t, NaiveExport> exports;             // by id; also ended ones, held or remembered
  std::vector<std::pair<std::uint64_t, core::Time>> ended;  // remembered only, oldest first
  std::vector<NaiveChange> changes;
  std::map<std::uint64_t, NaiveLease> leases;
  std::map<std::uint64_t, NaiveTicket> tickets;  // also such as do not stand any more
  std::vector<NaiveLoss> losses;
  std::map<std::uint64_t, NaiveGroup>
      groups;                    // by a number of the model's own; ended ones until all have left
  std::vector<NaiveWait> waits;  // in order of coming

  // What came of the last transitions: whoever looks clears them.
  std::vector<NaiveAnswer> answers;
  std::vector<std::uint64_t> rings;

  // --- transitions (naive_life.cc) -------------------------------------------------------------------
  void pass_time(core::Time now);
  void complete(std::uint64_t id);
  void end_export(std::uint64_t id, core::ExportState as);
  void end_lease(std::uint64_t lease);
  void drop_staging(std::uint64_t id);  // an export or a change that is half sent
  void drop_session(std::uint64_t session, core::Time now);
  void end_scope(std::uint64_t scope, core::Time now);  // its sessions have gone
  void claim(std::uint64_t id, std::uint64_t session, core::Lifetime lifetime, std::uint64_t linger_ns);
  void suspend(std::uint64_t id);
  void unmapped(std::uint64_t lease, std::uint64_t layout_version);
  void change(const NaiveChange& change);
  void refresh(std::uint64_t lease, const Expected& to, std::uint32_t value);
  void publish(std::uint64_t id, std::uint64_t step);
  void ack(std::uint64_t lease, std::uint64_t step);
  void end_ticket(std::uint64_t ticket, bool revoked = false);
  void drop_pins(std::uint64_t id, bool revoked);  // of an export
  void subscribe(std::uint64_t session);
  // Those of one lease or loss are told together or not at all.
  [[nodiscard]] std::vector<std::vector<core::Event>> untold(std::uint64_t session) const;
  void told(std::uint64_t session, std::size_t groups);
  // The answer if it came now; whether it does.
  [[nodiscard]] NaiveAnswer answer_to(const NaiveWait& wait) const;
  [[nodiscard]] bool is_over(const NaiveWait& wait) const;
  [[nodiscard]] std::uint64_t next_order() { return ++order_; }

  // --- groups (naive_groups.cc) ----------------------------------------------------------------------
  void end_group(std::uint64_t number, hb_status status);
  void leave_group(std::uint64_t number, std::uint64_t session);
  void arrive(std::uint64_t number, std::uint32_t rank);
  void pass(std::uint64_t number, NaiveGroup::Phase phase, const NaiveAnswer& answer);
  [[nodiscard]] std::uint64_t group_named(std::uint64_t scope, std::uint32_t uid,
                                          const std::string& name) const;
  [[nodiscard]] std::vector<std::uint64_t> groups_of(std::uint64_t session) const;
  [[nodiscard]] std::uint32_t rank_in(std::uint64_t number, std::uint64_t session) const;
  [[nodiscard]] std::uint32_t world_of(std::uint64_t number) const;
  [[nodiscard]] bool layouts_differ(std::uint64_t number) const;
  [[nodiscard]] hb_status exchange_status(std::uint64_t number) const;
  [[nodiscard]] hb_status timeout_status(std::uint64_t number) const;
  [[nodiscard]] bool all_arrived(std::uint64_t number) const;
  [[nodiscard]] std::vector<std::uint64_t> versions_of(std::uint64_t number) const;

  // --- questions (naive_model.cc) --------------------------------------------------------------------
  [[nodiscard]] core::Access access_of(const NaiveExport& e, const core::Principal& who) const;
  [[nodiscard]] bool may_see(const NaiveExport& e, const core::Principal& who) const;
  // Current exports; the range of a key in it.
  [[nodiscard]] NaiveFound find(const core::Principal& who, const NaiveAim& aim) const;
  // Also ended ones that are held still.
  [[nodiscard]] NaiveFound look(const core::Principal& who, const NaiveAim& aim) const;
  // HB_OK: current, and this session's.
  [[nodiscard]] hb_status own(std::uint64_t session, std::uint64_t id) const;
  // HB_OK: this session's, and something can be had of it.
  [[nodiscard]] hb_status held(std::uint64_t session, std::uint64_t lease) const;
  // What whoever comes with a ticket gets, before access and range.
  [[nodiscard]] NaiveFound by_ticket(const core::Principal& who, const NaiveKey& key) const;
  [[nodiscard]] hb_status status_of_ticket(const core::Principal& who, const NaiveTicket& ticket) const;
  [[nodiscard]] Expected acquire(const core::Principal& who, const NaiveAim& aim,
                                 const core::AcquireRequest& r) const;
  [[nodiscard]] Expected refreshed(std::uint64_t lease) const;
  [[nodiscard]] hb_status lifetime_status(core::Lifetime lifetime, std::uint64_t linger_ns,
                                          const core::Principal& who) const;
  [[nodiscard]] std::uint64_t bearer(std::uint64_t scope, std::uint32_t uid, const std::string& name) const;
  [[nodiscard]] bool is_being_sent(std::uint64_t scope, std::uint32_t uid, const std::string& name) const;
  [[nodiscard]] std::uint32_t next_generation(const NaiveExport& e) const;
  // The youngest first.
  [[nodiscard]] std::vector<std::uint64_t> leases_of(std::uint64_t id) const;
  // That stand, the youngest first.
  [[nodiscard]] std::vector<std::uint64_t> tickets_of(std::uint64_t id) const;
  // By leases or tickets.
  [[nodiscard]] bool is_held(std::uint64_t id) const;
  // Of an ended one memory is kept for tickets, and for what came of them.
  [[nodiscard]] bool is_pinned(std::uint64_t id) const;
  // Exports of a session in the order they end with it: the youngest first.
  [[nodiscard]] std::vector<std::uint64_t> owned_by(std::uint64_t session) const;
  [[nodiscard]] const NaiveChange* change_of(std::uint64_t id) const;
  // Current ones and those that are being sent.
  [[nodiscard]] std::uint64_t exports_of(std::uint64_t scope, std::uint32_t uid) const;
  [[nodiscard]] std::size_t stagings_of(std::uint64_t session) const;
  [[nodiscard]] hb_status status_of_end(const NaiveExport& e) const;
  [[nodiscard]] std::map<Object, std::uint64_t> referenced() const;  // chunks an object

 private:
  struct Name {
    std::uint32_t generation = 0;
    std::uint64_t latest = 0;
  };
  using NameKey = std::tuple<std::uint64_t, std::uint32_t, std::string>;
  [[nodiscard]] static NameKey name_key(const NaiveExport& e) { return {e.scope, e.uid, e.name}; }
  [[nodiscard]] NaiveFound by_key(const core::Principal& who, const NaiveKey& key) const;
  [[nodiscard]] NaiveFound by_name(const core::Principal& who, const core::NameRef& name) const;
  [[nodiscard]] NaiveFound by_id(const core::Principal& who, std::uint64_t id) const;
  [[nodiscard]] std::pair<int, NaiveFound> look_in(std::uint64_t scope, const core::Principal& who,
                                                   const core::NameRef& name) const;
  [[nodiscard]] core::Level level_of(const NaiveExport& e, const core::Principal& who, std::uint64_t offset,
                                     std::uint64_t length) const;
  void tell(std::uint64_t lease, core::EventKind kind, core::ChunkRun run = {});
  void ring(std::uint64_t session);
  void leave_export(std::uint64_t id);
  void settle(std::uint64_t id);  // after any change of it: who waited long enough
  void settle_end(std::uint64_t id);
  void answer_wait(std::size_t index, NaiveAnswer answer);
  void forget(std::uint64_t id);
  void answer_members(std::uint64_t number, const NaiveAnswer& answer);
  [[nodiscard]] bool worlds_differ(std::uint64_t number) const;

  std::size_t remembered_;
  core::Time remembered_ns_;
  core::Time now_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t leaving_ = 0;  // a session that ends: it is told nothing any more
  std::map<NameKey, Name> names_;
};

}  // namespace hb::test
