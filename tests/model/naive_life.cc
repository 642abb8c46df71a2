// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What happens to exports and leases, who is told of it, and who has waited long enough.
#include <algorithm>

#include "model/naive_model.h"
#include "wire/limits.h"

namespace hb::test {

using namespace core;

// --- time -------------------------------------------------------------------------------------------

void NaiveModel::pass_time(Time now) {
  now_ = now;
  while (true) {
    Time next = kNever;
    std::size_t wait = waits.size();
    std::uint64_t orphan = 0;
    std::uint64_t ticket = 0;
    for (std::size_t i = 0; i < waits.size(); ++i)
      if (waits[i].deadline < next) next = waits[wait = i].deadline;
    for (const auto& [id, e] : exports)
      if (e.linger_end < next) next = exports.at(orphan = id).linger_end;
    for (const auto& [id, t] : tickets)
      if (t.stands && t.deadline < next) next = tickets.at(ticket = id).deadline;
    if (next > now || next == kNever) break;
    if (ticket != 0) {
      end_ticket(ticket);
    } else if (orphan != 0) {
      end_export(orphan, ExportState::kGone);
    } else if (waits[wait].kind == NaiveWait::Kind::kMember) {
      end_group(waits[wait].group, timeout_status(waits[wait].group));
    } else {
      const NaiveWait due = waits[wait];
      NaiveAnswer answer = answer_to(due);
      if (due.kind == NaiveWait::Kind::kName || due.kind == NaiveWait::Kind::kStep)
        answer.status = HB_TIMEOUT;
      answer_wait(wait, answer);
    }
  }
  while (!ended.empty() && ended.front().second + remembered_ns_ <= now) forget(ended.front().first);
}

void NaiveModel::forget(std::uint64_t id) {
  std::erase_if(ended, [id](const auto& end) { return end.first == id; });
  const NameKey name = name_key(exports.at(id));
  exports.erase(id);
  if (std::none_of(exports.begin(), exports.end(), [&](const auto& e) { return name_key(e.second) == name; }))
    names_.erase(name);
}

// --- waits ------------------------------------------------------------------------------------------

NaiveAnswer NaiveModel::answer_to(const NaiveWait& wait) const {
  NaiveAnswer out;
  out.wait = wait;
  const auto found = exports.find(wait.id);
  if (found == exports.end()) return out;
  const NaiveExport& e = found->second;
  out.layout_version = e.layout_version;
  for (const auto& [id, lease] : leases) {
    if (lease.id != wait.id) continue;
    const bool acked = lease.acked >= wait.step;
    if (wait.kind == NaiveWait::Kind::kLeft ||
        (wait.kind == NaiveWait::Kind::kUnmapped && lease.unmap_asked) ||
        (wait.kind == NaiveWait::Kind::kAcks && !acked))
      out.left.insert(id);
    if (wait.kind == NaiveWait::Kind::kAcks && acked) ++out.number;
  }
  if (wait.kind == NaiveWait::Kind::kLeft)
    for (const std::uint64_t ticket : tickets_of(wait.id)) out.left.insert(ticket_mark(ticket));
  for (const auto& [lease, acked] : e.departed)
    if (wait.kind == NaiveWait::Kind::kAcks && acked < wait.step) out.departed.insert(lease);
  if (wait.kind == NaiveWait::Kind::kStep) out.number = e.step;
  return out;
}

bool NaiveModel::is_over(const NaiveWait& wait) const {
  if (wait.kind == NaiveWait::Kind::kName || wait.kind == NaiveWait::Kind::kMember) return false;
  if (wait.kind == NaiveWait::Kind::kStep) return exports.at(wait.id).step >= wait.step;
  return answer_to(wait).left.empty();
}

void NaiveModel::answer_wait(std::size_t index, NaiveAnswer answer) {
  waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(index));
  answers.push_back(std::move(answer));
}

void NaiveModel::settle(std::uint64_t id) {
  for (std::size_t i = 0; i < waits.size();)
    if (waits[i].id == id && is_over(waits[i]))
      answer_wait(i, answer_to(waits[i]));
    else
      ++i;
}

// --- events -----------------------------------------------------------------------------------------

void NaiveModel::ring(std::uint64_t session) {
  NaiveSession& s = sessions.at(session);
  if (!s.subscribed || s.rung || session == leaving_) return;
  s.rung = true;
  rings.push_back(session);
}

void NaiveModel::tell(std::uint64_t id, EventKind kind, ChunkRun run) {
  NaiveLease& lease = leases.at(id);
  if (lease.session == leaving_) return;
  if (lease.untold.empty()) lease.untold_since = next_order();
  lease.untold.emplace_back(kind, run);
  ring(lease.session);
}

