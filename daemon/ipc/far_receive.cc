// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/far_receive.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "ipc/session.h"
#include "os/unread.h"
#include "wire/limits_edge.h"
#include "wire/packet_bounded.h"

namespace hb::ipc {

bool Engine::frame_fits() const {
  return broker_->fds_used() + limits::kFrameFds + limits::kReceiveSlack <= config_.fd_limit;
}

// No more numbers than the core would let the uid have, so that others still find some while this one's
// thread waits.
std::uint64_t Engine::numbers_to_receive() const {
  const std::uint64_t used = broker_->fds_used() + limits::fd_reserve(config_.fd_limit);
  const std::uint64_t room = config_.fd_limit > used ? config_.fd_limit - used : 0;
  const std::uint64_t others = limits::fds_for_others(config_.fd_limit);
  return room > others ? std::min<std::uint64_t>(room - others, limits::kFrameFds)
                       : std::min<std::uint64_t>(room, 1);
}

void Engine::receive_elsewhere(const Payer& payer, BorrowedFd socket, std::shared_ptr<FarReceive> packet,
                               std::function<void()> done) {
  const std::uint64_t most = numbers_to_receive();
  note_fds(static_cast<std::int64_t>(most));
  closer_.run(
      closer_key(payer),
      [socket, most, packet = std::move(packet)] {
        auto received = receive_packet_bounded(socket.get(), packet->buffer, most);
        if (received) {
          packet->received = std::move(*received);
        } else {
          packet->error = received.error();
        }
      },
      [this, most, done = std::move(done)] {
        boost::asio::post(io_, [this, most, done] {
          note_fds(-static_cast<std::int64_t>(most));
          done();
        });
      });
}

bool Session::receive_elsewhere() {
  if (engine_.frame_fits()) return false;
  const BorrowedFd socket = BorrowedFd::of_caller(socket_.native_handle());
  if (os::first_unread(socket) != os::Unread::kWithFds) return false;
  far_ = std::make_shared<FarReceive>();
  // Not shared_from_this(): after stop() the thread would be the last to hold it.
  engine_.receive_elsewhere(
      payer_, socket, far_,
      [&engine = engine_, &host = host_, payer = payer_, packet = far_, weak = weak_from_this()] {
        const auto self = weak.lock();
        if (self && self->state_ != SessionState::kEnded) return self->on_far_packet();
        engine.dispose(std::move(packet->received.fds), payer);
        if (packet->socket) {
          engine.note_fds(-1);
          engine.close_socket(*packet->line, payer, std::move(packet->socket),
                              [&host, payer] { host.socket_closed(payer); });
        }
      });
  return true;
}

void Session::on_far_packet() {
  const auto packet = std::exchange(far_, nullptr);
  if (packet->error) return end(packet->error->text());
  if (state_ == SessionState::kFailing) return engine_.dispose(std::move(packet->received.fds), payer_);
  const auto bytes = std::span<const std::byte>(packet->buffer).first(packet->received.bytes);
  if (!on_received(std::move(packet->received), bytes)) return;
  if (reading()) wait_readable();
}

}  // namespace hb::ipc
