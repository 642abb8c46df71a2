// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Longer than most files: one lock and one socket, and each rule about them is about the others.
#include "session.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "fd_room.h"
#include "verb.h"
#include "wire/key.h"
#include "wire/limits.h"
#include "wire/packet_socket.h"

namespace hb::client {
namespace {

int poll_timeout_ms(std::uint64_t deadline_ns) {
  if (deadline_ns == kNoDeadline) return -1;
  const std::uint64_t now = now_ns();
  if (now >= deadline_ns) return 0;
  // Rounded up: waking before the deadline would only poll again.
  return static_cast<int>(std::min<std::uint64_t>((deadline_ns - now + 999'999) / 1'000'000, 3'600'000));
}

}  // namespace

Error malformed(const msg::DecodeError& cause) {
  Error error;
  error.status = cause.kind == msg::DecodeError::Kind::kNoMemory ? HB_NO_MEMORY : HB_PROTO;
  error.message = "the daemon's " + std::string(cause.message) + " cannot be read: " + cause.text();
  return error;
}

Error error_of_reply(const Reply& reply) {
  Error error;
  const auto wire = msg::decode<msg::Error>(reply.body);
  if (!wire) return malformed(wire.error());
  error.status = wire->status < 0 ? wire->status : HB_PROTO;
  error.message = std::string(wire->message);
  error.what = std::string(wire->what);
  error.used = wire->used;
  error.limit = wire->limit;
  error.who = std::string(wire->who);
  error.sys_errno = wire->sys_errno;
  error.operation = std::string(wire->operation);
  error.chunk = wire->chunk == 0 ? -1 : static_cast<std::int64_t>(wire->chunk - 1);
  return error;
}

namespace {

// An error that answers no request is the daemon's last word. It may have closed before it was asked
// anything, and what it said is still there.
std::optional<Reply> last_word(int socket, std::span<std::byte> buffer) {
  for (;;) {
    const auto received = receive_packet(socket, buffer);
    if (!received || received->outcome != ReceiveOutcome::kPacket) return std::nullopt;
    const auto frame = decode_frame(buffer.first(received->bytes));
    if (!frame || frame->header.type != FrameType::kError || frame->header.request_id != 0) continue;
    Reply reply;
    reply.header = frame->header;
    reply.body.assign(frame->body.begin(), frame->body.end());
    return reply;
  }
}

}  // namespace

Session::Session(UniqueFd socket, std::string path, ProcessMark mark)
    : path_(std::move(path)),
      mark_(mark),
      socket_(std::make_unique<GuardedSocket>(std::move(socket), mark)),
      buffer_(limits::kFrameBytes) {}

Result<std::shared_ptr<Session>> Session::open(Connection connection, ProcessMark mark,
                                               std::uint64_t deadline_ns) {
  auto session = std::make_shared<Session>(std::move(connection.socket), std::move(connection.path), mark);
  if (auto hello = session->say_hello(deadline_ns); !hello) return tl::unexpected(hello.error());
  return session;
}

Result<void> Session::say_hello(std::uint64_t deadline_ns) {
  msg::Hello hello;
  hello.lowest_version = limits::kLowestVersion;
  hello.highest_version = limits::kHighestVersion;
  // A daemon that is started again keeps the session, and its request may come twice (session_resume.cc).
  const std::array<msg::Text, 1> features{"resume"};
  hello.features = features;
  hello.library = "libhipbroker " HIPBROKER_VERSION;
  auto reply = call(FrameType::kHello, as_bytes(encoded(hello)), {}, deadline_ns);
  if (!reply) {
    // Whatever came in between, nothing of this session is in use yet.
    reply.error().not_sent = false;
    return tl::unexpected(std::move(reply.error()));
  }
  hello_body_ = std::move(reply->body);
  auto body = msg::decode<msg::HelloReply>(hello_body_);
  if (!body) return fail(malformed(body.error()));
  if (body->broker_id.size() != sizeof(BrokerId))
    return fail(HB_PROTO, "the daemon's hello names a broker id of " +
                              std::to_string(body->broker_id.size()) + " bytes");
  if (body->version < limits::kLowestVersion || body->version > limits::kHighestVersion)
    return fail(HB_VERSION, "the daemon chose protocol version " + std::to_string(body->version) +
                                "; this library speaks " + std::to_string(limits::kLowestVersion) + " to " +
                                std::to_string(limits::kHighestVersion));
  hello_ = std::move(*body);
  return {};
}

Error Session::closed_error(bool not_sent) const {
  Error error;
  error.status = HB_CLOSED;
  error.message = "the session with \"" + path_ + "\" has ended" +
                  (end_reason_.empty() ? std::string() : ": " + end_reason_);
  error.not_sent = not_sent;
  return error;
}

Result<Session::Sent> Session::try_send(FrameType type, std::uint64_t id, std::span<const std::byte> body,
                                        std::span<const int> fds) {
  std::array<std::byte, kFrameHeaderBytes> head{};
  encode_frame_header(head, {type, 0, static_cast<std::uint16_t>(fds.size()), id},
                      static_cast<std::uint32_t>(body.size()));
  const auto outcome = send_packet(socket_->get(), head, body, fds);
  if (!outcome) {
    const hb_status status = outcome.error().code == EBADF ? HB_BAD_HANDLE : HB_SYSTEM;
    return fail(system_error(outcome.error(), std::string("sending the ") + verb(type), status));
  }
  switch (*outcome) {
    case SendOutcome::kSent:
      return Sent::kSent;
    case SendOutcome::kWouldBlock:
      return Sent::kWouldBlock;
    case SendOutcome::kPeerGone:
      if (type == FrameType::kHello) {
        if (const auto word = last_word(socket_->get(), buffer_)) return fail(error_of_reply(*word));
      }
      lose("the daemon closed the connection");
      return fail(closed_error(true));
    case SendOutcome::kTooManyInFlight:
      break;
  }
  Error error = limit_error(HB_NO_FDS, "RLIMIT_NOFILE", fds.size(), fd_room().limit,
                            "this user has more descriptors in unread messages than RLIMIT_NOFILE (" +
                                std::to_string(fd_room().limit) +
                                ") allows; raise the soft limit or export fewer at once");
  error.operation = "sendmsg";
  error.sys_errno = ETOOMANYREFS;
  error.who = "this user";
  return fail(std::move(error));
}

template <class Message>
void Session::post(FrameType type, const Message& message) noexcept {
  try {
    unsent_.push_back({type, encoded(message)});
    flush_unsent();
  } catch (...) {
    // Out of memory: the end of the session gives back what this frame would have.
  }
}

Result<Reply> Session::call(FrameType type, std::span<const std::byte> body, std::span<const int> fds,
                            std::uint64_t deadline_ns, Late late) {
  if (body.size() > limits::kFrameBytes - kFrameHeaderBytes)
    return fail(limit_error(HB_RANGE, "frame", body.size() + kFrameHeaderBytes, limits::kFrameBytes,
                            std::string("the ") + verb(type) + " is " + std::to_string(body.size()) +
                                " bytes long; a frame holds " + std::to_string(limits::kFrameBytes)));
  Pending::Waiter waiter;
  Lock lock(lock_);
  // Answers that nobody waits for first: they may free what this request needs, a name for example.
  // And events are taken out of the daemon: who asks before it has read that the daemon is a new one would
  // have to ask twice.
  if ((pending_.has_abandoned() || type == FrameType::kTakeEvents) && !reading_) drain(lock);
  for (;;) {
    if (!is_lost()) flush_unsent();
    if (socket_ == nullptr || is_lost()) return fail(closed_error(true));
    if (again_.empty()) {
      auto sent = try_send(type, last_id_ + 1, body, fds);
      if (!sent) return tl::unexpected(std::move(sent.error()));
      if (*sent == Sent::kSent) break;
    }
    if (auto room = wait_for_room(lock, deadline_ns); !room) return tl::unexpected(std::move(room.error()));
  }
  waiter.id = ++last_id_;
  waiter.request = {type, body, fds};
  pending_.add(waiter);
  await(lock, waiter, deadline_ns);
  if (waiter.done || waiter.closed)
    pending_.remove(waiter);
  else
    pending_.abandon(waiter, late);
  if (!reading_) pending_.wake_one();
  if (waiter.done) {
    lock.unlock();
    if (waiter.reply.header.type == FrameType::kError) return fail(error_of_reply(waiter.reply));
    if (waiter.reply.header.type != type)
      return fail(HB_PROTO, std::string("the daemon answered the ") + verb(type) + " with another type, " +
                                std::to_string(static_cast<unsigned>(waiter.reply.header.type)));
    return std::move(waiter.reply);
  }
  if (waiter.closed) return fail(closed_error(false));
  if (late == Late::kAcquire || late == Late::kJoin) {
    msg::Cancel cancel;
    cancel.request_id = waiter.id;
    post(FrameType::kCancel, cancel);
  }
  return fail(HB_TIMEOUT,
              std::string("the daemon did not answer the ") + verb(type) + " before the deadline");
}

void Session::await(Lock& lock, Pending::Waiter& waiter, std::uint64_t deadline_ns) {
  while (!waiter.done && !waiter.closed) {
    if (!again_.empty() && !reading_) {
      const auto room = wait_for_room(lock, deadline_ns);
      flush_unsent();
      if (!room && !waiter.done && !waiter.closed) return;
      continue;
    }
    if (reading_) {
      if (deadline_ns == kNoDeadline) {
        waiter.wake.wait(lock);
      } else if (waiter.wake.wait_until(lock, time_point(deadline_ns)) == std::cv_status::timeout) {
        return;
      }
      continue;
    }
    reading_ = true;
    bool in_time = true;
    if (deadline_ns == kNoDeadline) {
      read_one(lock, ReceiveMode::kBlock);
    } else {
      ++pollers_;
      const int fd = socket_->get();
      lock.unlock();
      const auto readable = wait_socket(fd, WaitFor::kReadable, deadline_ns);
      lock.lock();
      --pollers_;
      if (!readable)
        lose(readable.error().text());
      else if (*readable)
        read_one(lock);
      else
        in_time = false;
    }
    reading_ = false;
    close_when_idle();
    if (!in_time) return;
  }
}

bool Session::read_one(Lock& lock, ReceiveMode mode) {
  if (socket_ == nullptr || is_lost()) return false;
  ++pollers_;
  const int fd = socket_->get();
  lock.unlock();
  auto received = receive_packet(fd, buffer_, mode);
  lock.lock();
  --pollers_;
  if (!received) {
    lose(received.error().text());
    return false;
  }
  switch (received->outcome) {
    case ReceiveOutcome::kWouldBlock:
      return false;
    case ReceiveOutcome::kEnd:
      lose("the daemon closed the connection");
      return false;
    case ReceiveOutcome::kBytesTruncated:
      lose("the daemon sent a frame longer than 64 KiB");
      return false;
    case ReceiveOutcome::kPacket:
    case ReceiveOutcome::kFdsTruncated:
      break;
  }
  const auto frame = decode_frame({buffer_.data(), received->bytes});
  if (!frame) {
    lose(std::string("the daemon sent a frame that cannot be read: ") + frame_error_text(frame.error()));
    return false;
  }
  if ((frame->header.flags & kFlagEvent) != 0) {
    if (frame->header.type == FrameType::kResumed) resumed(frame->body);
    return true;
  }
  Reply reply;
  reply.header = frame->header;
  reply.fds_truncated = received->outcome == ReceiveOutcome::kFdsTruncated;
  if (reply.fds_truncated) {
    received->fds.clear();
  } else if (received->fds.size() != frame->header.fd_count) {
    lose("the daemon announced " + std::to_string(frame->header.fd_count) + " descriptors and sent " +
         std::to_string(received->fds.size()));
    return false;
  }
  reply.body.assign(frame->body.begin(), frame->body.end());
  reply.fds = std::move(received->fds);
  if (reply.header.type == FrameType::kError && reply.header.request_id == 0) {
    if (!hello_body_.empty()) {
      lose("the daemon closed the connection: " + error_of_reply(reply).message);
      return false;
    }
    reply.header.request_id = last_id_;  // the hello is the only request that there is
  }
  if (auto unclaimed = pending_.deliver(std::move(reply))) take_back(std::move(*unclaimed));
  return true;
}

void Session::drain(Lock& lock) {
  reading_ = true;
  while (read_one(lock)) {
  }
  reading_ = false;
  close_when_idle();
}

void Session::take_back(Pending::Unclaimed unclaimed) {
  if (unclaimed.reply.header.type == FrameType::kError) return;
  if (unclaimed.late == Late::kAcquire) {
    if (const auto acquired = msg::decode<msg::AcquireReply>(unclaimed.reply.body)) {
      msg::Release release;
      release.lease_id = acquired->lease_id;
      post(FrameType::kRelease, release);
    }
  } else if (unclaimed.late == Late::kEvents) {
    if (const auto taken = msg::decode<msg::TakeEventsReply>(unclaimed.reply.body))
      late_events_.insert(late_events_.end(), taken->events.begin(), taken->events.end());
  } else if (unclaimed.late == Late::kJoin) {
    const auto joined = msg::decode<msg::JoinReply>(unclaimed.reply.body);
    if (!joined) return;
    msg::Leave leave;
    leave.group_id = joined->group_id;
    post(FrameType::kLeave, leave);
    for (const msg::Member& member : joined->members) {
      if (!member.grant) continue;
      msg::Release release;
      release.lease_id = member.grant->lease_id;
      post(FrameType::kRelease, release);
    }
  } else if (unclaimed.late == Late::kExport) {
    const auto exported = msg::decode<msg::ExportReply>(unclaimed.reply.body);
    if (!exported) return;
    if (exported->complete) {
      withdraw_locked(exported->export_id);
    } else {
      msg::ExportAbort abort;
      abort.export_id = exported->export_id;
      post(FrameType::kExportAbort, abort);
    }
  }
}

Result<void> Session::wait_for_room(Lock& lock, std::uint64_t deadline_ns) {
  // Whoever waits for room also reads, if no one does: a daemon whose answers nobody takes stops reading.
  const bool reader = !reading_;
  if (reader) reading_ = true;
  ++pollers_;
  pollfd poller{socket_->get(), static_cast<short>(POLLOUT | (reader ? POLLIN : 0)), 0};
  lock.unlock();
  const int ready = ::poll(&poller, 1, poll_timeout_ms(deadline_ns));
  lock.lock();
  --pollers_;
  if (reader) {
    if (ready > 0 && (poller.revents & POLLIN) != 0)
      while (read_one(lock)) {
      }
    reading_ = false;
    pending_.wake_one();
  }
  close_when_idle();
  if (ready == 0 && now_ns() >= deadline_ns)
    return fail(HB_TIMEOUT, "the daemon did not take the request before the deadline");
  return {};
}

void Session::flush_unsent() {
  if (!send_again()) return;
  std::size_t done = 0;
  while (done < unsent_.size() && socket_ != nullptr && !is_lost()) {
    const OneWay& frame = unsent_[done];
    // A withdrawal is a request even when nobody waits for its answer.
    const bool numbered = frame.type == FrameType::kWithdraw;
    auto sent = try_send(frame.type, numbered ? last_id_ + 1 : 0, as_bytes(frame.body), {});
    if (!sent || *sent == Sent::kWouldBlock) break;
    if (numbered) ++last_id_;
    ++done;
  }
  if (is_lost()) done = unsent_.size();
  unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<std::ptrdiff_t>(done));
}

bool Session::ack_step(std::uint64_t lease_id, std::uint64_t step) noexcept {
  const Lock lock(lock_);
  if (is_lost()) return false;
  msg::AckStep ack;
  ack.lease_id = lease_id;
  ack.step = step;
  post(FrameType::kAckStep, ack);
  return !is_lost();
}

void Session::release(std::uint64_t lease_id) noexcept {
  if (!mark_.is_here()) return;
  const Lock lock(lock_);
  if (is_lost()) return;
  msg::Release release;
  release.lease_id = lease_id;
  post(FrameType::kRelease, release);
}

void Session::leave_group(std::uint64_t group_id) noexcept {
  if (!mark_.is_here()) return;
  const Lock lock(lock_);
  if (is_lost()) return;
  msg::Leave leave;
  leave.group_id = group_id;
  post(FrameType::kLeave, leave);
}

void Session::unmapped(std::uint64_t lease_id) noexcept {
  if (!mark_.is_here()) return;
  const Lock lock(lock_);
  if (is_lost()) return;
  msg::Unmapped unmapped;
  unmapped.lease_id = lease_id;
  post(FrameType::kUnmapped, unmapped);
}

void Session::end_lease(std::uint64_t lease_id) noexcept {
  if (!mark_.is_here()) return;
  leases_.remove(lease_id);
  release(lease_id);
}

std::vector<msg::Event> Session::take_late_events() {
  const Lock lock(lock_);
  return std::exchange(late_events_, {});
}

void Session::abort_export(std::uint64_t export_id) noexcept {
  const Lock lock(lock_);
  if (is_lost()) return;
  msg::ExportAbort abort;
  abort.export_id = export_id;
  post(FrameType::kExportAbort, abort);
}

void Session::withdraw_locked(std::uint64_t export_id) noexcept {
  msg::Withdraw withdraw;
  withdraw.target = msg::Target::by_id(export_id);
  post(FrameType::kWithdraw, withdraw);
}

void Session::withdraw_unheard(std::uint64_t export_id) noexcept {
  const Lock lock(lock_);
  if (!is_lost()) withdraw_locked(export_id);
}

Result<const ValidityPage*> Session::validity(std::uint64_t deadline_ns) {
  {
    const Lock lock(lock_);
    if (validity_ != nullptr) return validity_.get();
  }
  auto reply = call(FrameType::kSharePage, as_bytes(encoded(msg::SharePage{})), {}, deadline_ns);
  if (!reply) return tl::unexpected(std::move(reply.error()));
  if (reply->fds_truncated) return fail(no_fds(fd_room(), 1, "the page of validity words"));
  const auto body = msg::decode<msg::SharePageReply>(reply->body);
  if (!body || reply->fds.size() != 1)
    return fail(HB_PROTO, "the daemon's page of validity words is malformed");
  auto page = ValidityPage::map(std::move(reply->fds[0]), body->slots);
  if (!page) return tl::unexpected(std::move(page.error()));
  const Lock lock(lock_);
  if (validity_ == nullptr) validity_ = std::move(*page);  // else another thread was first
  return validity_.get();
}

Result<Session::PageTurn> Session::page_turn(std::uint64_t deadline_ns) {
  Lock lock(lock_);
  while (page_busy_) {
    if (is_lost()) return fail(closed_error(true));
    if (deadline_ns == kNoDeadline)
      page_free_.wait(lock);
    else if (page_free_.wait_until(lock, time_point(deadline_ns)) == std::cv_status::timeout && page_busy_)
      return fail(HB_TIMEOUT, "another thread's acquire was still under way at the deadline");
  }
  page_busy_ = true;
  return PageTurn(this);
}

Session::PageTurn::~PageTurn() {
  if (session_ == nullptr) return;
  const Lock lock(session_->lock_);
  session_->page_busy_ = false;
  session_->page_free_.notify_one();
}

void Session::lose(const std::string& reason) {
  if (is_lost()) return;
  end_reason_ = reason;
  lost_.store(true, std::memory_order_relaxed);
  pending_.close_all();
  page_free_.notify_all();
  close_when_idle();
}

void Session::close_when_idle() {
  if (is_lost() && pollers_ == 0) socket_.reset();
}

void Session::close() noexcept {
  const Lock lock(lock_);
  lose("it was closed");
}

void Session::cut(const std::string& reason) noexcept {
  if (!mark_.is_here()) return;
  const Lock lock(lock_);
  // close() alone would wait for the thread that reads, and that one for a daemon that does not answer.
  if (socket_ != nullptr && !is_lost()) ::shutdown(socket_->get(), SHUT_RDWR);
  lose(reason);
}

}  // namespace hb::client
