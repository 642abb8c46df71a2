// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The real core and the naive model side by side: every command goes to both, every effect is checked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/broker.h"
#include "model/broker_command.h"
#include "model/naive_model.h"
#include "support/record_memory.h"

namespace hb::test {

class World {
 public:
  World();

  // Empty, or what is wrong first.
  std::string step(const Command& command);
  // All sessions leave, and what outlives them is taken back: nothing may stay.
  std::string finish();

 private:
  using Judge = std::function<void(const core::ReplyBody&)>;
  // A mutating request and its first answer, which a resend must get again.
  struct Sent {
    core::Request request;  // without handles
    std::vector<Object> objects;
    hb_status status = HB_OK;
    std::uint64_t lease = 0;
    std::uint64_t id = 0;
    std::uint64_t layout_version = 0;
    std::set<std::uint64_t> holders;
    KeyBytes ticket{};
    NaiveWait joined;  // of a join that was answered with the group
    bool answered = false;
    std::uint64_t order = 0;  // of being answered
  };
  struct Actor {
    core::SessionId session;
    std::uint64_t last_request = 0;
    std::map<std::uint64_t, Sent> mutating;  // by request id
  };

  // --- sessions, time (world.cc) -----------------------------------------------------------------------
  void connect(const core::Principal& principal);
  void disconnect(std::size_t actor);
  void set_terms(Actor& actor, const Command& c);
  void remove_scope();
  // Sends what the policy forbids, instead of the command.
  void forbidden(Actor& actor, core::Verb verb);
  void carry_out(Actor& actor, const Command& c);
  void carry_out_of_life(Actor& actor, const Command& c);

  // --- exports (world_exports.cc, world_changes.cc) ---------------------------------------------------
  void export_memory(Actor& actor, const Command& c, bool paged);
  void export_wrong(Actor& actor, const Command& c);
  void page(Actor& actor, const Command& c, bool wrong);
  void abort_staging(Actor& actor, const Command& c);
  void change(Actor& actor, const Command& c, bool paged);
  void change_wrong(Actor& actor, const Command& c);
  // A right page of a change, with which it becomes `after`.
  void change_page(Actor& actor, core::ExportChunksRequest request, std::vector<Object> objects,
                   const NaiveChange& after);
  void take_change(const NaiveChange& change);  // by the model
  [[nodiscard]] Judge judge_changed(std::uint64_t id);

  // --- holders (world_holders.cc) --------------------------------------------------------------------
  void acquire(Actor& actor, const Command& c, NaiveAim aim, bool wait);
  void fetch(Actor& actor, const Command& c);
  void refresh(Actor& actor, const Command& c);
  void release(Actor& actor, const Command& c);
  void unmapped(Actor& actor, const Command& c);
  [[nodiscard]] Judge judge_acquired(core::SessionId session, Expected wanted, core::AcquireRequest request);
  void check_grant(const core::Acquired& got, const Expected& wanted);
  // It is the session's now.
  void note_lease(const core::Acquired& got, std::uint64_t session, const Expected& terms,
                  core::Access access, std::uint64_t order);
  void check_page(const core::Page& page, const NaiveExport& e, std::uint64_t first, std::uint64_t end,
                  std::uint32_t max_handles, core::Level level);

  // --- the life of an export (world_life.cc) ------------------------------------------------------------
  void withdraw(Actor& actor, const Command& c);
  void revoke(Actor& actor, const NaiveAim& aim, std::uint64_t grace_ns);
  void suspend(Actor& actor, const Command& c);
  void claim(Actor& actor, const Command& c);
  // Sends what may wait for holders; the model has been told of it.
  void drain(Actor& actor, core::Request request, NaiveWait wait, std::uint64_t wait_ns);

  // --- events and steps (world_events.cc) ---------------------------------------------------------------
  void subscribe(Actor& actor);
  void take_events(Actor& actor, const Command& c);
  void publish(Actor& actor, const Command& c);
  void wait_step(Actor& actor, const Command& c);
  void ack_step(Actor& actor, const Command& c);
  void wait_acks(Actor& actor, const Command& c);

  // --- tickets (world_tickets.cc) -------------------------------------------------------------------------
  void make_ticket(Actor& actor, const Command& c);
  void drop_ticket(Actor& actor, const Command& c);
  // Mostly a young one.
  [[nodiscard]] NaiveAim aim_by_ticket(std::uint32_t which) const;

  // --- groups (world_groups.cc) ---------------------------------------------------------------------------
  void join(Actor& actor, const Command& c);
  void ready(Actor& actor, const Command& c);
  void group_append(Actor& actor, const Command& c);
  void leave(Actor& actor, const Command& c);
  void exchange(Actor& actor, const core::JoinRequest& request, std::uint64_t number);
  void arrive(Actor& actor, core::Request request, std::uint64_t number, std::uint64_t wait_ns,
              NaiveGroup::Phase afterwards);
  void judge_joined(const core::Joined& got, const NaiveWait& wait);
  [[nodiscard]] NaiveWait member_wait(const Actor& actor, std::uint64_t group, std::uint32_t rank,
                                      std::uint64_t wait_ns) const;
  [[nodiscard]] std::uint64_t pick_group(const Actor& actor, std::uint32_t which) const;