void NaiveModel::subscribe(std::uint64_t session) {
  sessions.at(session).subscribed = true;
  sessions.at(session).rung = false;
  if (sessions.at(session).lost || !untold(session).empty()) ring(session);
}

// What is left to be said of all that happened: of an end only the end, of a sleep only how it stands, and
// what came after it.
std::vector<std::vector<Event>> NaiveModel::untold(std::uint64_t session) const {
  std::map<std::uint64_t, std::vector<Event>> by_order;
  for (const auto& [id, lease] : leases) {
    if (lease.session != session || lease.untold.empty()) continue;
    const NaiveExport& e = exports.at(lease.id);
    Event event{EventKind::kNone, LeaseId{id}, ExportId{lease.id}, e.generation, e.layout_version, 0, {}};
    event.size = e.ended() ? 0 : e.size();
    EventKind sleep = EventKind::kNone;
    EventKind owner = EventKind::kNone;
    bool grown = false;
    std::optional<ChunkRun> replaced;
    for (const auto& [kind, run] : lease.untold) {
      if (kind == EventKind::kSuspended || kind == EventKind::kResumed) {
        sleep = kind;
        grown = false;
        replaced.reset();
      } else if (kind == EventKind::kGrown) {
        grown = true;
      } else if (kind == EventKind::kReplaced) {
        const std::uint64_t first = replaced ? std::min(replaced->first, run.first) : run.first;
        const std::uint64_t end = replaced
                                      ? std::max(replaced->first + replaced->count, run.first + run.count)
                                      : run.first + run.count;
        replaced = ChunkRun{first, end - first};
      } else {
        owner = kind;
      }
    }
    std::vector<Event>& out = by_order[lease.untold_since];
    const auto say = [&](EventKind kind, ChunkRun run = {}) {
      event.kind = kind;
      event.chunks = run;
      out.push_back(event);
    };
    if (e.ended()) {
      say(lease.untold.back().first);
      continue;
    }
    if (owner == EventKind::kClaimed) say(owner);
    if (sleep != EventKind::kNone) say(sleep);
    if (replaced) say(EventKind::kReplaced, *replaced);
    if (grown) say(EventKind::kGrown);
    if (owner == EventKind::kOwnerDied) say(owner);
  }
  for (const NaiveLoss& loss : losses)
    if (loss.session == session) by_order[loss.order] = {loss.event};
  std::vector<std::vector<Event>> out;
  for (auto& [order, events] : by_order) out.push_back(std::move(events));
  return out;
}

void NaiveModel::told(std::uint64_t session, std::size_t together) {
  const auto all = untold(session);
  for (std::size_t i = 0; i < together; ++i) {
    const Event& event = all[i].front();
    if (event.lease) leases.at(event.lease.value).untold.clear();
    std::erase_if(losses, [&](const NaiveLoss& loss) {
      return !event.lease && loss.session == session && loss.event.exported == event.exported;
    });
  }
  if (together == all.size()) sessions.at(session).rung = false;
}

// --- exports ----------------------------------------------------------------------------------------

void NaiveModel::complete(std::uint64_t id) {
  NaiveExport& e = exports.at(id);
  e.generation = next_generation(e);
  if (!e.name.empty()) names_[name_key(e)] = {e.generation, id};
  e.state = ExportState::kLive;
  e.layout_version = 1;
  e.order = next_order();
  const auto writable = [](const NaiveChunk& chunk) { return chunk.object.writable; };
  const auto sealed = [](const NaiveChunk& chunk) { return chunk.object.sealed(); };
  e.access = e.max_access != Access::kRead && std::all_of(e.chunks.begin(), e.chunks.end(), writable)
                 ? Access::kReadWrite
                 : Access::kRead;
  e.sealed = std::all_of(e.chunks.begin(), e.chunks.end(), sealed);
}

void NaiveModel::end_export(std::uint64_t id, ExportState as) {
  NaiveExport& e = exports.at(id);
  std::erase_if(changes, [id](const NaiveChange& change) { return change.id == id; });
  for (const std::uint64_t number : groups_of(e.session))
    if (groups.at(number).phase != NaiveGroup::Phase::kEnded &&
        groups.at(number).ranks.at(rank_in(number, e.session)).offer == id)
      end_group(number, HB_GONE);
  if (e.asleep()) drop_pins(id, false);  // what sleeps has nothing that could be pinned
  for (std::size_t i = 0; i < waits.size();) {
    if (waits[i].id != id) {
      ++i;
      continue;
    }
    NaiveAnswer answer = answer_to(waits[i]);
    answer.status = as == ExportState::kRevoked ? HB_REVOKED : HB_GONE;
    answer_wait(i, answer);
  }
  const EventKind kind = as == ExportState::kWithdrawn       ? EventKind::kWithdrawn
                         : as == ExportState::kRevoked       ? EventKind::kRevoked
                         : e.state == ExportState::kOrphaned ? EventKind::kGone
                                                             : EventKind::kOwnerDied;
  for (const std::uint64_t lease : leases_of(id)) {
    leases.at(lease).current = leases.at(lease).unmap_asked = false;
    tell(lease, kind);
  }
  if (as == ExportState::kRevoked && e.session != 0 && e.session != leaving_) {
    losses.push_back(
        {e.session, {kind, {}, ExportId{id}, e.generation, e.layout_version, 0, {}}, next_order()});
    ring(e.session);
  }
  e.state = as;
  e.session = 0;
  e.linger_end = kNever;
  e.end_order = next_order();
  settle_end(id);
}

