// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The core and its effects: owns the Broker and the descriptors, carries out what the core decides, in order,
// and tells the core what became of it. Single-threaded, except that closer threads post to its io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/broker.h"
#include "ipc/continuity.h"
#include "ipc/edge_error.h"
#include "ipc/far_receive.h"
#include "ipc/handle_store.h"
#include "ipc/in_flight.h"
#include "ipc/outbox.h"
#include "ipc/scope.h"
#include "ipc/translate_reply.h"
#include "ipc/unanswered.h"
#include "observe/audit.h"
#include "os/closer.h"
#include "os/handle_probe.h"
#include "policy/policy.h"
#include "policy/set_quotas.h"
#include "wire/frame.h"

namespace hb::ipc {

[[nodiscard]] core::Time monotonic_now();

// What the engine sees of a session. None of these calls apply(), connect() or disconnect().
class Recipient {
 public:
  virtual ~Recipient() = default;
  [[nodiscard]] virtual Unanswered::Who who() const = 0;
  virtual void deliver(const OutFrame& frame) = 0;
  virtual void set_validity(std::uint32_t slot, std::uint32_t value) = 0;
  // `handles` are sorted.
  virtual void drop_handles(std::span<const core::HandleId> handles, const Outbox::GoneFrame& gone) = 0;
  // Sends `frame` with one descriptor more, a new doorbell that takes the place of the old; or an error.
  virtual void subscribe(const OutFrame& frame) = 0;
  virtual void ring() = 0;
  // Of a request that the core was not asked for.
  virtual void refuse(std::uint64_t request_id, const EdgeError& error) = 0;
  // Its client would go on with a daemon started again, and can.
  [[nodiscard]] virtual bool outlives() const = 0;
};

[[nodiscard]] std::shared_ptr<const policy::Policy> built_in_policy();

class Engine {
 public:
  Engine(boost::asio::io_context& io, const core::BrokerConfig& config, std::vector<os::DriverRule> drivers,
         std::shared_ptr<const policy::Policy> policy = built_in_policy(),
         std::unique_ptr<Continuity> continuity = nullptr);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  // --- sessions ---------------------------------------------------------------------------------
  // Rights and limits of `principal` come from the policy, by the name of its scope in `process`.
  [[nodiscard]] tl::expected<core::SessionId, core::Error> connect(const core::Principal& principal,
                                                                   core::ProcessInfo process,
                                                                   Recipient& recipient);
  void disconnect(core::SessionId session);
  // Recorded with the session.
  void note_edge(core::SessionId session, std::uint64_t edge);
  void note_unanswered(core::SessionId session, std::uint64_t request_id) {
    broker_->note_unanswered(session, request_id);
  }
  void apply(core::SessionId session, std::uint64_t request_id, FrameType type, core::Request request);
  void add_scope(core::ScopeId scope, const std::string& name, const core::LimitSet& total);
  // No session of it is left. Everything else that is in it ends.
  void remove_scope(core::ScopeId scope);
  [[nodiscard]] core::Broker::ScopeUse scope_use(core::ScopeId scope) const {
    return broker_->scope_use(scope).value_or(core::Broker::ScopeUse{});
  }
  // Sent once all memory that was let go of until now is closed.
  void deliver_after_close(core::SessionId session, const OutFrame& frame);
  // The session has frames waiting, or none any more.
  void set_backlogged(Recipient& recipient, bool backlogged);

  [[nodiscard]] const policy::Policy& policy() const { return *policy_; }
  // Every live session has its rights and limits by this one from now on: how many there are. What exists
  // stays.
  std::uint64_t set_policy(std::shared_ptr<const policy::Policy> policy);
  // Before those of the policy; all that were set so far are gone. Of how many live sessions `counts` is
  // true.
  std::uint64_t set_quotas(policy::SetQuotas quotas, const std::function<bool(const policy::Who&)>& counts);
  // Of all principals of it together.
  void set_scope_limits(core::ScopeId scope, const core::LimitSet& total) {
    broker_->set_scope_limits(scope, total);
  }

  [[nodiscard]] std::optional<core::AccessExplained> explain(const core::Principal& who,
                                                             const core::NameRef& name) const {
    return broker_->explain(who, name);
  }

