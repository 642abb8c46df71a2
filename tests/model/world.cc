// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "model/world.h"

#include <algorithm>

#include "wire/limits.h"

namespace hb::test {

using namespace core;

namespace {

constexpr std::size_t kRemembered = 5;
constexpr Time kRememberedNs = 200;

BrokerConfig small_config() {
  BrokerConfig config;
  config.broker_id[0] = 1;
  config.master[0] = 2;
  config.fd_limit = 60;  // 15 are kept
  config.fd_base = 10;
  config.retries = true;
  config.ended_exports = kRemembered;
  config.ended_export_ns = kRememberedNs;
  return config;
}

}  // namespace

World::World() : config_(small_config()), broker_(config_), model_(kRemembered, kRememberedNs) {}

std::string World::step(const Command& c) {
  now_ += c.bytes[7] % 4;
  if (c.op() == Op::kConnect || actors_.empty()) {
    connect(c);
  } else {
    const std::size_t index = c.at(1, static_cast<std::uint32_t>(actors_.size()));
    if (c.op() == Op::kDisconnect) {
      disconnect(index);
    } else {
      if (c.op() == Op::kTick) now_ += c.bytes[2];
      pass_time();
      told_time_ = false;
      Actor& actor = actors_[index];
      switch (c.op()) {
        case Op::kExport:
          export_memory(actor, c, false);
          break;
        case Op::kExportWrong:
          export_wrong(actor, c);
          break;
        case Op::kExportPaged:
          export_memory(actor, c, true);
          break;
        case Op::kPage:
          page(actor, c, false);
          break;
        case Op::kPageWrong:
          page(actor, c, true);
          break;
        case Op::kAbort:
          abort_staging(actor, c);
          break;
        case Op::kAcquireKey:
          acquire(actor, c, true, false);
          break;
        case Op::kAcquireName:
          acquire(actor, c, false, false);
          break;
        case Op::kWait:
          acquire(actor, c, false, true);
          break;
        case Op::kFetch:
          fetch(actor, c);
          break;
        case Op::kRelease:
          release(actor, c);
          break;
        case Op::kWithdraw:
          withdraw(actor, c);
          break;
        case Op::kCancel:
          cancel(actor, c);
          break;
        case Op::kResend:
          resend(actor, c);
          break;
        case Op::kList:
          list(actor, c);
          break;
        case Op::kShow:
          show(actor, c);
          break;
        case Op::kWho:
          who(actor);
          break;
        default:
          break;
      }
      if (!told_time_) tick();
    }
  }
  compare();
  return failure_;
}

std::string World::finish() {
  while (!actors_.empty()) disconnect(0);
  compare();
  for (const auto& [handle, state] : handles_)
    if (state.second != 1) fail("handle " + std::to_string(handle) + " is left");
  return failure_;
}

void World::fail(const std::string& what) {
  if (failure_.empty()) failure_ = what;
}

void World::tick() {
  Effects effects;
  broker_.tick(now_, effects);
  carry_out(effects);
}

void World::pass_time() {
  for (std::size_t i = 0; i < model_.waits.size();) {
    const NaiveWait wait = model_.waits[i];
    if (wait.deadline > now_) {
      ++i;
      continue;
    }
    expect_answer(SessionId{wait.session}, wait.request_id, judge_status(HB_TIMEOUT));
    model_.waits.erase(model_.waits.begin() + static_cast<std::ptrdiff_t>(i));
  }
  model_.pass_time(now_);
}

void World::expect_answer(SessionId session, std::uint64_t id, Judge judge) {
  expected_[{session.value, id}] = std::move(judge);
}

void World::send(Actor& actor, Request request, std::vector<Object> objects, Judge judge) {
  const std::uint64_t id = ++actor.last_request;
  if (std::holds_alternative<ExportRequest>(request) ||
      std::holds_alternative<ExportChunksRequest>(request) ||
      std::holds_alternative<AcquireRequest>(request) || std::holds_alternative<WithdrawRequest>(request)) {
    Sent& sent = actor.mutating[id];
    sent.request = request;
    sent.objects = objects;
  }
  attach(request, objects);
  if (judge) expect_answer(actor.session, id, std::move(judge));
  apply(actor.session, id, std::move(request));
}

void World::apply(SessionId session, std::uint64_t id, Request request) {
  if (auto* acquire = std::get_if<AcquireRequest>(&request))
    for (const Broker::Candidate& candidate : broker_.readonly_candidates(session, *acquire)) {
      const auto handle = handles_.find(candidate.handle.value);
      if (handle == handles_.end() || handle->second.second != 0) return fail("a candidate that is not open");
      acquire->facts.push_back({candidate.allocation, handle->second.first.fact()});
    }
  told_time_ = true;
  Effects effects;
  broker_.apply(session, id, 7, std::move(request), now_, effects);
  carry_out(effects);
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
    } else {
      retries.push_back(std::get<Retry>(effect));
    }
  }
  for (Retry& retry : retries) {
    if (!model_.sessions.contains(retry.session.value)) fail("a retry of a dead session");
    apply(retry.session, retry.request_id, std::move(retry.request));
  }
}

