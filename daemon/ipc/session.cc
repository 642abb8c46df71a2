// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/session.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "os/process_info.h"
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

EdgeError version_error(const HelloRequest& hello) {
  const auto range = [](std::uint32_t low, std::uint32_t high) {
    return std::to_string(low) + " to " + std::to_string(high);
  };
  return edge_error(HB_VERSION, "no common protocol version: the client speaks " +
                                    range(hello.lowest_version, hello.highest_version) + ", " +
                                    daemon_name() + " speaks " +
                                    range(limits::kLowestVersion, limits::kHighestVersion));
}

}  // namespace

Session::Session(boost::asio::io_context& io, Engine& engine, SessionHost& host, UniqueFd socket,
                 os::PeerCredentials peer, bool admin)
    : io_(io), engine_(engine), host_(host), socket_(io, socket.release()), pidfd_(io), deadline_(io) {
  if (peer.pidfd) pidfd_.assign(peer.pidfd.release());
  principal_.uid = peer.uid;
  principal_.gid = peer.gid;
  principal_.groups = std::move(peer.groups);
  principal_.admin = admin;
  who_.uid = peer.uid;
  who_.pid = peer.pid;
}

void Session::set_state(SessionState next) {
  if (state_ != SessionState::kEnded) state_ = next;  // the end is final
}

bool Session::reading() const {
  return (state_ == SessionState::kAwaitHello || state_ == SessionState::kOpen) && outbox_.empty();
}

void Session::start() {
  end_at(monotonic_now() + limits::kHelloNs, "no Hello came within 5 s");
  if (pidfd_.is_open()) {
    pidfd_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& error) {
                        if (!error) self->end("its process ended");
                      });
  }
  wait_readable();
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
  } else {
    engine_.note_fds(-static_cast<std::int64_t>(engine_.config().fds_per_session));
  }
  UniqueFd socket(socket_.release());
  // Forked children of the peer may hold copies of the socket: they see the end too.
  ::shutdown(socket.get(), SHUT_RDWR);
  outbox_.clear();
  page_ = {};
  words_ = {};
  engine_.close_socket(who_.uid, std::move(socket),
                       [&host = host_, uid = who_.uid] { host.socket_closed(uid); });
  host_.session_ended(*this);
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
  if (std::exchange(waiting_readable_, true)) return;
  socket_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->waiting_readable_ = false;
                       if (!error) self->on_readable();
                     });
}

void Session::on_readable() {
  const std::span<std::byte> buffer = host_.receive_buffer();
  for (int i = 0; i < limits::kRequestsPerWakeup; ++i) {
    if (!reading()) return;  // flush() or end() goes on
    if (engine_.quarantine_full(who_.uid)) {
      host_.log_fault(who_, "disconnected: " + std::to_string(limits::kQuarantinePerUid) +
                                " descriptors of this uid wait for a close() that does not return");
      return end("too many descriptors in quarantine");
    }
    auto received = receive_packet(socket_.native_handle(), buffer);
    if (!received) return end(received.error().text());
    const auto bytes = std::span<const std::byte>(buffer).first(received->bytes);
    switch (received->outcome) {
      case ReceiveOutcome::kWouldBlock:
        return wait_readable();
      case ReceiveOutcome::kEnd:
        return end("EOF");
      case ReceiveOutcome::kPacket:
        on_packet(std::move(*received), bytes);
        break;
      case ReceiveOutcome::kFdsTruncated:
        on_truncated(std::move(*received), bytes);
        break;
      case ReceiveOutcome::kBytesTruncated:
        engine_.dispose(std::move(received->fds), who_.uid);
        fail(0, edge_error(HB_PROTO, "a packet is longer than a frame can be (" +
                                         std::to_string(limits::kFrameBytes) + " bytes)"));
        break;
    }
  }
  if (reading()) wait_readable();  // the others have their turn
}

