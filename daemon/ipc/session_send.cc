// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A session's way out: at once where the socket takes it, through the outbox where not.
#include <array>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "core/audit.h"
#include "ipc/session.h"
#include "wire/limits.h"

namespace hb::ipc {

void Session::note_refused(const EdgeError& error) {
  if (!core::is_refusal(error.status, false)) return;
  note(core::refusal_of(error));
}

void Session::note(core::Audit audit) {
  audit.uid = who_.uid;
  audit.admin = principal_.admin;
  audit.process = std::make_shared<const core::ProcessInfo>(process_);
  audit.frame_type = frame_type_;
  engine_.note(std::move(audit));
}

void Session::answer(std::uint64_t request_id, const EdgeError& error) {
  note_refused(error);
  if (request_id == 0) {
    host_.log_fault(who_, "one-way request refused: " + error.message);
    return;
  }
  deliver({request_id, engine_.writer().error(request_id, error), {}});
}

void Session::fail(std::uint64_t request_id, const EdgeError& error) {
  note_refused(error);
  host_.log_fault(who_, "disconnected: " + error.message);
  deliver({request_id, engine_.writer().error(request_id, error), {}});
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
  for (const OutHandle& handle : frame.handles) {
    const UniqueFd* fd = handle.read_only ? engine_.handles().get_read_only(handle.id) : nullptr;
    if (fd == nullptr) fd = engine_.handles().get(handle.id);
    if (fd == nullptr || count == fds.size()) {
      const std::string why = fd == nullptr ? std::string("an answer names a handle that has ended")
                                            : "an answer carries " + std::to_string(frame.handles.size()) +
                                                  " descriptors, a frame " + std::to_string(fds.size());
      host_.log_fault(who_, "disconnected: " + why + "; this is a defect, please report");
      fail_later(why);
      return Sent::kFailed;
    }
    fds[count++] = fd->get();
  }
  for (const UniqueFd& fd : owned) fds[count++] = fd.get();
  if (!engine_.in_flight().admit(line_, count)) {
    engine_.in_flight().wait(line_);
    return Sent::kLater;
  }
  const auto outcome = send_packet(socket_.native_handle(), frame.bytes, {}, std::span(fds).first(count));
  if (!outcome || *outcome != SendOutcome::kSent) engine_.in_flight().give_back(line_, count);
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
      // The daemon's own are within their budget: others of its user have theirs unread.
      if (!std::exchange(too_many_in_flight_logged_, true)) {
        host_.log_fault(
            who_,
            "answers wait: programs of the daemon's own user have so many descriptors sent and unread that "
            "it may send none (ETOOMANYREFS); give hipbrokerd a user of its own, or raise LimitNOFILE");
      }
      engine_.in_flight().wait(line_);
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
  engine_.unanswered().add(who());
  if (!was_empty) return;
  engine_.set_backlogged(*this, true);
  expect_reader();
}

// Who has read all and waits because others have not is not the one to go.
void Session::expect_reader() {
  deadline_.expires_after(std::chrono::nanoseconds(limits::kSlowReaderNs));
  deadline_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (error || self->state_ == SessionState::kEnded) return;
    InFlight& in_flight = self->engine_.in_flight();
    if (self->line_.waits() && in_flight.all_read(self->line_)) {
      const auto [payer, fds] = in_flight.largest();
      self->host_.log_fault(
          self->who_, "its answers have waited for 10 s: " + std::to_string(in_flight.unread()) +
                          " descriptors are sent and unread, the daemon may have " +
                          std::to_string(in_flight.budget()) + "; most of them, " + std::to_string(fds) +
                          ", by uid " + std::to_string(payer.uid) +
                          ": end its processes, or raise LimitNOFILE");
      return self->expect_reader();
    }
    self->host_.log_fault(self->who_, "disconnected: it did not read its answers for 10 s");
    self->end("it did not read its answers");
  });
}

void Session::wait_writable() {
  socket_.async_wait(boost::asio::posix::descriptor_base::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!error) self->flush();
                     });
}

void Session::flush() {
  if (state_ == SessionState::kFailing || state_ == SessionState::kEnded) return;
  while (!outbox_.empty()) {
    const QueuedFrame& next = outbox_.front();
    const Sent sent = send_now({next.request_id, next.bytes, next.handles}, next.owned);
    if (sent != Sent::kSent) return;
    outbox_.pop();
    engine_.unanswered().remove(who());
  }
  engine_.set_backlogged(*this, false);
  deadline_.cancel();
  wait_readable();
}

void Session::deliver_owned(const OutFrame& frame, UniqueFd fd) {
  std::array<UniqueFd, 1> owned{std::move(fd)};
  if (outbox_.empty() && send_now(frame, owned) != Sent::kLater) return;
  QueuedFrame queued = QueuedFrame::copy_of(frame);
  queued.owned.push_back(std::move(owned[0]));
  enqueue(std::move(queued));
}

void Session::subscribe(const OutFrame& frame) {
  if (state_ == SessionState::kFailing || state_ == SessionState::kEnded) return;
  // Without a doorbell the core still takes the session for subscribed: events gather within their bound, are
  // taken by a later TakeEvents, and asking again is the way out.
  if (!doorbell_ && !engine_.has_room(1)) {
    return answer(frame.request_id, engine_.no_fds("the socket that tells of events could not be made"));
  }
  auto made = Doorbell::make();
  if (!made) {
    return answer(frame.request_id, engine_.system_error("the socket that tells of events", made.error()));
  }
  const bool again = static_cast<bool>(doorbell_);
  set_doorbell(std::move(made->doorbell));
  deliver_owned(frame, std::move(made->heard));
  if (again) ring();  // what the old one rang for may not have been taken
}

void Session::ring() {
  if (!doorbell_ || doorbell_.ring()) return;
  engine_.note_fds(-1);
  const restart::ParkedEntry gone = entry(restart::ParkedKind::kDoorbell);
  engine_.continuity().unpark(std::span(&gone, 1));
}

void Session::drop_doorbell() {
  if (!doorbell_) return;
  doorbell_ = {};
  engine_.note_fds(-1);
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