void World::judge(const Reply& reply) {
  if (!model_.sessions.contains(reply.session.value)) return fail("an answer to a dead session");
  if (reply.frame_type != 7) return fail("an answer of another frame type");
  if (const auto* error = std::get_if<Error>(&reply.body)) check_error(*error);
  const auto found = expected_.find({reply.session.value, reply.request_id});
  if (found == expected_.end()) return fail("an answer nobody waits for");
  const Judge judge = std::move(found->second);
  expected_.erase(found);
  judge(reply.body);
  // The first answer is what a resend must get.
  Actor* actor = actor_of(reply.session);
  const auto sent = actor->mutating.find(reply.request_id);
  if (sent == actor->mutating.end() || sent->second.answered) return;
  sent->second.answered = true;
  if (const auto* error = std::get_if<Error>(&reply.body)) sent->second.status = error->status;
  if (const auto* acquired = std::get_if<Acquired>(&reply.body)) {
    sent->second.lease = acquired->lease.value;
    sent->second.id = acquired->exported.id.value;
    sent->second.generation = acquired->exported.generation;
  }
  if (const auto* exported = std::get_if<Exported>(&reply.body)) sent->second.id = exported->id.value;
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
}

std::uint64_t World::fds_used() const { return 10 + 2 * model_.sessions.size() + model_.referenced().size(); }

std::uint64_t World::fds_promised() const {
  std::uint64_t sum = 0;
  for (const auto& [id, e] : model_.exports)
    if (e.state == NaiveState::kStaging) sum += e.total_chunks - e.chunks.size();
  return sum;
}

World::Actor* World::actor_of(SessionId session) {
  const auto found = std::find_if(actors_.begin(), actors_.end(),
                                  [&](const Actor& actor) { return actor.session == session; });
  return found == actors_.end() ? nullptr : &*found;
}

void World::compare() {
  if (!expected_.empty()) fail("an answer did not come");
  if (const std::string broken = check_invariants(broker_); !broken.empty()) fail("invariant: " + broken);
  const Counters got = broker_.counters();
  const auto objects = model_.referenced();
  const auto in_state = [&](NaiveState state) {
    return static_cast<std::uint64_t>(std::count_if(model_.exports.begin(), model_.exports.end(),
                                                    [&](const auto& e) { return e.second.state == state; }));
  };
  expect("sessions", got.sessions, model_.sessions.size());
  expect("live exports", got.exports, in_state(NaiveState::kLive));
  expect("stagings", got.stagings, in_state(NaiveState::kStaging));
  expect("allocations", got.allocations, objects.size());
  std::uint64_t bytes = 0;
  for (const auto& [object, chunks] : objects) bytes += object.bytes();
  expect("bytes", got.bytes, bytes);
  expect("leases", got.leases, model_.leases.size());
  expect("waits", got.waits, model_.waits.size());
  expect("remembered ends", got.ended_remembered, model_.ends.size());
  expect("descriptors", broker_.fds_used(), fds_used());
  std::map<Object, int> open;
  for (const auto& [handle, state] : handles_)
    if (state.second == 0) ++open[state.first];
  for (const auto& [object, count] : open)
    if (count != 1 || !objects.contains(object))
      fail("object " + std::to_string(object.inode) + " is held wrongly");
  if (open.size() != objects.size()) fail("an object in use was closed");
  std::set<std::pair<std::uint64_t, std::uint32_t>> valid;
  for (const auto& [id, lease] : model_.leases) {
    valid.insert({lease.session, lease.slot});
    if (words_[{lease.session, lease.slot}] != lease.value) fail("the word of a lease is not its value");
  }
  for (const auto& [where, value] : words_)
    if (value != 0 && model_.sessions.contains(where.first) && !valid.contains(where))
      fail("a word is valid without a lease");
}

}  // namespace hb::test
