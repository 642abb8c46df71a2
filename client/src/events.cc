// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "events.h"

#include <algorithm>
#include <utility>

#include "client.h"
#include "clock.h"
#include "fd_room.h"
#include "import.h"
#include "library_scope.h"

namespace hb::client {
namespace {

constexpr std::uint64_t kAnswerNs = 2'000'000'000;  // a daemon that does not answer must not hold a loop up
constexpr std::uint64_t kFirstPauseNs = 5'000'000;
constexpr std::uint64_t kLastPauseNs = 500'000'000;

// What a daemon that starts, is full or is slow answers for a while.
bool passes(hb_status status) {
  switch (status) {
    case HB_NO_DAEMON:
    case HB_TIMEOUT:
    case HB_CLOSED:
    case HB_QUOTA:
    case HB_NO_FDS:
    case HB_NO_MEMORY:
    case HB_DENIED:  // its socket has its mode only after it has its name
      return true;
    default:
      return false;
  }
}

bool ends(msg::Event::Kind kind) {
  return kind == msg::Event::Kind::kWithdrawn || kind == msg::Event::Kind::kRevoked ||
         kind == msg::Event::Kind::kGone || kind == msg::Event::Kind::kClaimed;
}

}  // namespace

Events::Turn::~Turn() {
  if (events_ == nullptr) return;
  std::unique_ptr<EventPort> unused;
  const std::lock_guard guard(events_->lock_);
  events_->busy_ = false;
  if (!events_->is_over()) return;
  events_->port_.store(nullptr);
  unused = std::move(events_->owned_port_);
}

Result<Events::Turn> Events::take_turn() {
  const std::lock_guard guard(lock_);
  if (is_over()) return fail(HB_CLOSED, "the client was closed");
  if (busy_)
    return fail(
        HB_BUSY,
        "events of this client are being dispatched already: by a handler's caller, another thread or "
        "hb_dispatch_loop");
  busy_ = true;
  return Turn(this);
}

Result<int> Events::fd() {
  if (const EventPort* const port = port_.load()) return port->fd();
  const auto turn = take_turn();
  if (!turn) {
    // Of a loop or a handler's caller, which has made it.
    if (const EventPort* const port = port_.load()) return port->fd();
    return tl::unexpected(turn.error());
  }
  if (auto begun = begin(); !begun) return tl::unexpected(std::move(begun.error()));
  return port_.load()->fd();
}

Result<void> Events::begin() {
  if (phase_ != Phase::kNew) return {};
  auto port = EventPort::make(client_.mark());
  if (!port) return tl::unexpected(std::move(port.error()));
  {
    const std::lock_guard guard(lock_);
    owned_port_ = std::move(*port);
    port_.store(owned_port_.get());
  }
  auto session = client_.last_session();
  Result<void> heard;
  if (!session->is_lost()) heard = subscribe(session);
  if (!heard && heard.error().status != HB_CLOSED) {
    const std::lock_guard guard(lock_);
    port_.store(nullptr);
    owned_port_.reset();
    return heard;
  }
  // Of a session that is lost already the next round tells.
  session_ = std::move(session);
  phase_ = Phase::kListening;
  if (session_->is_lost()) wake();
  return {};
}

Result<void> Events::subscribe(std::shared_ptr<Session> session) {
  auto reply = session->call(FrameType::kSubscribe, as_bytes(encoded(msg::Subscribe{})), {},
                             after_ns(kAnswerNs), Late::kIgnore);
  if (!reply) return tl::unexpected(std::move(reply.error()));
  if (reply->fds_truncated) return fail(no_fds(fd_room(), 1, "listening for events"));
  if (reply->fds.size() != 1)
    return fail(HB_PROTO, "the daemon's answer to a subscription brings no doorbell");
  if (auto hung = port_.load()->hang(std::move(reply->fds[0])); !hung) return hung;
  session_ = std::move(session);
  // What happened before is untold, and the bell may have rung for an older subscription.
  more_ = true;
  return {};
}

Result<std::uint64_t> Events::dispatch(const EventSink& sink) {
  const auto turn = take_turn();
  if (!turn) return tl::unexpected(turn.error());
  std::uint64_t told = 0;
  if (auto done = round(sink, told); !done) return tl::unexpected(std::move(done.error()));
  return told;
}

Result<void> Events::loop(const EventSink& sink) {
  const auto turn = take_turn();
  if (!turn) return tl::unexpected(turn.error());
  while (!stopped_.exchange(false)) {
    std::uint64_t told = 0;
    const auto done = round(sink, told);
    if (is_over()) return {};
    if (!done && (!passes(done.error().status) || port_.load() == nullptr)) return done;
    if (told == 0 && !stopped_.load()) port_.load()->wait();
    if (is_over()) return {};
  }
  if (port_.load() != nullptr && woken_.exchange(false)) set_alarm();
  return {};
}

Result<void> Events::round(const EventSink& sink, std::uint64_t& told) {
  if (auto begun = begin(); !begun) return begun;
  EventPort& port = *port_.load();
  if (woken_.exchange(false)) set_alarm();
  if (settled_.exchange(false) && phase_ == Phase::kListening) {
    std::vector<msg::Event> kept;
    session_->leases().take_settled(kept);
    for (const msg::Event& event : kept) tell(sink, told, event);
  }
  if (phase_ == Phase::kListening) {
    const auto heard = session_->is_lost() ? EventPort::Heard::kEnd : port.listen();
    if (heard == EventPort::Heard::kRing) more_ = true;
    if (heard == EventPort::Heard::kEnd) lose(sink, told);
  }
  if (phase_ == Phase::kLost && !is_over())
    if (auto found = look_for_daemon(sink, told); !found) return found;
  Result<void> taken;
  if (phase_ == Phase::kListening && more_ && !is_over()) {
    taken = take(sink, told);
    if (!taken && !is_over()) {
      if (session_->is_lost()) {
        lose(sink, told);
        return {};
      }
      try_again_later();
    }
  }
  revive();
  return taken;
}

// A program that only takes events brings over what it holds just so.
void Events::revive() {
  if (phase_ != Phase::kListening || is_over()) return;
  const bool was_due = client_.revival_due_ns() != kNoDeadline;
  client_.revive(after_ns(kAnswerNs));
  if (was_due || client_.revival_due_ns() != kNoDeadline) set_alarm();
}

Result<void> Events::look_for_daemon(const EventSink& sink, std::uint64_t& told) {
  if (now_ns() < again_at_) return {};
  auto session = client_.session_at_once();
  Result<void> heard;
  if (!session)
    heard = tl::unexpected(std::move(session.error()));
  else
    heard = subscribe(*session);
  if (!heard) {
    try_again_later();
    // Nobody has to be told each time that it is still not there.
    if (heard.error().status == HB_NO_DAEMON || heard.error().status == HB_CLOSED) return {};
    return heard;
  }
  phase_ = Phase::kListening;
  pause_ns_ = 0;
  set_alarm();
  tell_client(sink, told, HB_EVENT_SESSION_NEW);
  return {};
}

void Events::lose(const EventSink& sink, std::uint64_t& told) {
  // The doorbell may tell before the session's own socket was looked at.
  session_->cut("the daemon has gone");
  port_.load()->unhang();
  phase_ = Phase::kLost;
  more_ = false;
  again_at_ = 0;
  pause_ns_ = 0;
  set_alarm();
  tell_client(sink, told, HB_EVENT_SESSION_LOST);
}

void Events::try_again_later() noexcept {
  pause_ns_ = pause_ns_ == 0 ? kFirstPauseNs : std::min(pause_ns_ * 2, kLastPauseNs);
  again_at_ = after_ns(pause_ns_);
  set_alarm();
}

void Events::set_alarm() noexcept {
  std::uint64_t at = phase_ == Phase::kLost || pause_ns_ != 0 ? again_at_ : kNoDeadline;
  if (phase_ == Phase::kListening) at = std::min(at, client_.revival_due_ns());
  if (at == kNoDeadline)
    port_.load()->wake_never();
  else
    port_.load()->wake_at(at);
}

void Events::wake() noexcept {
  woken_.store(true);
  if (EventPort* const port = port_.load()) port->wake_at(0);
}

Result<void> Events::take(const EventSink& sink, std::uint64_t& told) {
  while (more_ && !is_over()) {
    const std::uint64_t restarts = session_->restarts();
    auto reply = session_->call(FrameType::kTakeEvents, as_bytes(encoded(msg::TakeEvents{})), {},
                                after_ns(kAnswerNs), Late::kEvents);
    std::vector<msg::Event> events = session_->take_late_events();
    Result<void> outcome;
    if (!reply) {
      outcome = tl::unexpected(std::move(reply.error()));
    } else if (const auto body = msg::decode<msg::TakeEventsReply>(reply->body); !body) {
      outcome = fail(malformed(body.error()));
    } else {
      // Asked twice because of a restart: the second answer is on its way, and is read with the next.
      more_ = body->more || session_->restarts() != restarts;
      events.insert(events.end(), body->events.begin(), body->events.end());
    }
    std::vector<msg::Event> sorted;
    for (const msg::Event& event : events) {
      if (event.lease_id == 0)
        sorted.push_back(event);
      else
        session_->leases().sort_in(event, sorted);
    }
    for (const msg::Event& event : sorted) tell(sink, told, event);
    if (!outcome) return outcome;
    if (std::exchange(pause_ns_, 0) != 0) set_alarm();
  }
  return {};
}

void Events::tell(const EventSink& sink, std::uint64_t& told, const msg::Event& event) {
  if (is_over()) return;
  hb_event out = HB_EVENT_INIT;
  out.kind = static_cast<std::uint32_t>(event.kind);
  out.lease_id = event.lease_id;
  out.export_id = event.export_id;
  out.generation = event.generation;
  out.layout_version = event.layout_version;
  out.bytes = event.size;
  out.first_chunk = event.first_chunk;
  out.chunk_count = event.chunk_count;
  if (event.lease_id == 0) {
    if (ends(event.kind)) client_.forget_export(event.export_id);
  } else {
    const ImportCache::Held held = client_.imports().hold(session_->leases(), event.lease_id);
    if (held.owner == LeaseIndex::Owner::kNobody) return;
    out.imported = held.imported;
  }
  struct GiveBack {
    hb_import* imported;
    ~GiveBack() {
      if (imported != nullptr) close_import(imported);
    }
  } const give_back{out.imported};
  const OutsideLibrary outside;
  ++told;
  sink.handler(&out, sink.userdata);
}

void Events::tell_client(const EventSink& sink, std::uint64_t& told, std::uint32_t kind) {
  if (is_over()) return;
  hb_event out = HB_EVENT_INIT;
  out.kind = kind;
  const OutsideLibrary outside;
  ++told;
  sink.handler(&out, sink.userdata);
}

void Events::stop() noexcept {
  stopped_.store(true);
  wake();
}

void Events::settle() noexcept {
  settled_.store(true);
  wake();
}

void Events::close() noexcept {
  const std::lock_guard guard(lock_);
  closed_.store(true);
  if (owned_port_ == nullptr) return;
  if (busy_) {
    owned_port_->wake_at(0);
    return;
  }
  port_.store(nullptr);
  owned_port_.reset();
}

}  // namespace hb::client
