// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/engine.h"

#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>

#include "ipc/method_table.h"
#include "observe/log.h"
#include "os/unread.h"
#include "restart/crash_point.h"
#include "wire/limits.h"

namespace hb::ipc {

// steady_clock is CLOCK_MONOTONIC here; deadlines of timers and of the core are of one clock.
core::Time monotonic_now() {
  return static_cast<core::Time>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count());
}

namespace {

core::BrokerConfig completed(core::BrokerConfig config, const Continuity* continuity) {
  config.retries = true;
  config.records = continuity != nullptr && continuity->records();
  return config;
}

// What a principal may do and use.
struct Terms {
  core::Rights rights;
  std::shared_ptr<const core::LimitSet> limits;
};

policy::Who who_of(const core::Principal& principal, const std::string& scope) {
  return {scope.empty() ? policy::kMainScope : std::string_view(scope), principal.uid, principal.groups};
}

// The admin socket is under no policy: who mends a node must not be kept out by what is wrong with it.
Terms terms_of(const policy::Policy& policy, const policy::SetQuotas& quotas,
               const core::Principal& principal, const std::string& scope) {
  static const auto kUnlimited = std::make_shared<const core::LimitSet>(core::LimitSet::unlimited());
  if (principal.admin) return {core::Rights::all(), kUnlimited};
  const policy::Who who = who_of(principal, scope);
  Terms terms{policy.rights_of(who), policy.limits_of(who)};
  if (!quotas.concerns(who)) return terms;
  core::LimitSet limits = *terms.limits;
  quotas.fill_into(limits, who);
  terms.limits = std::make_shared<const core::LimitSet>(limits);
  return terms;
}

}  // namespace

std::shared_ptr<const policy::Policy> built_in_policy() {
  return std::make_shared<const policy::Policy>(policy::Policy::built_in());
}

Engine::Engine(boost::asio::io_context& io, const core::BrokerConfig& config,
               std::vector<os::DriverRule> drivers, std::shared_ptr<const policy::Policy> policy,
               std::unique_ptr<Continuity> continuity)
    : io_(io),
      deadline_(io),
      audit_timer_(io),
      config_(completed(config, continuity.get())),
      drivers_(std::move(drivers)),
      policy_(std::move(policy)),
      broker_(std::make_unique<core::Broker>(config_)),
      started_(monotonic_now()),
      in_flight_(io, config.fd_limit),
      continuity_(continuity ? std::move(continuity) : std::make_unique<Continuity>()) {
  continuity_->attach(handles_, in_flight_);
}

Engine::~Engine() { stop(); }

void Engine::stop() {
  in_flight_.stop();
  closer_.stop();
  deadline_.cancel();
  audit_timer_.cancel();
  audit_.flush_all();
}

// --- sessions -------------------------------------------------------------------------------------

tl::expected<core::SessionId, core::Error> Engine::connect(const core::Principal& principal,
                                                           core::ProcessInfo process, Recipient& recipient) {
  Live live{&recipient, process.scope_name};
  core::Principal bound = principal;
  const Terms terms = terms_of(*policy_, quotas_, principal, live.scope);
  bound.rights = terms.rights;
  bound.limits = terms.limits;
  auto session = broker_->connect(bound, std::move(process), monotonic_now());
  if (session) sessions_.emplace(*session, std::move(live));
  return session;
}

std::uint64_t Engine::set_policy(std::shared_ptr<const policy::Policy> policy) {
  policy_ = std::move(policy);
  set_terms();
  return sessions_.size();
}

std::uint64_t Engine::set_quotas(policy::SetQuotas quotas,
                                 const std::function<bool(const policy::Who&)>& counts) {
  quotas_ = std::move(quotas);
  set_terms();
  std::uint64_t count = 0;
  for (const auto& [id, live] : sessions_) {
    const core::Principal* principal = broker_->principal_of(id);
    if (principal != nullptr && !principal->admin && counts(who_of(*principal, live.scope))) ++count;
  }
  return count;
}

std::uint64_t Engine::limit_at_the_door(const Scope& scope, std::uint32_t uid,
                                        core::Resource resource) const {
  core::Principal principal;
  principal.uid = uid;
  return terms_of(*policy_, quotas_, principal, scope.name).limits->of(resource);
}

