// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/session.h"

#include <poll.h>

#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "os/process_info.h"
#include "restart/crash_point.h"
#include "wire/limits.h"
#include "wire/name.h"

namespace hb::ipc {
namespace {

// comm and cgroup are bytes of the process's choice: a protobuf string has to be UTF-8, and a page of a list
// has to fit a frame, so nothing may grow.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x7f || static_cast<unsigned char>(c) < 0x20) c = '?';
  }
  return text;
}

}  // namespace

Session::Session(boost::asio::io_context& io, Engine& engine, SessionHost& host,
                 const os::PeerCredentials& peer, const Door& door)
    : io_(io),
      engine_(engine),
      host_(host),
      socket_(io),
      pidfd_(io),
      deadline_(io),
      scope_(door.scope),
      payer_(payer_of(*door.scope, peer.uid)),
      line_(payer_, [this] { flush(); }) {
  const os::ProcessText text = os::process_text(peer.pid, peer.pidfd);
  principal_.scope = scope_->id;
  principal_.uid = peer.uid;
  uid_known_ = peer.uid_known;
  principal_.gid = peer.gid;
  principal_.groups = peer.groups;
  principal_.admin = door.admin;
  who_.uid = peer.uid;
  who_.pid = peer.pid;
  process_.pid = peer.pid;
  process_.scope_name = scope_->name;
  process_.command = printable(text.command);
  process_.cgroup = printable(text.cgroup);
  who_.command = escape_for_display(process_.command);
}

tl::expected<void, SysError> Session::adopt(UniqueFd& socket, UniqueFd& pidfd) {
  boost::system::error_code error;
  if (socket_.assign(socket.get(), error); error) return tl::unexpected(SysError{"epoll_ctl", error.value()});
  if (pidfd) {
    if (pidfd_.assign(pidfd.get(), error); error) {
      static_cast<void>(socket_.release());  // still the caller's
      return tl::unexpected(SysError{"epoll_ctl", error.value()});
    }
    static_cast<void>(pidfd.release());
  }
  line_.open(socket);
  static_cast<void>(socket.release());
  return {};
}

void Session::set_state(SessionState next) {
  if (state_ != SessionState::kEnded) state_ = next;  // the end is final
}

bool Session::reading() const {
  return (state_ == SessionState::kAwaitHello || state_ == SessionState::kOpen) && outbox_.empty() &&
         far_ == nullptr;
}

void Session::start() {
  end_at(monotonic_now() + limits::kHelloNs, "no Hello came within 5 s");
  if (pidfd_.is_open()) watch_process();
  wait_readable();
}

// The kernel is asked again before a session ends: an event of a descriptor that was closed just before can
// still be on its way, and Asio gives its record to the next one that is opened.
void Session::watch_process() {
  pidfd_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                    [self = shared_from_this()](const boost::system::error_code& error) {
                      if (error || self->state_ == SessionState::kEnded) return;
                      pollfd process{self->pidfd_.native_handle(), POLLIN, 0};
                      if (::poll(&process, 1, 0) == 1) return self->end("its process ended");
                      self->watch_process();
                    });
}

void Session::end(const std::string& why) {
  if (state_ == SessionState::kEnded) return;
  const auto self = shared_from_this();
  set_state(SessionState::kEnded);
  observe::log(observe::Level::kDebug, who_, "session ended: " + why);
  deadline_.cancel();
  boost::system::error_code ignored;
  pidfd_.close(ignored);
  if (id_) {
    engine_.disconnect(id_);
    unpark_all();
  } else {
    engine_.note_fds(-static_cast<std::int64_t>(engine_.config().fds_per_session));
  }
  UniqueFd socket(socket_.release());
  // Forked children of the peer may hold copies of the socket: they see the end too.
  ::shutdown(socket.get(), SHUT_RDWR);
  engine_.unanswered().remove(who(), outbox_.size());
  outbox_.clear();
  page_ = {};
  keep_page({});
  drop_doorbell();
  words_ = {};
  close_socket(std::move(socket));
  host_.session_ended(*this);
}

void Session::close_socket(UniqueFd socket) {
  if (far_ != nullptr) {
    // A thread receives from it, and may take its time.
    engine_.note_fds(1);
    far_->line = engine_.in_flight().detach(line_, socket);
    far_->socket = std::move(socket);
    return;
  }
  engine_.close_socket(line_, payer_, std::move(socket),
                       [&host = host_, payer = payer_] { host.socket_closed(payer); });
}

void Session::end_at(core::Time deadline, const char* why) {
  deadline_.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline)));
  deadline_.async_wait([self = shared_from_this(), why](const boost::system::error_code& error) {
    if (error || self->state_ == SessionState::kEnded) return;
    const std::string text = std::string("disconnected: ") + why;
    if (self->state_ == SessionState::kAwaitHello) {
      self->host_.log_refusal(self->who_, text);
    } else {
      self->host_.log_fault(self->who_, text);
    }
    self->end(why);
  });
}

// --- in -------------------------------------------------------------------------------------------