void NaiveModel::settle_end(std::uint64_t id) {
  if (!exports.at(id).ended() || is_held(id)) return;
  const NaiveExport& e = exports.at(id);
  ended.emplace_back(id, now_);
  if (ended.size() <= remembered_) return;
  // Who has more than a quarter of what is remembered loses its own oldest.
  const auto of_same = [&](const auto& entry) {
    const NaiveExport& one = exports.at(entry.first);
    return one.scope == e.scope && one.uid == e.uid;
  };
  const auto own = std::find_if(ended.begin(), ended.end(), of_same);
  const bool too_many =
      static_cast<std::size_t>(std::count_if(ended.begin(), ended.end(), of_same)) > remembered_ / 4 + 1;
  forget(too_many ? own->first : ended.front().first);
}

void NaiveModel::end_scope(std::uint64_t scope, Time now) {
  now_ = now;
  std::vector<std::uint64_t> all;
  for (const auto& [id, e] : exports)
    if (e.scope == scope) all.push_back(id);
  for (const std::uint64_t id : all) {
    drop_pins(id, true);
    if (exports.contains(id) && exports.at(id).current()) end_export(id, ExportState::kRevoked);
  }
  for (const std::uint64_t id : all)
    if (exports.contains(id)) forget(id);
}

void NaiveModel::end_lease(std::uint64_t id) {
  const NaiveLease lease = leases.at(id);
  NaiveExport& e = exports.at(lease.id);
  if (lease.acked < e.step) {
    if (e.departed.size() == limits::kListEntries) e.departed.erase(e.departed.begin());
    e.departed.emplace_back(id, lease.acked);
  }
  leases.erase(id);
  for (const NaiveWait& wait : waits)
    if (wait.kind == NaiveWait::Kind::kStep && wait.lease == id) {
      NaiveAnswer answer;
      answer.wait = wait;
      answer.status = HB_NOT_HELD;
      answers.push_back(answer);
    }
  std::erase_if(
      waits, [id](const NaiveWait& wait) { return wait.kind == NaiveWait::Kind::kStep && wait.lease == id; });
  settle(lease.id);
  settle_end(lease.id);
}

void NaiveModel::drop_staging(std::uint64_t id) {
  std::erase_if(changes, [id](const NaiveChange& change) { return change.id == id; });
  if (exports.at(id).staging()) forget(id);
}

void NaiveModel::leave_export(std::uint64_t id) {
  NaiveExport& e = exports.at(id);
  if (e.lifetime == Lifetime::kOwner || e.asleep()) return end_export(id, ExportState::kGone);
  std::erase_if(changes, [id](const NaiveChange& change) { return change.id == id; });
  e.state = ExportState::kOrphaned;
  e.session = 0;
  if (e.lifetime == Lifetime::kLinger) e.linger_end = now_ + e.linger_ns;
  for (const std::uint64_t lease : leases_of(id)) tell(lease, EventKind::kOwnerDied);
}

void NaiveModel::drop_session(std::uint64_t session, Time now) {
  leaving_ = session;
  for (const std::uint64_t number : groups_of(session)) leave_group(number, session);
  std::erase_if(waits, [session](const NaiveWait& wait) { return wait.session == session; });
  pass_time(now);
  std::vector<std::uint64_t> staged;
  for (const auto& [id, e] : exports)
    if (e.session == session && (e.staging() || change_of(id) != nullptr)) staged.push_back(id);
  for (const std::uint64_t id : staged) drop_staging(id);
  std::map<std::uint64_t, std::uint64_t> by_order;
  for (const auto& [id, lease] : leases)
    if (lease.session == session) by_order[lease.order] = id;
  for (auto lease = by_order.rbegin(); lease != by_order.rend(); ++lease) end_lease(lease->second);
  for (const std::uint64_t id : owned_by(session)) leave_export(id);
  leaving_ = 0;
  std::erase_if(losses, [session](const NaiveLoss& loss) { return loss.session == session; });
  sessions.erase(session);
}