void Engine::set_terms() {
  for (const auto& [id, live] : sessions_) {
    const core::Principal* principal = broker_->principal_of(id);
    if (principal == nullptr) continue;
    Terms terms = terms_of(*policy_, quotas_, *principal, live.scope);
    broker_->set_terms(id, terms.rights, std::move(terms.limits));
  }
}

std::optional<core::ScopeId> Engine::find_scope(std::string_view name) const {
  if (name == policy::kMainScope) return core::ScopeId();
  const auto found = scopes_.find(name);
  return found == scopes_.end() ? std::nullopt : std::optional(found->second);
}

void Engine::disconnect(core::SessionId session) {
  // None is there of one that another daemon had and that does not go on here.
  if (const auto found = sessions_.find(session); found != sessions_.end()) {
    backlogged_.erase(found->second.recipient);
    sessions_.erase(found);
  }
  broker_->disconnect(session, monotonic_now(), effects_);
  carry_out();
}

void Engine::apply(core::SessionId session, std::uint64_t request_id, FrameType type, core::Request request) {
  tl::expected<void, EdgeError> added;
  if (auto* acquire = std::get_if<core::AcquireRequest>(&request)) {
    if (acquire->access == core::Access::kRead) added = add_read_only_facts(session, *acquire);
  } else if (auto* refresh = std::get_if<core::RefreshRequest>(&request)) {
    added = add_read_only_facts(session, *refresh);
  }
  if (!added) {
    const auto recipient = sessions_.find(session);
    if (recipient != sessions_.end()) recipient->second.recipient->refuse(request_id, added.error());
    return;
  }
  broker_->apply(session, request_id, static_cast<std::uint16_t>(type), std::move(request), monotonic_now(),
                effects_);
  restart::crash_point(restart::CrashPoint::kApplied);
  carry_out();
}

void Engine::add_scope(core::ScopeId scope, const std::string& name, const core::LimitSet& total) {
  if (broker_->add_scope(scope, name, total)) scopes_.emplace(name, scope);
}

void Engine::remove_scope(core::ScopeId scope) {
  std::erase_if(scopes_, [scope](const auto& entry) { return entry.second == scope; });
  broker_->remove_scope(scope, monotonic_now(), effects_);
  carry_out();
}

void Engine::deliver_after_close(core::SessionId session, const OutFrame& frame) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  const Unanswered::Who who = found->second.recipient->who();
  unanswered_.add(who);
  std::vector<Parked> parked;
  parked.push_back({session, who, QueuedFrame::copy_of(frame)});
  if (last_closed_ == last_batch_) return deliver(parked);
  std::vector<Parked>& last = parked_[last_batch_];
  std::move(parked.begin(), parked.end(), std::back_inserter(last));
}

void Engine::set_backlogged(Recipient& recipient, bool backlogged) {
  if (backlogged) {
    backlogged_.insert(&recipient);
  } else {
    backlogged_.erase(&recipient);
  }
}

// --- effects --------------------------------------------------------------------------------------

void Engine::carry_out() {
  std::vector<UniqueFd> closing;
  std::vector<Parked> parked;
  std::vector<core::Retry> retries;
  continuity_->settle(*broker_, effects_);
  for (core::Effect& effect : effects_) {
    if (auto* retry = std::get_if<core::Retry>(&effect)) {
      retries.push_back(std::move(*retry));
    } else if (const auto* validity = std::get_if<core::SetValidity>(&effect)) {
      const auto session = sessions_.find(validity->session);
      if (session != sessions_.end())
        session->second.recipient->set_validity(validity->slot, validity->value);
    } else if (const auto* close = std::get_if<core::CloseHandles>(&effect)) {
      carry_out_close(*close, closing);
    } else if (const auto* ring = std::get_if<core::Ring>(&effect)) {
      const auto session = sessions_.find(ring->session);
      if (session != sessions_.end()) session->second.recipient->ring();
    } else if (auto* audit = std::get_if<core::Audit>(&effect)) {
      note(std::move(*audit));
    } else {
      const auto& reply = std::get<core::Reply>(effect);
      send(reply, reply.after_close ? &parked : nullptr);
    }
  }
  effects_.clear();
  restart::crash_point(restart::CrashPoint::kCarriedOut);
  if (!closing.empty()) {
    close_memory(std::move(closing), std::move(parked));
  } else if (last_closed_ != last_batch_) {
    // Who waited for holders is answered later than the memory is let go of, and perhaps before it is closed.
    // Batches are closed in their order.
    std::vector<Parked>& last = parked_[last_batch_];
    std::move(parked.begin(), parked.end(), std::back_inserter(last));
  } else {
    deliver(parked);
  }
  // One level deep: what is applied with its facts is answered.
  for (core::Retry& retry : retries) {
    apply(retry.session, retry.request_id, static_cast<FrameType>(retry.frame_type),
          std::move(retry.request));
  }
  arm_deadline();
}

