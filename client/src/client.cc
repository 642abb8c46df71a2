// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "client.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "exports.h"

namespace hb::client {
namespace {

// Nothing announces a daemon that is not there; it is looked for at growing distances.
constexpr int kFirstRetryMs = 2;
constexpr int kLastRetryMs = 50;
constexpr std::uint64_t kHelloNs =
    1'000'000'000;  // of a daemon that accepted, where nothing else is waited for

void wait_before_retry(int delay_ms, std::uint64_t deadline_ns) {
  const std::uint64_t now = now_ns();
  const std::uint64_t end = std::min(deadline_ns, now + static_cast<std::uint64_t>(delay_ms) * 1'000'000u);
  if (end <= now) return;
  const timespec until{static_cast<time_t>(end / 1'000'000'000u), static_cast<long>(end % 1'000'000'000u)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

}  // namespace

Result<std::shared_ptr<Client>> Client::open(ClientOptions options) {
  auto mark = ProcessMark::take();
  if (!mark) return tl::unexpected(std::move(mark.error()));
  // A daemon that is started again has the connections whose hello it had answered, and not the others.
  constexpr int kAttempts = 4;
  for (int attempt = 1;; ++attempt) {
    auto connection = connect_daemon(options.connect, options.deadline_ns);
    if (!connection) return tl::unexpected(std::move(connection.error()));
    auto session = Session::open(std::move(*connection), *mark, options.deadline_ns);
    if (session) return std::make_shared<Client>(std::move(options), *mark, std::move(*session));
    if (session.error().status != HB_CLOSED || attempt == kAttempts)
      return tl::unexpected(std::move(session.error()));
  }
}

Client::Client(ClientOptions options, ProcessMark mark, std::shared_ptr<Session> session)
    : options_(std::move(options)),
      mark_(mark),
      session_(std::move(session)),
      imports_(options_.cache_bytes, stats_),
      revival_(*this),
      events_(*this) {}

void Client::close() {
  std::shared_ptr<Session> session;
  std::vector<std::shared_ptr<ExportRecord>> exports;
  {
    const std::lock_guard guard(lock_);
    closed_ = true;
    session = session_;
    exports.swap(exports_);
  }
  events_.close();
  revival_.close();
  for (const auto& record : exports) {
    record->end("ended with its client, which was closed");
    ExportRegistry::get().remove(*record);
  }
  session->close();
  imports_.drop_idle();
}

std::shared_ptr<Session> Client::last_session() const {
  const std::lock_guard guard(lock_);
  return session_;
}

Result<std::shared_ptr<Session>> Client::session(std::uint64_t deadline_ns) {
  auto current = living_session(deadline_ns);
  if (current) revive(*current, deadline_ns);
  return current;
}

void Client::revive(std::uint64_t deadline_ns) {
  if (const auto current = last_session(); !current->is_lost()) revive(current, deadline_ns);
}

void Client::revive(const std::shared_ptr<Session>& session, std::uint64_t deadline_ns) {
  if (session->has_awaited()) {
    const Session::Awaited awaited = session->take_awaited();
    std::vector<std::shared_ptr<ExportRecord>> records;
    for (auto& record : live_exports()) {
      const bool named = awaited.more || std::find(awaited.exports.begin(), awaited.exports.end(),
                                                   record->id) != awaited.exports.end();
      if (named && record->returns() && record->session() == session) records.push_back(std::move(record));
    }
    revival_.add(std::move(records));
  }
  if (!revival_.is_idle()) revival_.some(session, deadline_ns);
}

Result<std::shared_ptr<Session>> Client::session_of(ExportRecord& record, std::uint64_t deadline_ns,
                                                    Part part) {
  for (;;) {
    if (auto live = check_live(record); !live) return tl::unexpected(std::move(live.error()));
    auto own = record.session();
    if (part == Part::kHere) return own;
    if (own->has_awaited()) revive(own, 0);  // notes them, and does nothing yet
    if (!own->is_lost() && (!record.awaited.load() || part == Part::kKnown)) return own;
    auto current = living_session(deadline_ns);
    if (!current) return current;
    if (auto back = revival_.finish(*current, record, part == Part::kWhole, deadline_ns); !back)
      return tl::unexpected(std::move(back.error()));
    own = record.session();
    if (record.is_live() && !own->is_lost()) return own;
    if (now_ns() >= deadline_ns)
      return fail(HB_TIMEOUT, "the daemon went away while export " + std::to_string(record.id) +
                                  " was offered to it again");
  }
}

Result<std::shared_ptr<Session>> Client::living_session(std::uint64_t deadline_ns) {
  Lock lock(lock_);
  for (;;) {
    if (closed_) return fail(HB_CLOSED, "the client was closed");
    if (!session_->is_lost()) return session_;
    if (!connecting_) break;
    if (deadline_ns == kNoDeadline)
      connected_.wait(lock);
    else if (connected_.wait_until(lock, time_point(deadline_ns)) == std::cv_status::timeout && connecting_)
      return fail(HB_TIMEOUT, "the daemon went away and was not back at the deadline");
  }
  return connect_anew(lock, [&] { return reconnect(deadline_ns); });
}

Result<std::shared_ptr<Session>> Client::session_at_once() {
  Lock lock(lock_);
  if (closed_) return fail(HB_CLOSED, "the client was closed");
  if (!session_->is_lost()) return session_;
  if (connecting_) return fail(HB_NO_DAEMON, "another thread is looking for a daemon");
  return connect_anew(lock, [&] { return reconnect_once(0, after_ns(kHelloNs)); });
}

template <class Make>
Result<std::shared_ptr<Session>> Client::connect_anew(Lock& lock, Make&& make) {
  connecting_ = true;
  lock.unlock();
  Result<std::shared_ptr<Session>> made = make();
  lock.lock();
  connecting_ = false;
  connected_.notify_all();
  if (!made) return made;
  if (closed_) {
    (*made)->close();
    return fail(HB_CLOSED, "the client was closed");
  }
  replace_session(*made);
  return made;
}

Result<std::shared_ptr<Session>> Client::reconnect_once(std::uint64_t connect_until_ns,
                                                        std::uint64_t hello_until_ns) const {
  auto connection = connect_daemon(options_.connect, connect_until_ns);
  if (!connection) return tl::unexpected(std::move(connection.error()));
  auto session = Session::open(std::move(*connection), mark_, hello_until_ns);
  // A daemon on its way down hangs up on a hello: as good as not there.
  if (!session && session.error().status == HB_CLOSED) session.error().status = HB_NO_DAEMON;
  return session;
}

Result<std::shared_ptr<Session>> Client::reconnect(std::uint64_t deadline_ns) const {
  for (int delay_ms = kFirstRetryMs;; delay_ms = std::min(delay_ms * 2, kLastRetryMs)) {
    auto session = reconnect_once(deadline_ns, deadline_ns);
    if (session || session.error().status != HB_NO_DAEMON) return session;
    if (now_ns() >= deadline_ns) {
      Error last = std::move(session.error());
      last.message = "the daemon went away and was not back at the deadline: " + last.message;
      return fail(std::move(last));
    }
    wait_before_retry(delay_ms, deadline_ns);
  }
}

void Client::replace_session(std::shared_ptr<Session> session) {
  std::vector<std::shared_ptr<ExportRecord>> returning;
  for (const auto& record : exports_) {
    if (record->is_live() && record->returns()) {
      returning.push_back(record);
      continue;
    }
    ExportRegistry::get().remove(*record);
    const bool claimed = !record->terms_known && !record->token().empty();
    if (!record->withdrawn.load())
      record->end(std::string("ended with the session that made it") +
                  (claimed ? ": another process began it, and what it is made of is not known here" : ""));
  }
  exports_ = returning;
  revival_.begin(session_, std::move(returning));
  session_ = std::move(session);
  Stats::add(stats_.reconnects);
}

void Client::add_export(std::shared_ptr<ExportRecord> record) {
  ExportRegistry::get().add(record);
  const std::lock_guard guard(lock_);
  std::erase_if(exports_, [](const auto& old) { return !old->is_live(); });
  exports_.push_back(std::move(record));
}

std::vector<std::shared_ptr<ExportRecord>> Client::live_exports() const {
  const std::lock_guard guard(lock_);
  std::vector<std::shared_ptr<ExportRecord>> live;
  for (const auto& record : exports_)
    if (record->is_live()) live.push_back(record);
  return live;
}

std::vector<std::shared_ptr<ExportRecord>> Client::live_exports_over(const void* ptr,
                                                                     std::uint64_t bytes) const {
  auto live = live_exports();
  std::erase_if(live, [&](const auto& record) { return !record->covers(ptr, bytes); });
  return live;
}

void Client::forget_export(std::uint64_t id) {
  std::shared_ptr<ExportRecord> gone;
  {
    const std::lock_guard guard(lock_);
    const auto found =
        std::find_if(exports_.begin(), exports_.end(), [&](const auto& record) { return record->id == id; });
    if (found == exports_.end()) return;
    gone = std::move(*found);
    exports_.erase(found);
  }
  gone->withdrawn.store(true, std::memory_order_release);
  gone->forget_ranges();
  ExportRegistry::get().remove(*gone);
}

}  // namespace hb::client