// The bytes are whole, descriptors are missing: our own limit, or a security module's verdict.
void Session::on_truncated(Received received, std::span<const std::byte> bytes) {
  const std::size_t arrived = received.fds.size();
  engine_.dispose(std::move(received.fds), who_.uid);
  const auto frame = decode_frame(bytes);
  if (!frame) return fail(0, edge_error(HB_PROTO, frame_error_text(frame.error())));
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
    engine_.dispose(std::move(received.fds), who_.uid);
    return fail(0, edge_error(HB_PROTO, frame_error_text(frame.error())));
  }
  const FrameHeader& header = frame->header;
  if (header.fd_count != received.fds.size()) {
    const std::size_t arrived = received.fds.size();
    engine_.dispose(std::move(received.fds), who_.uid);
    return fail(header.request_id,
                edge_error(HB_PROTO, "the frame announces " + std::to_string(header.fd_count) +
                                         " descriptors and carries " + std::to_string(arrived)));
  }
  const Method* method = find_method(header.type);
  if (!received.fds.empty() && (method == nullptr || !method->allows_fds)) {
    engine_.dispose(std::move(received.fds), who_.uid);
    return fail(header.request_id, edge_error(HB_PROTO, "descriptors came with a frame that carries none"));
  }
  if (state_ == SessionState::kAwaitHello && header.type != FrameType::kHello) {
    engine_.dispose(std::move(received.fds), who_.uid);
    return fail(header.request_id, edge_error(HB_PROTO, "the first frame of a session has to be Hello"));
  }
  if (method == nullptr) {
    return answer(
        header.request_id,
        edge_error(HB_UNSUPPORTED, "frame type " + std::to_string(static_cast<unsigned>(header.type)) +
                                       " is not known to " + daemon_name()));
  }
  if (header.request_id == 0 && !method->one_way) {
    engine_.dispose(std::move(received.fds), who_.uid);
    return fail(0, edge_error(HB_PROTO, std::string(method->name) + " needs a request id other than 0"));
  }
  on_request(*method, *frame, std::move(received.fds));
}

void Session::on_request(const Method& method, const FrameView& frame, std::vector<UniqueFd> fds) {
  const std::uint64_t request_id = frame.header.request_id;
  if (method.admin_only && !principal_.admin) {
    return answer(request_id,
                  edge_error(HB_DENIED, std::string(method.name) + " is answered on the admin socket only"));
  }
  switch (method.type) {
    case FrameType::kHello:
      return on_hello(frame);
    case FrameType::kSharePage:
      return on_share_page(request_id);
    case FrameType::kPing: {
      const auto payload = host_.reader().read_ping(frame.body);
      if (!payload) {
        return payload.error().status == HB_PROTO ? fail(request_id, payload.error())
                                                  : answer(request_id, payload.error());
      }
      return deliver(
          {request_id, engine_.writer().ping(request_id, *payload, engine_.uptime_ns()), {}, false});
    }
    default:
      return on_core_request(method, frame, std::move(fds));
  }
}

void Session::on_hello(const FrameView& frame) {
  const std::uint64_t request_id = frame.header.request_id;
  if (state_ != SessionState::kAwaitHello) {
    return fail(request_id, edge_error(HB_PROTO, "a second Hello in one session"));
  }
  const auto hello = host_.reader().read_hello(frame.body);
  if (!hello) return fail(request_id, hello.error());
  if (hello->lowest_version > limits::kHighestVersion || hello->highest_version < limits::kLowestVersion ||
      hello->lowest_version > hello->highest_version) {
    return fail(request_id, version_error(*hello));
  }
  core::ProcessInfo process;
  process.pid = who_.pid;
  const os::ProcessText text = os::process_text(who_.pid, pidfd_.is_open() ? pidfd_.native_handle() : -1);
  process.command = printable(text.command);
  process.cgroup = printable(text.cgroup);
  who_.command = escape_for_display(process.command);

  // Until now the edge counted this session's descriptors, from here on the core does.
  const auto own = static_cast<std::int64_t>(engine_.config().fds_per_session);
  engine_.note_fds(-own);
  const auto session = engine_.connect(principal_, std::move(process), *this);
  if (!session) {
    engine_.note_fds(own);
    EdgeError error;
    static_cast<core::Error&>(error) = session.error();
    return fail(request_id, error);
  }
  id_ = *session;
  set_state(SessionState::kOpen);
  deadline_.cancel();
  HelloAnswer reply;
  reply.broker_id = engine_.config().broker_id;
  reply.session_id = id_.value;
  reply.admin = principal_.admin;
  reply.uid = who_.uid;
  reply.pid = who_.pid;
  deliver({request_id, engine_.writer().hello(request_id, reply), {}, false});
}