  // Before anything but the uid is known: rules for groups do not count.
  [[nodiscard]] std::uint64_t limit_at_the_door(const Scope& scope, std::uint32_t uid,
                                                core::Resource resource) const;
  // By name: the one that is there always is "main".
  [[nodiscard]] std::optional<core::ScopeId> find_scope(std::string_view name) const;
  // os::kSandbox bits, for those who ask.
  void set_sandbox(std::uint32_t layers) { sandbox_ = layers; }

  // --- descriptors ------------------------------------------------------------------------------
  struct BadHandle {
    std::size_t index = 0;
    std::string reason;
  };
  // Finds out what each is and keeps all, or none: then every one is on its way to a closer.
  [[nodiscard]] tl::expected<std::vector<core::HandleFacts>, BadHandle> admit(std::vector<UniqueFd> fds,
                                                                              const Payer& payer);
  void dispose(std::vector<UniqueFd> fds, const Payer& payer);
  // Closing a socket closes what is unread in it: never on the loop. `closed` runs on the loop afterwards.
  void close_socket(const Payer& payer, UniqueFd socket, std::function<void()> closed);
  // The socket of a session that has ended, once its peer has read what it was sent.
  void close_socket(InFlight::Line& line, const Payer& payer, UniqueFd socket, std::function<void()> closed);
  [[nodiscard]] bool quarantine_full(const Payer& payer) const {
    return closer_.quarantine_full(closer_key(payer));
  }
  [[nodiscard]] const HandleStore& handles() const { return handles_; }

  // Whether there are numbers for all descriptors that one frame may bring.
  [[nodiscard]] bool frame_fits() const;
  // Receives where it may block; `done` runs on the loop, unless stop() was called.
  void receive_elsewhere(const Payer& payer, BorrowedFd socket, std::shared_ptr<FarReceive> packet,
                         std::function<void()> done);
  [[nodiscard]] Unanswered& unanswered() { return unanswered_; }
  [[nodiscard]] InFlight& in_flight() { return in_flight_; }

  // --- descriptor budget ------------------------------------------------------------------------
  // Descriptors of the edge: sessions before their Hello, reopened handles, those being closed.
  void note_fds(std::int64_t change) { broker_->note_extra_fds(change); }
  [[nodiscard]] bool has_room(std::uint64_t fds) const;
  [[nodiscard]] EdgeError no_fds(const std::string& message) const;
  // `what` could not be made: NO_FDS where descriptors are the reason.
  [[nodiscard]] EdgeError system_error(const std::string& what, const SysError& cause) const;
  [[nodiscard]] std::uint64_t session_budget() const;  // sessions that fit beside nothing else

  [[nodiscard]] ReplyWriter& writer() { return writer_; }
  [[nodiscard]] const core::BrokerConfig& config() const { return config_; }
  [[nodiscard]] std::uint64_t uptime_ns() const { return monotonic_now() - started_; }
  [[nodiscard]] core::Counters counters() const { return broker_->counters(); }

  // --- restarts (engine_restart.cc) ---------------------------------------------------------------
  [[nodiscard]] Continuity& continuity() { return *continuity_; }
  [[nodiscard]] Continuity::State continuity_state() const { return continuity_->state(); }
  // Before anything else, once every scope is added. What is wrong with the records, else empty; then the
  // broker knows nothing, and gives no id out that one before it gave.
  [[nodiscard]] std::string restore(const core::RecordSet& records, const core::record::Floors& floors);
  // Takes those handles that the records know, as they were; the rest stays in `parked`. Those that are
  // missing.
  [[nodiscard]] std::vector<core::HandleId> adopt_handles(std::vector<restart::Restored>& parked);
  // Their exports wait until then for their owners.
  void lose_handles(const std::vector<core::HandleId>& missing, core::Time until);
  [[nodiscard]] std::vector<core::Broker::Restored> restored_sessions() const { return broker_->sessions(); }
  // One of them goes on, with this recipient.
  void resume(const core::Broker::Restored& session, Recipient& recipient);
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> words_of(core::SessionId session) const {
    return broker_->words_of(session);
  }
  [[nodiscard]] std::vector<core::ExportId> awaited_of(core::SessionId session) const {
    return broker_->awaited_of(session);
  }
  // One has no connection any more: its process may come back until then.
  void await_owner(core::SessionId session, core::Time until);
  [[nodiscard]] std::uint64_t awaited() const { return broker_->awaited(); }
  void lose_events();
  // No new exports, and no new sessions but the admin's.
  void set_draining(bool draining) { draining_ = draining; }
  [[nodiscard]] bool draining() const { return draining_; }
  // Why the edge does not pass it on.
  [[nodiscard]] std::optional<EdgeError> refuse_early(core::SessionId session,
                                                      const core::Request& request) const;
  struct Losses {  // by a restart now
    std::uint64_t exports = 0;
    std::uint64_t uploads = 0;
    std::uint64_t sessions = 0;
  };
  [[nodiscard]] Losses losses(core::SessionId admin);

