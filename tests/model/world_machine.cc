// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Requests out, effects in, and whether both worlds are the same afterwards.
#include <algorithm>

#include "core/validity_slots.h"
#include "model/world.h"
#include "model/world_cast.h"

namespace hb::test {

using namespace core;

namespace {

bool is_remembered(const Request& request) {
  return std::holds_alternative<ExportRequest>(request) ||
         std::holds_alternative<ExportChunksRequest>(request) ||
         std::holds_alternative<AcquireRequest>(request) ||
         std::holds_alternative<WithdrawRequest>(request) || std::holds_alternative<ChangeRequest>(request) ||
         std::holds_alternative<RevokeRequest>(request) || std::holds_alternative<SuspendRequest>(request) ||
         std::holds_alternative<ClaimRequest>(request) || std::holds_alternative<PublishRequest>(request) ||
         std::holds_alternative<MakeTicketRequest>(request) ||
         std::holds_alternative<DropTicketRequest>(request) || std::holds_alternative<JoinRequest>(request);
}

std::uint64_t number_of(const Holder& holder) {
  return holder.ticket ? ticket_mark(holder.ticket.value) : holder.lease.value;
}

}  // namespace

void World::fail(const std::string& what) {
  if (failure_.empty()) failure_ = what;
}

void World::tick() {
  run([&](Effects& out) { broker_->tick(now_, out); }, {}, nullptr);
}

void World::pass_time() {
  model_.pass_time(now_);
  settle();
}

void World::settle() {
  for (const NaiveAnswer& answer : model_.answers)
    expect_answer(SessionId{answer.wait.session}, answer.wait.request_id, judge_waited(answer));
  model_.answers.clear();
}

void World::expect_answer(SessionId session, std::uint64_t id, Judge judge) {
  expected_[{session.value, id}] = std::move(judge);
}

void World::send(Actor& actor, Request request, std::vector<Object> objects, Judge judge) {
  settle();
  const std::uint64_t id = ++actor.last_request;
  if (is_remembered(request)) {
    Sent& sent = actor.mutating[id];
    sent.request = request;
    sent.objects = objects;
  }
  unanswered_[{actor.session.value, id}] = {request, objects, now_, ++sent_};
  attach(request, objects);
  if (judge) expect_answer(actor.session, id, std::move(judge));
  apply(actor.session, id, std::move(request));
}

void World::apply(SessionId session, std::uint64_t id, Request request) {
  std::vector<Broker::Candidate> candidates;
  std::vector<ReadOnlyFact>* facts = nullptr;
  if (auto* acquire = std::get_if<AcquireRequest>(&request)) {
    candidates = broker_->readonly_candidates(session, *acquire);
    facts = &acquire->facts;
  } else if (auto* refresh = std::get_if<RefreshRequest>(&request)) {
    candidates = broker_->readonly_candidates(session, *refresh);
    facts = &refresh->facts;
  }
  for (const Broker::Candidate& candidate : candidates) {
    const auto handle = handles_.find(candidate.handle.value);
    if (handle == handles_.end() || handle->second.second != 0) return fail("a candidate that is not open");
    facts->push_back({candidate.allocation, handle->second.first.fact()});
  }
  told_time_ = true;
  const Request sent = request;
  run([&](Effects& out) { broker_->apply(session, id, 7, std::move(request), now_, out); }, session, &sent);
}

void World::carry_out(Effects& effects) {
  std::vector<Retry> retries;
  for (Effect& effect : effects) {
    if (const auto* close = std::get_if<CloseHandles>(&effect)) {
      for (const HandleId handle : close->handles) {
        const auto found = handles_.find(handle.value);
        if (found == handles_.end() || ++found->second.second != 1) fail("a handle closed that was not open");
      }
    } else if (const auto* set = std::get_if<SetValidity>(&effect)) {
      if (!model_.sessions.contains(set->session.value)) fail("a validity word of a dead session");
      words_[{set->session.value, set->slot}] = set->value;
    } else if (const auto* reply = std::get_if<Reply>(&effect)) {
      judge(*reply);
    } else if (const auto* rung = std::get_if<Ring>(&effect)) {
      rings_.push_back(rung->session.value);
    } else if (const auto* audit = std::get_if<Audit>(&effect)) {
      note(*audit);
    } else {
      retries.push_back(std::get<Retry>(effect));
    }
  }
  for (Retry& retry : retries) {
    if (!model_.sessions.contains(retry.session.value)) fail("a retry of a dead session");
    apply(retry.session, retry.request_id, std::move(retry.request));
  }
}

// A set of leases is told when it begins and when it ends, once each.
void World::note(const Audit& audit) {
  if (audit.kind > AuditKind::kRevoked) fail("a record that is none of the core");
  if (resending_ || audit.process == nullptr) return;
  const auto set = std::pair(audit.process->pid, audit.exported.value);
  if (audit.kind == AuditKind::kAcquired && !lease_sets_.insert(set).second)
    fail("a set of leases told of twice");
  if (audit.kind == AuditKind::kReleased && (lease_sets_.erase(set) != 1 || audit.count == 0))
    fail("the end of a set of leases that never began");
}

void World::judge(const Reply& reply) {
  if (!model_.sessions.contains(reply.session.value)) return fail("an answer to a dead session");
  if (reply.frame_type != 7) return fail("an answer of another frame type");
  if (const auto* error = std::get_if<Error>(&reply.body)) check_error(*error);
  const auto found = expected_.find({reply.session.value, reply.request_id});
  if (found == expected_.end()) return fail("an answer nobody waits for");
  const Judge judge = std::move(found->second);
  expected_.erase(found);
  unanswered_.erase({reply.session.value, reply.request_id});
  judge(reply.body);
  // The first answer is what a resend must get.
  Actor* actor = actor_of(reply.session);
  const auto sent = actor->mutating.find(reply.request_id);
  if (sent == actor->mutating.end() || sent->second.answered) return;
  Sent& first = sent->second;
  first.answered = true;
  first.order = ++answered_;
  first.status = status_in(reply.body);
  if (const auto* acquired = std::get_if<Acquired>(&reply.body)) {
    first.lease = acquired->lease.value;
    first.id = acquired->exported.id.value;
  }
  if (const auto* exported = std::get_if<Exported>(&reply.body)) {
    first.id = exported->id.value;
    first.layout_version = exported->layout_version;
  }
  if (const auto* withdrawn = std::get_if<Withdrawn>(&reply.body))
    for (const Holder& holder : withdrawn->holders) first.holders.insert(number_of(holder));
  if (std::holds_alternative<Joined>(reply.body)) {
    const std::uint64_t group = std::get<Joined>(reply.body).group.value;
    for (const auto& [number, g] : model_.groups)
      if (g.id == group) first.joined.group = number;
    first.joined.rank = std::get<JoinRequest>(first.request).rank;
    first.joined.session = reply.session.value;
  }
  if (const auto* made = std::get_if<TicketMade>(&reply.body)) first.ticket = made->ticket;
}

void World::check_error(const Error& error) {
  for (const Secret& secret : secrets_)
    if (error.message.find(std::string(secret.begin(), secret.end())) != std::string::npos)
      fail("a secret in an error");
  for (const auto& [fields, key] : keys_)
    if (error.message.find(key_to_text(key)) != std::string::npos) fail("a key in an error");
  if (error.status != HB_OK && error.message.empty()) fail("an error without a word");
  if (error.status == HB_INTERNAL) fail("an internal error: " + error.message);
}

HandleFacts World::give(const Object& object) {
  HandleFacts facts;
  facts.id = HandleId{++last_handle_};
  facts.writable = object.writable;
  facts.sealed = object.sealed();
  facts.size_known = true;
  facts.size = object.bytes();
  facts.identity_known = true;
  facts.inode = object.inode;
  handles_[facts.id.value] = {object, 0};
  return facts;
}

void World::attach(Request& request, const std::vector<Object>& objects) {
  std::vector<HandleFacts> facts;
  for (const Object& object : objects) facts.push_back(give(object));
  if (auto* first = std::get_if<ExportRequest>(&request)) first->handles = std::move(facts);
  if (auto* more = std::get_if<ExportChunksRequest>(&request)) more->handles = std::move(facts);
  if (auto* change = std::get_if<ChangeRequest>(&request)) change->handles = std::move(facts);
}

World::Judge World::judge_status(hb_status wanted) {
  return [this, wanted](const ReplyBody& body) { expect("status", status_in(body), wanted); };
}

void World::check_holders(const std::string& what, const std::vector<Holder>& got, bool more,
                          const std::set<std::uint64_t>& wanted) {
  std::set<std::uint64_t> named;
  for (const Holder& holder : got) named.insert(number_of(holder));
  if (named.size() != got.size()) fail(what + ": one is named twice");
  if (more ? !std::includes(wanted.begin(), wanted.end(), named.begin(), named.end()) : named != wanted)
    fail(what + ": others than those it concerns");
}

World::Judge World::judge_waited(const NaiveAnswer& wanted) {
  using Kind = NaiveWait::Kind;
  return [this, wanted](const ReplyBody& body) {
    expect("waited", status_in(body), wanted.status);
    if (status_in(body) != HB_OK || wanted.status != HB_OK) return;
    if (wanted.wait.kind == Kind::kMember) {
      if (wanted.what == NaiveAnswer::What::kJoined) return judge_joined(std::get<Joined>(body), wanted.wait);
      if (wanted.what == NaiveAnswer::What::kAppended) {
        if (std::get<GroupAppended>(body).layout_versions != wanted.versions) fail("other layout versions");
        return;
      }
      if (!std::holds_alternative<GroupReady>(body)) fail("not ready");
      return;
    }
    if (wanted.wait.kind == Kind::kStep)
      return expect("step", std::get<StepWaited>(body).step, wanted.number);
    if (wanted.wait.kind == Kind::kAcks) {
      const auto& got = std::get<AcksWaited>(body);
      expect("acknowledged", got.acked, wanted.number);
      check_holders("missing acknowledgements", got.missing, got.more_missing, wanted.left);
      return check_holders("departed", got.left, got.more_left, wanted.departed);
    }
    const auto& got = std::get<Withdrawn>(body);
    expect("exports ended", got.exports, wanted.wait.exports);
    expect("holders", got.holder_count, wanted.left.size());
    check_holders("holders left", got.holders, got.more_holders, wanted.left);
    if (wanted.wait.kind == Kind::kUnmapped)
      expect("layout version of the sleep", got.layout_version, wanted.layout_version);
  };
}

Time World::deadline(std::uint64_t wait_ns) const { return wait_ns == kNever ? kNever : now_ + wait_ns; }

std::uint64_t World::fds_used() const { return 10 + 2 * model_.sessions.size() + model_.referenced().size(); }

std::uint64_t World::fds_promised() const {
  std::uint64_t sum = 0;
  for (const auto& [id, e] : model_.exports)
    if (e.staging()) sum += e.total_chunks - e.chunks.size();
  for (const NaiveChange& change : model_.changes) sum += change.total_chunks - change.chunks.size();
  return sum;
}

bool World::fds_fit(std::uint64_t more) const { return fds_used() + fds_promised() + more <= kUsableFds; }

World::Actor* World::actor_of(SessionId session) {
  const auto found = std::find_if(actors_.begin(), actors_.end(),
                                  [&](const Actor& actor) { return actor.session == session; });
  return found == actors_.end() ? nullptr : &*found;
}

NaiveAim World::aim_by_key(std::uint32_t which) const {
  NaiveAim out;
  if (keys_.empty()) {
    out.target = KeyBytes{1};
    out.key.true_key = false;
    return out;
  }
  // The youngest keys are asked for most.
  const std::size_t back = which % 2 == 0 ? which / 2 % 8 : which / 2;
  const auto& [naive, key] = keys_[keys_.size() - 1 - std::min<std::size_t>(back, keys_.size() - 1)];
  return {key, naive};
}

NaiveAim World::aim_by_name(const Command& c) const {
  NameRef name{kNames[1 + c.at(2, 3)], {}};
  if (c.at(7, 3) != 0) name.owner_uid = kUids[c.at(7, 4)];
  return {name, {}};
}

NaiveAim World::aim(const Command& c, std::size_t parameter) const {
  const std::uint32_t rest = c.rest(parameter, 3);
  switch (c.at(parameter, 3)) {
    case 0:
      if (model_.exports.empty()) return {ExportId{77}, {}};
      return {ExportId{std::next(model_.exports.begin(), rest % model_.exports.size())->first}, {}};
    case 1: {
      NameRef name{kNames[1 + rest % 3], {}};
      if (rest / 3 % 5 != 4) name.owner_uid = kUids[rest / 3 % 5];
      return {name, {}};
    }
    default:
      return rest % 11 == 10 ? aim_by_ticket(rest / 11) : aim_by_key(rest);
  }
}

std::uint64_t World::pick_export(const Actor& actor, std::uint32_t which) const {
  const std::vector<std::uint64_t> own = model_.owned_by(actor.session.value);
  if (which % 8 != 0 && !own.empty()) return own[which / 8 % own.size()];
  if (model_.exports.empty()) return 77;
  return std::next(model_.exports.begin(), which / 8 % model_.exports.size())->first;
}

std::uint64_t World::pick_lease(const Actor& actor, std::uint32_t which) const {
  std::vector<std::uint64_t> own;
  for (const auto& [id, lease] : model_.leases)
    if (lease.session == actor.session.value) own.push_back(id);
  if (which % 8 != 0 && !own.empty()) return own[which / 8 % own.size()];
  if (model_.leases.empty()) return 99;
  return std::next(model_.leases.begin(), which / 8 % model_.leases.size())->first;
}

std::uint64_t World::linger(std::uint32_t which) {
  lingers_ = lingers_ % (kTick / 2 - 1) + 1;
  return (1 + which % 64) * kTick + 2 * lingers_;
}

void World::compare() {
  if (!expected_.empty()) fail("an answer did not come");
  if (const std::string broken = check_invariants(*broker_); !broken.empty()) fail("invariant: " + broken);
  const Counters got = broker_->counters();
  const auto objects = model_.referenced();
  std::uint64_t current = 0, staged = model_.changes.size(), held = 0, bytes = 0;
  for (const auto& [id, e] : model_.exports) {
    current += e.current() ? 1 : 0;
    staged += e.staging() ? 1 : 0;
    held += e.ended() && model_.is_held(id) ? 1 : 0;
  }
  for (const auto& [object, chunks] : objects) bytes += object.bytes();
  const auto untold = [](const auto& entry) { return !entry.second.untold.empty(); };
  expect("sessions", got.sessions, model_.sessions.size());
  expect("current exports", got.exports, current);
  expect("stagings", got.stagings, staged);
  expect("ended exports that are held", got.ended_held, held);
  expect("remembered ends", got.ended_remembered, model_.ended.size());
  expect("allocations", got.allocations, objects.size());
  expect("bytes", got.bytes, bytes);
  expect("leases", got.leases, model_.leases.size());
  expect("tickets", got.tickets,
         static_cast<std::uint64_t>(std::count_if(model_.tickets.begin(), model_.tickets.end(),
                                                  [](const auto& t) { return t.second.stands; })));
  expect("groups", got.groups, model_.groups.size());
  expect("waits", got.waits, model_.waits.size());
  expect("events", got.events_pending,
         model_.losses.size() +
             static_cast<std::uint64_t>(std::count_if(model_.leases.begin(), model_.leases.end(), untold)));
  expect("descriptors", broker_->fds_used(), fds_used());
  std::map<Object, int> open;
  for (const auto& [handle, state] : handles_)
    if (state.second == 0) ++open[state.first];
  for (const auto& [object, count] : open)
    if (count != 1 || !objects.contains(object))
      fail("object " + std::to_string(object.inode) + " is held wrongly");
  if (open.size() != objects.size()) fail("an object in use was closed");
  std::sort(rings_.begin(), rings_.end());
  std::sort(model_.rings.begin(), model_.rings.end());
  if (rings_ != model_.rings) fail("other doorbells rang than those of sessions with news");
  rings_.clear();
  model_.rings.clear();
  std::set<std::pair<std::uint64_t, std::uint64_t>> sets;
  for (const auto& [id, lease] : model_.leases) sets.emplace(lease.session, lease.id);
  if (sets.size() != lease_sets_.size()) fail("the audit trail tells of other sets of leases");
  compare_words();
}

void World::compare_words() {
  std::set<std::pair<std::uint64_t, std::uint32_t>> valid;
  for (const auto& [id, lease] : model_.leases) {
    valid.insert({lease.session, lease.slot});
    const std::uint32_t wanted = !lease.current ? 0 : lease.grown ? lease.value | kGrownBit : lease.value;
    expect("the word of a lease", words_[{lease.session, lease.slot}], wanted);
  }
  for (const auto& [where, value] : words_)
    if (value != 0 && model_.sessions.contains(where.first) && !valid.contains(where))
      fail("a word is valid without a lease");
}

}  // namespace hb::test