// Asked again (the answer met a client without free descriptors): the page is made anew, and what the session
// may have cached under the old one counts no more.
void Session::on_share_page(std::uint64_t request_id) {
  auto made = os::ValidityPage::make();
  if (!made) {
    EdgeError error = made.error().code == EMFILE || made.error().code == ENFILE
                          ? engine_.no_fds("the page of validity words could not be made")
                          : edge_error(HB_SYSTEM, "the page of validity words: " + made.error().text());
    error.sys_errno = made.error().code;
    error.operation = made.error().operation;
    return answer(request_id, error);
  }
  if (page_) page_.clear(static_cast<std::uint32_t>(words_.size()));
  page_ = std::move(made->page);
  for (std::uint32_t slot = 0; slot < words_.size(); ++slot) page_.store(slot, words_[slot]);
  const OutFrame frame{request_id, engine_.writer().share_page(request_id), {}, false};
  std::array<UniqueFd, 1> owned{std::move(made->descriptor)};
  if (!outbox_.empty() || send_now(frame, owned) == Sent::kLater) {
    QueuedFrame queued = QueuedFrame::copy_of(frame);
    queued.owned.push_back(std::move(owned[0]));
    enqueue(std::move(queued));
  }
}

void Session::on_core_request(const Method& method, const FrameView& frame, std::vector<UniqueFd> fds) {
  const std::uint64_t request_id = method.one_way ? 0 : frame.header.request_id;
  auto request = host_.reader().read(method.type, frame.body, fds.size());
  if (!request) {
    engine_.dispose(std::move(fds), who_.uid);
    return request.error().status == HB_PROTO ? fail(request_id, request.error())
                                              : answer(request_id, request.error());
  }
  if (!fds.empty() && !admit_into(*request, request_id, std::move(fds))) return;
  engine_.apply(id_, request_id, method.type, std::move(*request));
}

bool Session::admit_into(core::Request& request, std::uint64_t request_id, std::vector<UniqueFd> fds) {
  auto facts = engine_.admit(std::move(fds), who_.uid);
  auto* first = std::get_if<core::ExportRequest>(&request);
  auto* more = std::get_if<core::ExportChunksRequest>(&request);
  if (facts) {
    (first != nullptr ? first->handles : more->handles) = std::move(*facts);
    return true;
  }
  // Named by the export's chunk, not by the frame's descriptor: that is what the exporter knows.
  const auto& chunks = first != nullptr ? first->chunks : more->chunks;
  std::uint64_t chunk = more != nullptr ? more->first : 0;
  for (const core::NewChunk& candidate : chunks) {
    if (candidate.handle == facts.error().index) break;
    ++chunk;
  }
  EdgeError error = edge_error(
      HB_BAD_HANDLE, "chunk " + std::to_string(chunk) + ": the descriptor is " + facts.error().reason);
  error.chunk = chunk + 1;
  host_.log_fault(who_, "refused: " + error.message);
  answer(request_id, error);
  // An export is whole or not at all.
  if (more != nullptr) engine_.apply(id_, 0, FrameType::kExportAbort, core::ExportAbortRequest{more->id});
  return false;
}

// --- out ------------------------------------------------------------------------------------------

void Session::answer(std::uint64_t request_id, const EdgeError& error) {
  if (request_id == 0) {
    host_.log_fault(who_, "one-way request refused: " + error.message);
    return;
  }
  deliver({request_id, engine_.writer().error(request_id, error), {}, false});
}

void Session::fail(std::uint64_t request_id, const EdgeError& error) {
  host_.log_fault(who_, "disconnected: " + error.message);
  deliver({request_id, engine_.writer().error(request_id, error), {}, false});
  fail_later(error.message);
}

// Not at once: the engine may be in the middle of its effects.
void Session::fail_later(const std::string& why) {
  if (state_ == SessionState::kFailing || state_ == SessionState::kEnded) return;
  set_state(SessionState::kFailing);
  boost::asio::post(io_, [self = shared_from_this(), why] { self->end(why); });
}