  // --- audit ------------------------------------------------------------------------------------
  // Of what the core does not see: refusals of the edge, what an admin changed.
  void note(core::Audit audit);
  [[nodiscard]] observe::AuditTrail& audit() { return audit_; }

  // No callback of a closer thread any more; sessions must have ended.
  void stop();

 private:
  // Ids of scopes count up from 1.
  [[nodiscard]] static std::uint64_t closer_key(const Payer& payer) {
    return payer.scope.value << 32 | payer.uid;
  }
  struct Live {
    Recipient* recipient = nullptr;
    std::string scope;  // its name
  };
  void set_terms();  // of every live session, by policy and quotas as they are
  struct Parked {    // answers that wait for a close
    core::SessionId session;
    Unanswered::Who who;
    QueuedFrame frame;
  };
  void carry_out();
  void carry_out_close(const core::CloseHandles& close, std::vector<UniqueFd>& closing);
  void close_memory(std::vector<UniqueFd> fds, std::vector<Parked> parked);
  void closed(std::uint64_t batch, std::size_t fds);
  void deliver(const std::vector<Parked>& answers);
  void send(const core::Reply& reply, std::vector<Parked>* park);
  [[nodiscard]] EdgeCounters edge_counters(const core::Reply& reply);
  [[nodiscard]] std::uint64_t unsafe_exports(core::SessionId admin);
  [[nodiscard]] bool is_unsafe(const core::ExportInfo& info) const;
  void add_restart_counters(EdgeCounters& counters) const;
  [[nodiscard]] std::uint64_t numbers_to_receive() const;
  // Of an acquire or a refresh.
  template <class Request>
  [[nodiscard]] tl::expected<void, EdgeError> add_read_only_facts(core::SessionId session, Request& request);
  [[nodiscard]] tl::expected<core::Level, EdgeError> read_only_level(
      const core::Broker::Candidate& candidate);
  void arm_deadline();
  void arm_audit();

  boost::asio::io_context& io_;
  boost::asio::steady_timer deadline_;
  core::Time armed_for_ = core::kNever;
  observe::AuditTrail audit_;
  boost::asio::steady_timer audit_timer_;
  core::Time audit_armed_for_ = core::kNever;
  core::BrokerConfig config_;
  std::vector<os::DriverRule> drivers_;
  std::shared_ptr<const policy::Policy> policy_;
  policy::SetQuotas quotas_;
  std::uint32_t sandbox_ = 0;
  std::unique_ptr<core::Broker> broker_;
  HandleStore handles_;
  ReplyWriter writer_;
  core::Effects effects_;               // reused
  std::vector<OutHandle> out_handles_;  // reused
  core::Time started_;
  std::unordered_map<core::SessionId, Live> sessions_;
  std::map<std::string, core::ScopeId, std::less<>> scopes_;  // besides the main one
  std::unordered_set<Recipient*> backlogged_;
  std::map<std::uint64_t, std::vector<Parked>> parked_;  // by batch of the memory lane
  std::uint64_t last_batch_ = 0;
  std::uint64_t last_closed_ = 0;  // batch
  Unanswered unanswered_;
  InFlight in_flight_;
  std::unique_ptr<Continuity> continuity_;
  bool draining_ = false;
  os::Closer closer_;
};

}  // namespace hb::ipc
