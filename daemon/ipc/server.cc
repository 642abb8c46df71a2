// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/server.h"

#include <algorithm>
#include <utility>

#include "core/audit.h"
#include "core/resource.h"
#include "ipc/uid_limit.h"
#include "observe/log.h"
#include "wire/limits.h"
#include "wire/packet_socket.h"

namespace hb::ipc {
namespace {

std::string with_left_out(const std::string& text, std::uint64_t left_out) {
  return left_out == 0 ? text : text + " (" + std::to_string(left_out) + " such lines were left out)";
}

constexpr core::ResourceText kStuck{"quarantine", "descriptors that wait for a close() that does not return",
                                    "end the program that sent them, or the server of their file system"};

}  // namespace

Server::Server(boost::asio::io_context& io, Engine& engine, restart::Inbox inbox)
    : io_(io), engine_(engine), inbox_(std::move(inbox)) {}

void Server::listen(UniqueFd socket, Door door) {
  listeners_.push_back(std::make_shared<Listener>(io_, std::move(socket), std::move(door), *this));
  listeners_.back()->start();
}

void Server::stop() {
  stopping_ = true;
  // Not closed: that would close what lies in connections nobody accepted, and wait for it. The process's
  // exit waits for less.
  for (const auto& listener : listeners_) static_cast<void>(listener->stop().release());
  while (!sessions_.empty()) {
    const auto session = sessions_.begin()->second;
    session->end("the daemon stops");
  }
}

std::uint64_t Server::close_scope(core::ScopeId scope) {
  std::erase_if(listeners_, [&](const std::shared_ptr<Listener>& listener) {
    if (listener->door().scope->id != scope) return false;
    engine_.close_socket({scope, 0}, listener->stop(), {});
    return true;
  });
  std::vector<std::shared_ptr<Session>> ending;
  for (const auto& [key, session] : sessions_)
    if (session->scope().id == scope) ending.push_back(session);
  const std::uint64_t sessions = sessions_of(scope);
  for (const auto& session : ending) session->end("its scope was removed");
  return sessions;
}

std::uint64_t Server::sessions_of(core::ScopeId scope) const {
  return static_cast<std::uint64_t>(std::count_if(sessions_.begin(), sessions_.end(), [&](const auto& entry) {
    return entry.second->scope().id == scope && entry.second->state() == SessionState::kOpen;
  }));
}

// The admin socket may use the reserve: who looks for the cause of a full table must get in.
bool Server::may_accept(bool admin) { return admin || engine_.has_room(engine_.config().fds_per_session); }

// What the policy allows is asked at the Hello, in the core: until then one may have as many as the built-in
// limit, where the policy gives less.
std::uint64_t Server::sessions_of_one(const Door& door, std::uint32_t uid) const {
  const std::uint64_t half = std::max<std::uint64_t>(8, engine_.session_budget() / 2);
  const std::uint64_t most = engine_.limit_at_the_door(*door.scope, uid, core::Resource::kSessions);
  return std::min(std::max<std::uint64_t>(most, limits::kUidSessions), half);
}

void Server::accepted(UniqueFd socket, const Door& door) {
  const auto known = os::peer_uid(socket);
  if (!known) {
    return refuse(std::move(socket), door, {door.scope->id, 0}, 0,
                  engine_.system_error("who connects", known.error()));
  }
  const std::uint32_t uid = *known;
  const Payer payer = payer_of(*door.scope, uid);
  if (!door.admin) {
    const std::uint64_t most = engine_.limit_at_the_door(*door.scope, uid, core::Resource::kConnects);
    if (const auto refused = connects_.admit(payer, most, monotonic_now()))
      return refuse(std::move(socket), door, payer, 0, *refused);
  }
  auto peer = os::peer_credentials(socket);
  if (!peer) {
    if (!peer.error().dead) {
      return refuse(std::move(socket), door, payer, 0,
                    engine_.system_error("who connects", peer.error().error));
    }
    return refuse(std::move(socket), door, payer, 0,
                  edge_error(HB_DENIED,
                             "the process that connected has ended: whose the connection is now cannot be "
                             "told; connect again"));
  }
  const auto sessions = by_payer_.find(payer);
  const std::uint64_t open = sessions == by_payer_.end() ? 0 : sessions->second;
  if (const std::uint64_t most = sessions_of_one(door, uid); !door.admin && open >= most) {
    return refuse(std::move(socket), door, payer, peer->pid,
                  uid_limit(core::text_of(core::Resource::kSessions), uid, open, most));
  }
  if (engine_.quarantine_full(payer)) {
    return refuse(std::move(socket), door, payer, peer->pid,
                  uid_limit(kStuck, uid, limits::kQuarantinePerUid, limits::kQuarantinePerUid));
  }
  engine_.note_fds(static_cast<std::int64_t>(engine_.config().fds_per_session));
  auto session = std::make_shared<Session>(io_, engine_, *this, *peer, door);
  if (const auto adopted = session->adopt(socket, peer->pidfd); !adopted) {
    engine_.note_fds(-static_cast<std::int64_t>(engine_.config().fds_per_session));
    EdgeError error = engine_.system_error("a session", adopted.error());
    error.message += "; fs.epoll.max_user_watches bounds the daemon's user";
    return refuse(std::move(socket), door, payer, peer->pid, error);
  }
  sessions_.emplace(session.get(), session);
  ++by_payer_[payer];
  session->start();
}

void Server::refuse(UniqueFd socket, const Door& door, const Payer& payer, std::uint32_t pid,
                    const EdgeError& why) {
  log_refusal(observe::Who{payer.uid, pid, {}}, "connection closed: " + why.message);
  core::Audit audit = core::refusal_of(why);
  audit.uid = payer.uid;
  audit.process = std::make_shared<const core::ProcessInfo>(core::ProcessInfo{pid, {}, {}, door.scope->name});
  audit.verb = "connect";
  engine_.note(std::move(audit));
  // Not sent where it does not go at once: nobody waits for a peer that has filled its own queue.
  static_cast<void>(send_packet(socket.get(), engine_.writer().error(0, why), {}, {}));
  engine_.close_socket(payer, std::move(socket), {});
}

void Server::log_fault(const observe::Who& who, const std::string& text) {
  if (const auto left_out = faults_.admit(monotonic_now())) {
    observe::log(observe::Level::kWarning, observe::Message::kSessionFault, who,
                 with_left_out(text, *left_out));
  }
}

void Server::log_refusal(const observe::Who& who, const std::string& text) {
  if (const auto left_out = refusals_.admit(monotonic_now())) {
    observe::log(observe::Level::kWarning, observe::Message::kConnectionRefused, who,
                 with_left_out(text, *left_out));
  }
}

void Server::session_ended(Session& session) { sessions_.erase(&session); }

void Server::socket_closed(const Payer& payer) {
  const auto count = by_payer_.find(payer);
  if (count != by_payer_.end() && --count->second == 0) by_payer_.erase(count);
  if (stopping_) return;
  for (const auto& listener : listeners_) listener->resume();
}

}  // namespace hb::ipc