void Engine::carry_out_close(const core::CloseHandles& close, std::vector<UniqueFd>& closing) {
  if (!backlogged_.empty()) {
    const Outbox::GoneFrame gone = [this](std::uint64_t request_id) {
      const auto bytes =
          writer_.error(request_id, edge_error(HB_GONE, "the export ended before the answer could be sent"));
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    std::vector<core::HandleId> ended = close.handles;
    std::sort(ended.begin(), ended.end());
    for (Recipient* recipient : backlogged_) recipient->drop_handles(ended, gone);
  }
  for (const core::HandleId handle : close.handles) {
    if (handles_.get_read_only(handle) != nullptr) note_fds(-1);
    handles_.take(handle, closing);
  }
}

// The core has given the descriptors back to its budget; they count again until they are really closed.
void Engine::close_memory(std::vector<UniqueFd> fds, std::vector<Parked> parked) {
  const std::uint64_t batch = ++last_batch_;
  const std::size_t count = fds.size();
  if (!parked.empty()) parked_.emplace(batch, std::move(parked));
  note_fds(static_cast<std::int64_t>(count));
  closer_.close_memory(std::move(fds), [this, batch, count] {
    boost::asio::post(io_, [this, batch, count] { closed(batch, count); });
  });
}

void Engine::closed(std::uint64_t batch, std::size_t fds) {
  note_fds(-static_cast<std::int64_t>(fds));
  last_closed_ = batch;
  const auto found = parked_.find(batch);
  if (found == parked_.end()) return;
  deliver(found->second);
  parked_.erase(found);
}

void Engine::deliver(const std::vector<Parked>& answers) {
  for (const Parked& answer : answers) {
    unanswered_.remove(answer.who);
    const auto session = sessions_.find(answer.session);
    if (session == sessions_.end()) continue;
    session->second.recipient->deliver({answer.frame.request_id, answer.frame.bytes, {}});
  }
}

// A reply points into the core's tables: it is turned into bytes now, even when it is sent later.
void Engine::send(const core::Reply& reply, std::vector<Parked>* park) {
  if (reply.request_id == 0) return;  // one-way
  const auto session = sessions_.find(reply.session);
  if (session == sessions_.end()) return;
  OutFrame frame;
  frame.request_id = reply.request_id;
  frame.bytes = writer_.reply(reply, edge_counters(reply));
  out_handles_.clear();
  append_handles(reply.body, out_handles_);
  // What fits no frame became an error, which carries nothing.
  const auto written = decode_frame(frame.bytes);
  const bool whole = !written || written->header.type != FrameType::kError;
  if (whole) frame.handles = out_handles_;
  if (whole && std::holds_alternative<core::Subscribed>(reply.body))
    return session->second.recipient->subscribe(frame);
  if (park != nullptr) {
    const Unanswered::Who who = session->second.recipient->who();
    unanswered_.add(who);
    park->push_back({reply.session, who, QueuedFrame::copy_of(frame)});
  } else {
    session->second.recipient->deliver(frame);
  }
}

EdgeCounters Engine::edge_counters(const core::Reply& reply) {
  EdgeCounters counters;
  if (const auto* shown = std::get_if<core::Shown>(&reply.body)) {
    counters.shown_unsafe = is_unsafe(shown->info);
  }
  if (!std::holds_alternative<core::Counters>(reply.body)) return counters;
  counters.uptime_ns = uptime_ns();
  counters.fds_used = broker_->fds_used();
  counters.fds_limit = config_.fd_limit;
  counters.fds_reserve = limits::fd_reserve(config_.fd_limit);
  counters.closing = closer_.closing();
  counters.quarantined = closer_.quarantined();
  in_flight_.look_at_oldest();
  counters.in_flight = in_flight_.unread();
  counters.in_flight_limit = in_flight_.budget();
  counters.answers_waiting = in_flight_.waiting();
  counters.sockets_unread = in_flight_.kept();
  const observe::Writer::Totals written = observe::process_writer().totals();
  counters.log_waiting = written.waiting;
  counters.log_dropped = written.log_dropped;
  counters.audit_dropped = written.audit_dropped;
  counters.audit_told = audit_.told();
  counters.sandbox = sandbox_;
  add_restart_counters(counters);
  return counters;
}

void Engine::arm_deadline() {
  const core::Time next = broker_->next_deadline();
  if (next == armed_for_) return;
  armed_for_ = next;
  if (next == core::kNever) {
    deadline_.cancel();
    return;
  }
  deadline_.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(next)));
  deadline_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    armed_for_ = core::kNever;
    broker_->tick(monotonic_now(), effects_);
    carry_out();
  });
}