void Session::wait_readable() {
  if (far_ != nullptr || std::exchange(waiting_readable_, true)) return;
  socket_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->waiting_readable_ = false;
                       if (!error) {
                         self->on_readable();
                       } else if (error != boost::asio::error::operation_aborted) {
                         self->end("its socket cannot be watched: " + error.message());
                       }
                     });
}

void Session::on_readable() {
  restart::Inbox& inbox = host_.inbox();
  for (int i = 0; i < limits::kRequestsPerWakeup; ++i) {
    if (!reading()) return;  // flush() or end() goes on
    if (engine_.quarantine_full(payer_)) {
      host_.log_fault(who_, "disconnected: " + std::to_string(limits::kQuarantinePerUid) +
                                " descriptors of this uid wait for a close() that does not return");
      return end("too many descriptors in quarantine");
    }
    if (receive_elsewhere()) return;  // on_far_packet() goes on
    inbox.expect(id_.value);
    auto received = receive_packet(socket_.native_handle(), inbox.buffer());
    if (!received) return end(received.error().text());
    restart::crash_point(restart::CrashPoint::kReceived);
    const auto bytes = std::span<const std::byte>(inbox.buffer()).first(received->bytes);
    const bool more = on_received(std::move(*received), bytes);
    inbox.done();
    if (!more) return;
  }
  if (reading()) wait_readable();  // the others have their turn
}

// False: nothing more is to be read now.
bool Session::on_received(Received received, std::span<const std::byte> bytes) {
  switch (received.outcome) {
    case ReceiveOutcome::kWouldBlock:
      wait_readable();
      return false;
    case ReceiveOutcome::kEnd:
      end("EOF");
      return false;
    case ReceiveOutcome::kPacket:
      on_packet(std::move(received), bytes);
      return true;
    case ReceiveOutcome::kFdsTruncated:
      on_truncated(std::move(received), bytes);
      return true;
    case ReceiveOutcome::kBytesTruncated:
      engine_.dispose(std::move(received.fds), payer_);
      fail(0, edge_error(HB_PROTO, "a packet is longer than a frame can be (" +
                                       std::to_string(limits::kFrameBytes) + " bytes)"));
      return true;
  }
  return false;
}

// The bytes are whole, descriptors are missing: our own limit, or a security module's verdict.
void Session::on_truncated(Received received, std::span<const std::byte> bytes) {
  const std::size_t arrived = received.fds.size();
  engine_.dispose(std::move(received.fds), payer_);
  const auto frame = decode_frame(bytes);
  if (!frame) return fail(0, edge_error(HB_PROTO, frame_error_text(frame.error())));
  frame_type_ = static_cast<std::uint16_t>(frame->header.type);
  const Method* method = find_method(frame->header.type);
  if (method == nullptr || !method->allows_fds || state_ == SessionState::kAwaitHello) {
    return fail(frame->header.request_id,
                edge_error(HB_PROTO, "descriptors came with a frame that carries none"));
  }
  answer(frame->header.request_id,
         engine_.no_fds("only " + std::to_string(arrived) + " of " + std::to_string(frame->header.fd_count) +
                        " descriptors of the request could be received"));
}

void Session::on_packet(Received received, std::span<const std::byte> bytes) {
  const auto frame = decode_frame(bytes);
  if (!frame) {
    engine_.dispose(std::move(received.fds), payer_);
    return fail(0, edge_error(HB_PROTO, frame_error_text(frame.error())));
  }
  const FrameHeader& header = frame->header;
  frame_type_ = static_cast<std::uint16_t>(header.type);
  if (header.fd_count != received.fds.size()) {
    const std::size_t arrived = received.fds.size();
    engine_.dispose(std::move(received.fds), payer_);
    return fail(header.request_id,
                edge_error(HB_PROTO, "the frame announces " + std::to_string(header.fd_count) +
                                         " descriptors and carries " + std::to_string(arrived)));
  }
  const Method* method = find_method(header.type);
  if (!received.fds.empty() && (method == nullptr || !method->allows_fds)) {
    engine_.dispose(std::move(received.fds), payer_);
    return fail(header.request_id, edge_error(HB_PROTO, "descriptors came with a frame that carries none"));
  }
  if (state_ == SessionState::kAwaitHello && header.type != FrameType::kHello) {
    engine_.dispose(std::move(received.fds), payer_);
    return fail(header.request_id, edge_error(HB_PROTO, "the first frame of a session has to be Hello"));
  }
  if (method == nullptr) {
    return answer(
        header.request_id,
        edge_error(HB_UNSUPPORTED, "frame type " + std::to_string(static_cast<unsigned>(header.type)) +
                                       " is not known to " + daemon_name()));
  }
  if (header.request_id == 0 && !method->one_way) {
    engine_.dispose(std::move(received.fds), payer_);
    return fail(0, edge_error(HB_PROTO, std::string(method->name) + " needs a request id other than 0"));
  }
  on_request(*method, *frame, std::move(received.fds));
}

}  // namespace hb::ipc
