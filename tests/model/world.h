// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The real core and the naive model side by side: every command goes to both, every effect is checked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/broker.h"
#include "model/broker_command.h"
#include "model/naive_model.h"

namespace hb::test {

class World {
 public:
  World();

  // Empty, or what is wrong first.
  std::string step(const Command& command);
  // All sessions leave: nothing may stay.
  std::string finish();

 private:
  using Judge = std::function<void(const core::ReplyBody&)>;
  struct Sent {
    core::Request request;  // without handles
    std::vector<Object> objects;
    hb_status status = HB_OK;
    std::uint64_t lease = 0;
    std::uint64_t id = 0;
    std::uint32_t generation = 0;
    bool answered = false;
  };
  struct Actor {
    core::SessionId session;
    std::uint64_t last_request = 0;
    std::map<std::uint64_t, Sent> mutating;  // by request id
  };

  // --- commands (world_verbs.cc) --------------------------------------------------------------------
  void connect(const Command& c);
  void disconnect(std::size_t actor);
  void export_memory(Actor& actor, const Command& c, bool paged);
  void export_wrong(Actor& actor, const Command& c);
  void page(Actor& actor, const Command& c, bool wrong);
  void abort_staging(Actor& actor, const Command& c);
  void acquire(Actor& actor, const Command& c, bool by_key, bool wait);
  void fetch(Actor& actor, const Command& c);
  void release(Actor& actor, const Command& c);
  void withdraw(Actor& actor, const Command& c);
  void cancel(Actor& actor, const Command& c);
  void resend(Actor& actor, const Command& c);
  void list(Actor& actor, const Command& c);
  void show(Actor& actor, const Command& c);
  void who(Actor& actor);

  // --- the machinery (world.cc) ----------------------------------------------------------------------
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
  void judge(const core::Reply& reply);
  void tick();
  void pass_time();
  void expect_answer(core::SessionId session, std::uint64_t id, Judge judge);
  void compare();
  void check_error(const core::Error& error);

  [[nodiscard]] core::HandleFacts give(const Object& object);
  void attach(core::Request& request, const std::vector<Object>& objects);
  [[nodiscard]] Judge judge_acquired(core::SessionId session, std::uint64_t request_id, Expected wanted,
                                     core::AcquireRequest request);
  [[nodiscard]] Judge judge_status(hb_status wanted);
  void check_placement(const core::ExportView& view, const NaiveExport& e);
  void check_page(const core::Page& page, const NaiveExport& e, std::uint64_t first, std::uint64_t end,
                  std::uint32_t max_handles, core::Level level);
  void completed(std::uint64_t id);
  [[nodiscard]] std::uint64_t fds_used() const;
  [[nodiscard]] std::uint64_t fds_promised() const;
  [[nodiscard]] const core::Principal& who_is(const Actor& actor) const {
    return model_.sessions.at(actor.session.value);
  }
  [[nodiscard]] Actor* actor_of(core::SessionId session);
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> chunks_of(const NaiveExport& e, std::uint64_t offset,
                                                                  std::uint64_t length) const;

  core::BrokerConfig config_;
  core::Broker broker_;
  NaiveModel model_;
  core::Time now_ = 1000;
  std::vector<Actor> actors_;
  std::string failure_;
  bool told_time_ = true;  // the core saw an event at now_

  std::uint64_t completions_ = 0;
  std::uint64_t last_handle_ = 0;
  std::map<std::uint64_t, std::pair<Object, int>> handles_;  // object, times closed
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> words_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Judge> expected_;
  std::vector<std::pair<NaiveKey, KeyBytes>> keys_;
  std::vector<Secret> secrets_;
};

}  // namespace hb::test