void Session::deliver(const OutFrame& frame) {
  if (state_ == SessionState::kFailing || state_ == SessionState::kEnded) return;
  if (!outbox_.empty() || send_now(frame, {}) == Sent::kLater) enqueue(QueuedFrame::copy_of(frame));
}

Session::Sent Session::send_now(const OutFrame& frame, std::span<const UniqueFd> owned) {
  std::array<int, limits::kFrameFds> fds;
  std::size_t count = 0;
  for (const core::HandleId handle : frame.handles) {
    int fd = frame.read_only ? engine_.handles().get_read_only(handle) : -1;
    if (fd < 0) fd = engine_.handles().get(handle);
    if (fd < 0 || count == fds.size()) {
      host_.log_fault(
          who_, "disconnected: an answer names a handle that has ended; this is a defect, please report");
      fail_later("an answer names a handle that has ended");
      return Sent::kFailed;
    }
    fds[count++] = fd;
  }
  for (const UniqueFd& fd : owned) fds[count++] = fd.get();
  const auto outcome = send_packet(socket_.native_handle(), frame.bytes, {}, std::span(fds).first(count));
  if (!outcome) {
    host_.log_fault(who_, "disconnected: " + outcome.error().text());
    fail_later(outcome.error().text());
    return Sent::kFailed;
  }
  switch (*outcome) {
    case SendOutcome::kSent:
      return Sent::kSent;
    case SendOutcome::kPeerGone:
      fail_later("the peer closed");
      return Sent::kFailed;
    case SendOutcome::kTooManyInFlight:
      if (!std::exchange(too_many_in_flight_logged_, true)) {
        host_.log_fault(
            who_,
            "answers wait: ETOOMANYREFS, more descriptors are sent and unread than RLIMIT_NOFILE of "
            "the daemon's user (" +
                std::to_string(engine_.config().fd_limit) + ")");
      }
      // The socket itself is writable: a wait for that would spin.
      retry_soon();
      return Sent::kLater;
    case SendOutcome::kWouldBlock:
      wait_writable();
      return Sent::kLater;
  }
  return Sent::kFailed;
}

void Session::enqueue(QueuedFrame frame) {
  if (state_ == SessionState::kFailing || state_ == SessionState::kEnded) return;
  const bool was_empty = outbox_.empty();
  if (!outbox_.push(std::move(frame))) {
    host_.log_fault(who_, "disconnected: it does not read its answers; " + std::to_string(outbox_.bytes()) +
                              " bytes and " + std::to_string(outbox_.fds()) +
                              " descriptors wait, the limits are " + std::to_string(limits::kOutboxBytes) +
                              " and " + std::to_string(limits::kOutboxFds));
    return fail_later("outbox full");
  }
  if (!was_empty) return;
  engine_.set_backlogged(*this, true);
  end_at(monotonic_now() + limits::kSlowReaderNs, "it did not read its answers for 10 s");
}

void Session::wait_writable() {
  socket_.async_wait(boost::asio::posix::descriptor_base::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!error) self->flush();
                     });
}

void Session::retry_soon() {
  auto timer = std::make_shared<boost::asio::steady_timer>(io_, std::chrono::milliseconds(10));
  timer->async_wait([self = shared_from_this(), timer](const boost::system::error_code& error) {
    if (!error) self->flush();
  });
}

void Session::flush() {
  if (state_ == SessionState::kFailing || state_ == SessionState::kEnded) return;
  while (!outbox_.empty()) {
    const QueuedFrame& next = outbox_.front();
    const Sent sent = send_now({next.request_id, next.bytes, next.handles, next.read_only}, next.owned);
    if (sent != Sent::kSent) return;
    outbox_.pop();
  }
  engine_.set_backlogged(*this, false);
  deadline_.cancel();
  wait_readable();
}

void Session::set_validity(std::uint32_t slot, std::uint32_t value) {
  if (slot >= limits::kSessionLeases) return;
  if (slot >= words_.size()) words_.resize(slot + 1);
  words_[slot] = value;
  page_.store(slot, value);
}

void Session::drop_handles(std::span<const core::HandleId> handles, const Outbox::GoneFrame& gone) {
  outbox_.drop_handles(handles, gone);
}

}  // namespace hb::ipc
