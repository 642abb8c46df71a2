// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What of a session outlives the daemon: its socket, its page of validity words, its doorbell. A session that
// lacks one of them ends with the daemon: its client would trust a page that nobody writes, or wait for a
// bell that nobody rings.
#include <sys/socket.h>

#include <array>
#include <boost/asio/error.hpp>
#include <utility>
#include <vector>

#include "ipc/session.h"
#include "restart/crash_point.h"
#include "wire/limits.h"
#include "wire/name.h"

namespace hb::ipc {

using restart::ParkedEntry;
using restart::ParkedKind;

bool Session::keeps() const { return id_ && edge_.resumes && engine_.continuity().has_store(); }

ParkedEntry Session::entry(ParkedKind kind) const {
  const std::uint32_t check = kind == ParkedKind::kValidityPage ? edge_.page
                              : kind == ParkedKind::kDoorbell   ? edge_.doorbell
                                                                : 0;
  return {kind, id_.value, check};
}

bool Session::park_socket() {
  if (!keeps()) return false;
  const bool parked = engine_.continuity().park(entry(ParkedKind::kSessionSocket),
                                                BorrowedFd::of_caller(socket_.native_handle()));
  restart::crash_point(restart::CrashPoint::kSessionParked);
  return parked;
}

// The next page is parked and recorded before the one before it goes: a session always has one that counts.
// Nothing: none any more, of a session that ends.
void Session::keep_page(UniqueFd memory) {
  const ParkedEntry before = entry(ParkedKind::kValidityPage);
  UniqueFd old = std::move(page_memory_);
  if (old) engine_.note_fds(-1);
  if (state_ == SessionState::kEnded) return;
  edge_.page = next_of(edge_.page);
  page_memory_ = std::move(memory);
  if (page_memory_) {
    engine_.note_fds(1);
    static_cast<void>(engine_.continuity().park(entry(ParkedKind::kValidityPage), page_memory_));
  }
  engine_.note_edge(id_, edge_.word());
  if (old) engine_.continuity().unpark(std::span(&before, 1));
}

void Session::set_doorbell(Doorbell doorbell) {
  const ParkedEntry before = entry(ParkedKind::kDoorbell);
  const Doorbell old = std::exchange(doorbell_, std::move(doorbell));
  if (!old) engine_.note_fds(1);
  if (!keeps()) return;
  edge_.doorbell = next_of(edge_.doorbell);
  static_cast<void>(engine_.continuity().park(entry(ParkedKind::kDoorbell), doorbell_.descriptor()));
  engine_.note_edge(id_, edge_.word());
  if (old) engine_.continuity().unpark(std::span(&before, 1));
}

// The core has forgotten the session, and so have the records.
void Session::unpark_all() {
  if (!keeps()) return;
  std::vector<ParkedEntry> entries{entry(ParkedKind::kSessionSocket)};
  if (page_memory_) entries.push_back(entry(ParkedKind::kValidityPage));
  if (doorbell_) entries.push_back(entry(ParkedKind::kDoorbell));
  engine_.continuity().unpark(entries);
}

bool Session::outlives() const {
  if (!keeps()) return false;
  const restart::Parking& parking = engine_.continuity().parking();
  return parking.is_parked(entry(ParkedKind::kSessionSocket)) &&
         (edge_.page == 0 || parking.is_parked(entry(ParkedKind::kValidityPage))) &&
         (!doorbell_ || parking.is_parked(entry(ParkedKind::kDoorbell)));
}

bool Session::resume(const core::Broker::Restored& recorded, Parked parked) {
  const EdgeNote edge = EdgeNote::of(recorded.edge);
  if (!edge.resumes || (edge.page != 0 && !parked.page) || (edge.doorbell != 0 && !parked.doorbell))
    return false;
  os::ValidityPage page;
  if (parked.page) {
    auto adopted = os::ValidityPage::adopt(parked.page);
    if (!adopted) return false;
    page = std::move(*adopted);
  }
  id_ = recorded.id;
  edge_ = edge;
  if (recorded.process) {
    process_ = *recorded.process;
    process_.cgroup = std::string();  // the core has it
    who_.command = escape_for_display(process_.command);
  }
  Continuity& continuity = engine_.continuity();
  continuity.adopt(entry(ParkedKind::kSessionSocket), BorrowedFd::of_caller(socket_.native_handle()));
  page_ = std::move(page);
  for (const auto& [slot, value] : engine_.words_of(id_)) set_validity(slot, value);
  if (parked.page) {
    page_memory_ = std::move(parked.page);
    engine_.note_fds(1);
    continuity.adopt(entry(ParkedKind::kValidityPage), page_memory_);
  }
  if (parked.doorbell) {
    doorbell_ = Doorbell::adopt(std::move(parked.doorbell));
    engine_.note_fds(1);
    continuity.adopt(entry(ParkedKind::kDoorbell), doorbell_.descriptor());
  }
  set_state(SessionState::kOpen);
  engine_.resume(recorded, *this);
  if (pidfd_.is_open()) watch_process();
  wait_readable();
  return true;
}

void Session::announce_resumed(std::uint64_t restarts) {
  if (state_ != SessionState::kOpen) return;
  deliver({0, engine_.writer().resumed(restarts, engine_.awaited_of(id_)), {}});
}

void Session::carry_out_left(std::span<const std::byte> frame) {
  const auto decoded = decode_frame(frame);
  if (!decoded || state_ != SessionState::kOpen) return;
  const Method* method = find_method(decoded->header.type);
  if (method == nullptr) return;
  if (!method->one_way) {
    // Its client sends it again, perhaps behind many that are younger.
    engine_.note_unanswered(id_, decoded->header.request_id);
    return;
  }
  if (decoded->header.fd_count != 0) return;
  Received received;
  received.outcome = ReceiveOutcome::kPacket;
  received.bytes = frame.size();
  on_packet(std::move(received), frame);
}

void Session::leave() {
  if (state_ == SessionState::kEnded) return;
  const auto self = shared_from_this();
  set_state(SessionState::kEnded);
  deadline_.cancel();
  boost::system::error_code ignored;
  pidfd_.close(ignored);
  // Not closed: that could wait for what is unread in it. The process's exit waits for less.
  static_cast<void>(socket_.release());
  host_.session_ended(*this);
}

}  // namespace hb::ipc
