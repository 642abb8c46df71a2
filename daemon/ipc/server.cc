// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/server.h"

#include <algorithm>
#include <utility>

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

Server::Server(boost::asio::io_context& io, Engine& engine)
    : io_(io), engine_(engine), buffer_(limits::kFrameBytes) {}

void Server::listen(UniqueFd socket, bool admin) {
  listeners_.push_back(std::make_unique<Listener>(io_, std::move(socket), admin, *this));
  listeners_.back()->start();
}

void Server::stop() {
  stopping_ = true;
  for (const auto& listener : listeners_) listener->stop();
  while (!sessions_.empty()) {
    const auto session = sessions_.begin()->second;
    session->end("the daemon stops");
  }
}

// The admin socket may use the reserve: who looks for the cause of a full table must get in.
bool Server::may_accept(bool admin) { return admin || engine_.has_room(engine_.config().fds_per_session); }

std::uint64_t Server::sessions_per_uid() const {
  const std::uint64_t half = std::max<std::uint64_t>(8, engine_.session_budget() / 2);
  return std::min<std::uint64_t>(limits::kUidSessions, half);
}

void Server::accepted(UniqueFd socket, bool admin) {
  const auto known = os::peer_uid(socket);
  if (!known) return refuse(std::move(socket), 0, 0, engine_.system_error("who connects", known.error()));
  const std::uint32_t uid = *known;
  const auto most = core::LimitSet::built_in().of(core::Resource::kConnects);
  if (const auto refused = admin ? std::nullopt : connects_.admit({}, uid, most, monotonic_now())) {
    return refuse(std::move(socket), uid, 0, *refused);
  }
  auto peer = os::peer_credentials(socket);
  if (!peer) {
    if (!peer.error().dead) {
      return refuse(std::move(socket), uid, 0, engine_.system_error("who connects", peer.error().error));
    }
    return refuse(std::move(socket), uid, 0,
                  edge_error(HB_DENIED,
                             "the process that connected has ended: whose the connection is now cannot be "
                             "told; connect again"));
  }
  const auto sessions = by_uid_.find(uid);
  if (!admin && sessions != by_uid_.end() && sessions->second >= sessions_per_uid()) {
    return refuse(
        std::move(socket), uid, peer->pid,
        uid_limit(core::text_of(core::Resource::kSessions), uid, sessions->second, sessions_per_uid()));
  }
  if (engine_.quarantine_full(uid)) {
    return refuse(std::move(socket), uid, peer->pid,
                  uid_limit(kStuck, uid, limits::kQuarantinePerUid, limits::kQuarantinePerUid));
  }
  engine_.note_fds(static_cast<std::int64_t>(engine_.config().fds_per_session));
  auto session = std::make_shared<Session>(io_, engine_, *this, *peer, admin);
  if (const auto adopted = session->adopt(socket, peer->pidfd); !adopted) {
    engine_.note_fds(-static_cast<std::int64_t>(engine_.config().fds_per_session));
    EdgeError error = engine_.system_error("a session", adopted.error());
    error.message += "; fs.epoll.max_user_watches bounds the daemon's user";
    return refuse(std::move(socket), uid, peer->pid, error);
  }
  sessions_.emplace(session.get(), session);
  ++by_uid_[uid];
  session->start();
}

void Server::refuse(UniqueFd socket, std::uint32_t uid, std::uint32_t pid, const EdgeError& why) {
  log_refusal(observe::Who{uid, pid, {}}, "connection closed: " + why.message);
  // Not sent where it does not go at once: nobody waits for a peer that has filled its own queue.
  static_cast<void>(send_packet(socket.get(), engine_.writer().error(0, why), {}, {}));
  engine_.close_socket(uid, std::move(socket), {});
}

void Server::log_fault(const observe::Who& who, const std::string& text) {
  if (const auto left_out = faults_.admit(monotonic_now())) {
    observe::log(observe::Level::kWarning, who, with_left_out(text, *left_out));
  }
}

void Server::log_refusal(const observe::Who& who, const std::string& text) {
  if (const auto left_out = refusals_.admit(monotonic_now())) {
    observe::log(observe::Level::kWarning, who, with_left_out(text, *left_out));
  }
}

void Server::session_ended(Session& session) { sessions_.erase(&session); }

void Server::socket_closed(std::uint32_t uid) {
  const auto count = by_uid_.find(uid);
  if (count != by_uid_.end() && --count->second == 0) by_uid_.erase(count);
  if (stopping_) return;
  for (const auto& listener : listeners_) listener->resume();
}

}  // namespace hb::ipc
