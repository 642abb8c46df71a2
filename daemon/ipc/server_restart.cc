// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The sessions that a daemon before this one had.
#include <sys/socket.h>

#include <utility>
#include <vector>

#include "ipc/server.h"

namespace hb::ipc {

Server::Resumed Server::resume(Resumption resumption, const Door& door) {
  const core::Principal& principal = resumption.recorded.principal;
  const Payer payer = payer_of(*door.scope, principal.uid);
  const auto give_up = [&](Resumed outcome) {
    ::shutdown(resumption.socket.get(), SHUT_RDWR);
    engine_.close_socket(payer, std::move(resumption.socket), {});
    return outcome;
  };
  auto peer = os::peer_credentials(resumption.socket);
  if (!peer) return give_up(peer.error().dead ? Resumed::kEnded : Resumed::kLost);
  if (peer->uid != principal.uid) return give_up(Resumed::kLost);
  auto session = std::make_shared<Session>(io_, engine_, *this, *peer, door);
  if (!session->adopt(resumption.socket, peer->pidfd)) return give_up(Resumed::kLost);
  if (!session->resume(resumption.recorded, std::move(resumption.parked))) {
    resumption.socket = session->give_back();
    return give_up(Resumed::kLost);
  }
  sessions_.emplace(session.get(), session);
  ++by_payer_[payer];
  return Resumed::kGoesOn;
}

void Server::announce_resumed(std::uint64_t restarts) {
  std::vector<std::shared_ptr<Session>> all;
  all.reserve(sessions_.size());
  for (const auto& [key, session] : sessions_) all.push_back(session);
  for (const auto& session : all) session->announce_resumed(restarts);
}

void Server::carry_out_left() {
  const auto left = inbox_.left();
  if (!left) return;
  for (const auto& [key, session] : sessions_) {
    if (session->id().value != left->session) continue;
    const auto same = session;  // it may end by that
    same->carry_out_left(left->frame);
    break;
  }
  inbox_.done();
}

void Server::leave() {
  stopping_ = true;
  for (const auto& listener : listeners_) static_cast<void>(listener->stop().release());
  while (!sessions_.empty()) {
    const auto session = sessions_.begin()->second;
    session->leave();
  }
}

}  // namespace hb::ipc