  // --- looking, again and never mind (world_look.cc) -----------------------------------------------------
  void cancel(Actor& actor, const Command& c);
  void resend(Actor& actor, const Command& c);
  [[nodiscard]] hb_status rejoin_status(const NaiveWait& joined) const;
  void list(Actor& actor, const Command& c);
  void show(Actor& actor, const Command& c);
  void who(Actor& actor, const Command& c);
  void check_info(const core::ExportInfo& info, const NaiveExport& e);
  void check_holder(const core::Holder& holder);

  // --- the machinery (world_machine.cc) ----------------------------------------------------------------
  void fail(const std::string& what);
  template <class A, class B>
  void expect(const std::string& what, const A& got, const B& wanted) {
    if (!(got == wanted))
      fail(what + ": got " + std::to_string(got) + ", expected " + std::to_string(wanted));
  }
  // Sends with the next request id; `judge` sees the answer, which must come at once unless it is empty.
  void send(Actor& actor, core::Request request, std::vector<Object> objects, Judge judge);
  void apply(core::SessionId session, std::uint64_t id, core::Request request);
  void carry_out(core::Effects& effects);
  void note(const core::Audit& audit);
  void judge(const core::Reply& reply);
  void tick();
  void pass_time();
  void expect_answer(core::SessionId session, std::uint64_t id, Judge judge);
  void settle();  // answers that are due by the model are expected
  void compare();
  void compare_words();
  void check_error(const core::Error& error);
  [[nodiscard]] core::HandleFacts give(const Object& object);
  void attach(core::Request& request, const std::vector<Object>& objects);
  [[nodiscard]] Judge judge_status(hb_status wanted);
  [[nodiscard]] Judge judge_waited(const NaiveAnswer& wanted);
  void check_holders(const std::string& what, const std::vector<core::Holder>& got, bool more,
                     const std::set<std::uint64_t>& wanted);
  void check_view(const core::ExportView& view, std::uint64_t id);
  // Of an export that has come to be or got other chunks.
  void check_exported(const core::Exported& got, std::uint64_t id);
  void wake_waiters(std::uint64_t id);
  [[nodiscard]] core::Time deadline(std::uint64_t wait_ns) const;
  [[nodiscard]] std::uint64_t fds_used() const;
  [[nodiscard]] std::uint64_t fds_promised() const;
  [[nodiscard]] bool fds_fit(std::uint64_t more) const;
  [[nodiscard]] const core::Principal& who_is(const Actor& actor) const {
    return model_.sessions.at(actor.session.value).who;
  }
  [[nodiscard]] Actor* actor_of(core::SessionId session);

  // --- another process goes on (world_restart.cc) ---------------------------------------------------------
  // Records what an event changed, and carries its effects out, or dies before it does.
  void run(const std::function<void(core::Effects&)>& event, core::SessionId session,
           const core::Request* request);
  // `again`: it was received, and whoever sent it does not wait for an answer.
  void restart(const core::Request* again, core::SessionId session);
  void adopt_handles();
  void send_unanswered();
  void forget_news();

  // --- picking (world_machine.cc) --------------------------------------------------------------------------
  [[nodiscard]] NaiveAim aim(const Command& c, std::size_t parameter) const;
  [[nodiscard]] NaiveAim aim_by_key(std::uint32_t which) const;
  [[nodiscard]] NaiveAim aim_by_name(const Command& c) const;
  // Mostly one of the actor's own.
  [[nodiscard]] std::uint64_t pick_export(const Actor& actor, std::uint32_t which) const;
  [[nodiscard]] std::uint64_t pick_lease(const Actor& actor, std::uint32_t which) const;
  [[nodiscard]] std::uint64_t linger(std::uint32_t which);

  core::BrokerConfig config_;
  std::unique_ptr<core::Broker> broker_;
  RecordMemory memory_;
  NaiveModel model_;
  core::Time now_;
  std::vector<Actor> actors_;
  std::string failure_;
  std::uint64_t scope_ = 1;  // of who is not in the main one
  bool told_time_ = true;    // the core saw an event at now_

  struct Unanswered {
    core::Request request;  // without handles
    std::vector<Object> objects;
    core::Time at = 0;
    std::uint64_t order = 0;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, Unanswered> unanswered_;  // by session and request id
  std::uint64_t sent_ = 0;
  std::uint64_t answered_ = 0;
  bool crash_next_ = false;   // after the next command's first event,
  bool crash_after_ = false;  // of which this is the one
  bool resending_ = false;
  std::map<std::uint64_t, std::uint32_t> pids_;  // by session

  std::uint64_t lingers_ = 0;
  std::uint64_t last_handle_ = 0;
  std::map<std::uint64_t, std::pair<Object, int>> handles_;  // object, times closed
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> words_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Judge> expected_;
  std::vector<std::uint64_t> rings_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> lease_sets_;  // pid and export
  std::vector<std::pair<NaiveKey, KeyBytes>> keys_;
  std::vector<Secret> secrets_;
  std::vector<std::pair<std::uint64_t, KeyBytes>> tickets_;
  std::set<std::uint64_t> ids_;  // of exports, ever
};

}  // namespace hb::test
