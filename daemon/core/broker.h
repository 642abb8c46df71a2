// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The broker as a pure state machine: events and the time go in, effects come out. No socket, no clock, no
// protobuf, no system call; the same events give the same effects. Not thread-safe: one thread drives it.
//
// What never happens here: a reply before the effects it depends on; an id used twice; half an export; an
// answer that tells a caller of an export it may not read (design rule 7).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/effect.h"
#include "core/export_state.h"
#include "core/record_set.h"
#include "core/request.h"

namespace hb::core {

struct BrokerConfig {
  BrokerId broker_id{};
  Secret master{};                    // random; every export's secret is derived from it
  std::uint64_t fd_limit = 0;         // soft RLIMIT_NOFILE of the daemon
  std::uint64_t fd_base = 0;          // descriptors that are neither sessions' nor handles'
  std::uint64_t fds_per_session = 2;  // socket and pidfd
  std::uint64_t ended_exports = 0;    // remembered; 0 = limits::kEndedExports
  std::uint64_t ended_export_ns = 0;  // 0 = limits::kEndedExportNs
  // The edge carries out effect Retry. Where it does not, a waiter whose read-only level depends on facts is
  // answered without them: level intent, and the handle as its exporter gave it.
  bool retries = false;
  bool records = false;       // write_changes() is asked
  bool lost_records = false;  // an owner may offer an export again of which nothing is known any more
};

struct AccessExplained {
  ExportId id;
  ExportState state = ExportState::kNew;
  Access access = Access::kNone;
  std::string reason;
};

class Broker {
 public:
  explicit Broker(const BrokerConfig& config);
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  // A session that finished its Hello. Refused with QUOTA (sessions of this uid, all sessions) or NO_FDS.
  // Never yields effects.
  [[nodiscard]] tl::expected<SessionId, Error> connect(const Principal& principal, ProcessInfo process,
                                                       Time now);

  // EOF, death of the process, or the edge gave the session up: its leases, stagings, waits and exports of
  // lifetime `owner` end.
  void disconnect(SessionId session, Time now, Effects& out);

  // --- scopes: name spaces of their own. ScopeId 0, the main one, is always there ---------------
  // `total`: what all principals of it may use together. False: there is one of that id; an id that was
  // removed is never given again.
  bool add_scope(ScopeId scope, std::string name, const LimitSet& total);
  void set_scope_limits(ScopeId scope, const LimitSet& total);
  struct ScopeUse {
    std::string name;
    std::array<std::uint64_t, kResources> used{};
    LimitSet total;
  };
  [[nodiscard]] std::optional<ScopeUse> scope_use(ScopeId scope) const;
  // Sessions, exports, tickets, groups, and what was remembered of them: nothing is left. Not the main one.
  void remove_scope(ScopeId scope, Time now, Effects& out);

  // The policy was read anew: what a live session may do and use from now on. What exists stays.
  void set_terms(SessionId session, Rights rights, std::shared_ptr<const LimitSet> limits);

  // Of a live session; null when it has ended. Until the next call.
  [[nodiscard]] const Principal* principal_of(SessionId session) const;

  // What the access list of the export that bears a name would give to somebody; nothing where none bears it.
  [[nodiscard]] std::optional<AccessExplained> explain(const Principal& who, const NameRef& name) const;

  // One request. `request_id` 0 = one-way: ExportAbort, Release and Cancel then have no answer. A mutating
  // request whose id was answered before gets its first answer again; an id not above one whose answer is
  // already forgotten is PROTO. Handles of a request are taken over even when the session has ended.
  void apply(SessionId session, std::uint64_t request_id, std::uint16_t frame_type, Request request, Time now,
             Effects& out);

  // Expiry of waits and of remembered ends. Expiry is also seen at lookup, whenever tick() comes.
  void tick(Time now, Effects& out);
  [[nodiscard]] Time next_deadline() const;

  // The allocations an acquire with less than write would hand out, so that the edge can find out what
  // read-only level holds (ReadOnlyFact). Empty when the acquire asks for write or would be refused, and
  // without those whose level no fact can change: sealed ones, and readers a reopening does not bind (the
  // owner's uid, root).
  struct Candidate {
    AllocationId allocation;
    HandleId handle;
    std::uint32_t owner_uid = 0;  // of the export
    std::uint32_t reader_uid = 0;
  };
  [[nodiscard]] std::vector<Candidate> readonly_candidates(SessionId session,
                                                           const AcquireRequest& request) const;
  [[nodiscard]] std::vector<Candidate> readonly_candidates(SessionId session,
                                                           const RefreshRequest& request) const;

  // --- what outlives the process (core/record.h) ------------------------------------------------
  // Every record that changed since the last call, and those that are no more, in no order.
  void write_changes(RecordSink& sink);
  // Of a broker that has seen no event: all that was recorded. Empty, or what does not fit together; then
  // the broker is of no use any more. Waits are not restored but those of requests that had an effect.
  [[nodiscard]] std::string restore(const RecordSet& records, Time now);

  struct Restored {
    SessionId id;
    Principal principal;
    std::shared_ptr<const ProcessInfo> process;
    std::uint64_t edge = 0;
  };
  [[nodiscard]] std::vector<Restored> sessions() const;
  // What the edge wants to know again of this session; it is recorded with it.
  void note_edge(SessionId session, std::uint64_t edge);
  // A request that the process before this one had received and not carried out: sent again it is new,
  // however many younger ones were answered meanwhile. One that was answered gets its answer all the same.
  void note_unanswered(SessionId session, std::uint64_t request_id);
  // The words of its validity page as they have to be: slot, value.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> words_of(SessionId session) const;

  struct Held {
    HandleId handle;
    HandleKind kind = HandleKind::kMemfd;
    std::uint64_t size = 0;
    bool identity_known = false;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
  };
  [[nodiscard]] std::vector<Held> held() const;

  // The edge has not these any more. An export of theirs is suspended, and awaited until then: its owner
  // may bring it back (ReofferRequest, then a change of kind resume). Without an owner that could, it ends.
  void lose_handles(const std::vector<HandleId>& handles, Time until, Time now, Effects& out);
  // Its connection went with the daemon that was. The process may come back in another one: its exports are
  // awaited until then, all else of the session ends.
  void await_owner(SessionId session, Time until, Time now, Effects& out);
  [[nodiscard]] std::vector<ExportId> awaited_of(SessionId session) const;
  [[nodiscard]] std::uint64_t awaited() const;
  // After a restart nobody knows which events were taken and not read: subscribers have to look at all.
  void lose_events(Effects& out);

  // The edge reopened a handle read-only and keeps one descriptor more (or closed it again).
  void note_extra_fds(std::int64_t change);

  [[nodiscard]] HandleId handle_of(AllocationId allocation) const;  // 0 when it has ended
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] std::uint64_t fds_used() const;

 private:
  friend std::string check_invariants(const Broker& broker);
  struct State;
  std::unique_ptr<State> state_;
};

// Empty when every invariant of core/invariants.cc holds, else the first that does not, in words.
[[nodiscard]] std::string check_invariants(const Broker& broker);

}  // namespace hb::core