void NaiveModel::claim(std::uint64_t id, std::uint64_t session, Lifetime lifetime, std::uint64_t linger_ns) {
  NaiveExport& e = exports.at(id);
  e.generation = next_generation(e);
  if (!e.name.empty()) names_[name_key(e)].generation = e.generation;
  e.state = ExportState::kLive;
  e.session = session;
  e.order = next_order();
  e.lifetime = lifetime;
  e.linger_ns = linger_ns;
  e.linger_end = kNever;
  for (const std::uint64_t lease : leases_of(id)) {
    leases.at(lease).current = false;
    tell(lease, EventKind::kClaimed);
  }
}

// --- sleep and change -------------------------------------------------------------------------------

void NaiveModel::suspend(std::uint64_t id) {
  NaiveExport& e = exports.at(id);
  e.state = ExportState::kSuspended;
  ++e.layout_version;
  for (const std::uint64_t lease : leases_of(id)) {
    leases.at(lease).current = false;
    leases.at(lease).unmap_asked = true;
    tell(lease, EventKind::kSuspended);
  }
}

void NaiveModel::unmapped(std::uint64_t id, std::uint64_t layout_version) {
  NaiveLease& lease = leases.at(id);
  if (layout_version != 0 && layout_version != exports.at(lease.id).layout_version) return;
  lease.unmap_asked = false;
  settle(lease.id);
}

void NaiveModel::change(const NaiveChange& change) {
  using Kind = ChangeRequest::Kind;
  NaiveExport& e = exports.at(change.id);
  // Who waits for holders to unmap hears who had not, before they are asked to come back.
  for (std::size_t i = 0; change.kind == Kind::kResume && i < waits.size();)
    if (waits[i].id == change.id && waits[i].kind == NaiveWait::Kind::kUnmapped)
      answer_wait(i, answer_to(waits[i]));
    else
      ++i;
  ++e.layout_version;
  const ChunkRun run{change.first, change.chunks.size()};
  if (change.kind == Kind::kAppend) {
    e.chunks.insert(e.chunks.end(), change.chunks.begin(), change.chunks.end());
  } else {
    std::copy(change.chunks.begin(), change.chunks.end(),
              e.chunks.begin() + static_cast<std::ptrdiff_t>(change.first));
    e.changes.emplace_back(e.layout_version, run);
    e.state = ExportState::kLive;
  }
  for (const std::uint64_t id : leases_of(change.id)) {
    NaiveLease& lease = leases.at(id);
    const auto [first, end] = e.chunks_of(lease.offset, lease.length);
    const std::uint64_t from = std::max(first, run.first);
    const std::uint64_t to = std::min(end, run.first + run.count);
    if (change.kind == Kind::kResume) {
      lease.unmap_asked = false;
      tell(id, EventKind::kResumed);
    } else if (change.kind == Kind::kAppend && lease.follows) {
      lease.grown = true;
      tell(id, EventKind::kGrown);
    } else if (change.kind == Kind::kReplace && from < to) {
      lease.current = false;
      tell(id, EventKind::kReplaced, {from, to - from});
    }
  }
}

void NaiveModel::refresh(std::uint64_t id, const Expected& to, std::uint32_t value) {
  NaiveLease& lease = leases.at(id);
  lease.length = to.length;
  lease.value = value;
  lease.current = true;
  lease.grown = false;
  lease.layout_version = exports.at(lease.id).layout_version;
  // It is at the present layout and generation: only that the owner has gone is news still.
  if (exports.at(lease.id).ended()) {
    lease.current = false;
    return;
  }
  const bool orphaned = exports.at(lease.id).state == ExportState::kOrphaned;
  std::erase_if(lease.untold,
                [&](const auto& entry) { return !orphaned || entry.first != EventKind::kOwnerDied; });
}

// --- tickets ----------------------------------------------------------------------------------------

void NaiveModel::end_ticket(std::uint64_t id, bool revoked) {
  NaiveTicket& ticket = tickets.at(id);
  ticket.stands = false;
  ticket.revoked = revoked;
  settle(ticket.id);
  settle_end(ticket.id);
}

void NaiveModel::drop_pins(std::uint64_t id, bool revoked) {
  for (const std::uint64_t lease : leases_of(id)) leases.at(lease).pins = false;
  for (const std::uint64_t ticket : tickets_of(id)) end_ticket(ticket, revoked);
}

// --- steps ------------------------------------------------------------------------------------------

void NaiveModel::publish(std::uint64_t id, std::uint64_t step) {
  exports.at(id).step = step;
  exports.at(id).departed.clear();
  settle(id);
}

void NaiveModel::ack(std::uint64_t id, std::uint64_t step) {
  NaiveLease& lease = leases.at(id);
  lease.acked = std::max(lease.acked, step);
  settle(lease.id);
}

}  // namespace hb::test
