// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The listeners and the sessions that came from them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "ipc/connect_rate.h"
#include "ipc/edge_error.h"
#include "ipc/engine.h"
#include "ipc/listener.h"
#include "ipc/session.h"
#include "restart/inbox.h"

namespace hb::ipc {

class Server : public ListenerHost, public SessionHost {
 public:
  Server(boost::asio::io_context& io, Engine& engine, restart::Inbox inbox = {});

  void listen(UniqueFd socket, Door door);
  // Its socket is not served any more, and every session of it ends; how many there were.
  std::uint64_t close_scope(core::ScopeId scope);
  [[nodiscard]] std::uint64_t sessions_of(core::ScopeId scope) const;
  void set_administration(Administration* administration) { administration_ = administration; }
  // No new sessions, and every one ends.
  void stop();
  // The process ends, and the sessions go on with the next one.
  void leave();

  // --- a start that goes on from an earlier daemon (server_restart.cc) ----------------------------
  struct Resumption {
    core::Broker::Restored recorded;
    UniqueFd socket;
    Session::Parked parked;
  };
  enum class Resumed : std::uint8_t {
    kGoesOn,
    kEnded,  // its process has ended; the engine has not heard of that yet
    kLost,   // something of it is missing; likewise
  };
  // Makes the session again; where that cannot be, closes its connection.
  [[nodiscard]] Resumed resume(Resumption resumption, const Door& door);
  void announce_resumed(std::uint64_t restarts);
  void carry_out_left();

  [[nodiscard]] bool may_accept(bool admin) override;
  void accepted(UniqueFd socket, const Door& door) override;
  [[nodiscard]] restart::Inbox& inbox() override { return inbox_; }
  [[nodiscard]] RequestReader& reader() override { return reader_; }
  [[nodiscard]] Administration* administration() override { return administration_; }
  void log_fault(const observe::Who& who, const std::string& text) override;
  void log_refusal(const observe::Who& who, const std::string& text) override;
  void session_ended(Session& session) override;
  void socket_closed(const Payer& payer) override;

 private:
  // One principal cannot take all the room that others need, whether it said Hello or not.
  [[nodiscard]] std::uint64_t sessions_of_one(const Door& door, std::uint32_t uid) const;
  // Says why, if the socket takes it, and closes.
  void refuse(UniqueFd socket, const Door& door, const Payer& payer, std::uint32_t pid, const EdgeError& why);

  boost::asio::io_context& io_;
  Engine& engine_;
  restart::Inbox inbox_;
  RequestReader reader_;
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::unordered_map<Session*, std::shared_ptr<Session>> sessions_;
  ConnectRate connects_;
  std::map<Payer, std::uint64_t> by_payer_;  // sockets, until they are really closed
  observe::Throttle faults_{10};
  observe::Throttle refusals_{1};
  Administration* administration_ = nullptr;
  bool stopping_ = false;
};

}  // namespace hb::ipc