// --- audit ----------------------------------------------------------------------------------------

void Engine::note(core::Audit audit) {
  if (const Method* method = find_method(static_cast<FrameType>(audit.frame_type))) audit.verb = method->name;
  audit_.add(std::move(audit), monotonic_now());
  arm_audit();
}

void Engine::arm_audit() {
  const core::Time next = audit_.next_flush();
  if (next == audit_armed_for_) return;
  audit_armed_for_ = next;
  if (next == core::kNever) {
    audit_timer_.cancel();
    return;
  }
  audit_timer_.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(next)));
  audit_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    audit_armed_for_ = core::kNever;
    audit_.flush(monotonic_now());
    arm_audit();
  });
}

// --- read-only levels -----------------------------------------------------------------------------

template <class Request>
tl::expected<void, EdgeError> Engine::add_read_only_facts(core::SessionId session, Request& request) {
  const auto candidates = broker_->readonly_candidates(session, request);
  request.facts.reserve(candidates.size());
  for (const core::Broker::Candidate& candidate : candidates) {
    const auto level = read_only_level(candidate);
    if (!level) return tl::unexpected(level.error());
    request.facts.push_back({candidate.allocation, *level});
  }
  return {};
}

// Checked at every grant: the owner can change the file's mode at any time. Where the mode keeps the reader
// from writing and the daemon cannot reopen the file, the answer is an error: the descriptor that is there
// would give the reader write access that its owner has refused.
tl::expected<core::Level, EdgeError> Engine::read_only_level(const core::Broker::Candidate& candidate) {
  const core::HandleFacts* facts = handles_.facts(candidate.handle);
  if (facts == nullptr || facts->kind != core::HandleKind::kMemfd) return core::Level::kIntent;
  if (facts->sealed) return core::Level::kSealed;
  // Root writes any file, and the owner may change its mode back.
  if (candidate.reader_uid == 0 || candidate.reader_uid == candidate.owner_uid) return core::Level::kIntent;
  const auto file = os::reopen_facts(*handles_.get(candidate.handle));
  if (!file || file->owner_uid != candidate.owner_uid || (file->mode & (S_IWGRP | S_IWOTH)) != 0) {
    return core::Level::kIntent;
  }
  if (!facts->writable) return core::Level::kPerReader;  // opened O_RDONLY by its exporter
  if (handles_.get_read_only(candidate.handle) != nullptr) return core::Level::kPerReader;
  if (!has_room(1)) return tl::unexpected(no_fds("the memory could not be reopened read-only"));
  if (const auto reopened = handles_.reopen_read_only(candidate.handle); !reopened) {
    EdgeError error = edge_error(
        HB_SYSTEM, "the memory could not be reopened read-only for this reader: " + reopened.error().text() +
                       "; its exporter should give the memfd mode 0444 and hold no lease on it");
    error.sys_errno = reopened.error().code;
    error.operation = reopened.error().operation;
    return tl::unexpected(std::move(error));
  }
  note_fds(1);
  return core::Level::kPerReader;
}

}  // namespace hb::ipc
