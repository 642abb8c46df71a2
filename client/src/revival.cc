// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "revival.h"

#include <algorithm>

#include "client.h"
#include "import.h"
#include "reattach.h"
#include "reoffer.h"

namespace hb::client {
namespace {

constexpr std::uint64_t kSliceNs = 20'000'000;
constexpr std::uint64_t kAnswerNs = 2'000'000'000;  // a daemon that does not answer is asked later
constexpr std::uint64_t kFirstPauseNs = 5'000'000;
constexpr std::uint64_t kLastPauseNs = 1'000'000'000;
// A daemon forgets after its grace time what nobody brought back; nothing tells how long that is.
constexpr std::uint64_t kUnknownNs = 120'000'000'000;

// The caller's own request comes after this one.
std::uint64_t half_of(std::uint64_t deadline_ns) {
  const std::uint64_t now = now_ns();
  if (deadline_ns == kNoDeadline) return now + kAnswerNs;
  return std::min(now + (deadline_ns > now ? (deadline_ns - now) / 2 : 0), now + kAnswerNs);
}

}  // namespace

void Revival::Pause::lengthen(std::uint64_t most_ns) noexcept {
  length_ns = length_ns == 0 ? kFirstPauseNs : std::min(length_ns * 2, most_ns);
  next_ns = after_ns(length_ns);
}

Revival::Revival(Client& client) : client_(client) {}
Revival::~Revival() = default;
Revival::Export::Export(std::shared_ptr<ExportRecord> record)
    : work(std::make_unique<Reoffering>(std::move(record))) {}
Revival::Export::~Export() = default;

// Who is at it.
class Revival::Turn {
 public:
  explicit Turn(Revival& revival) : revival_(revival) {}
  ~Turn() {
    if (!taken_) return;
    std::uint64_t due = kNoDeadline;
    for (const Export& exported : revival_.exports_) due = std::min(due, exported.pause.next_ns);
    for (const Import& imported : revival_.imports_) due = std::min(due, imported.pause.next_ns);
    const std::lock_guard guard(revival_.lock_);
    revival_.busy_ = false;
    revival_.due_ns_ = due;
    revival_.idle_.store(
        due == kNoDeadline && revival_.fresh_exports_.empty() && revival_.fresh_imports_.empty(),
        std::memory_order_release);
    revival_.free_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  [[nodiscard]] bool take_now() {
    const std::lock_guard guard(revival_.lock_);
    return take();
  }
  [[nodiscard]] bool take_until(std::uint64_t deadline_ns) {
    Lock lock(revival_.lock_);
    while (!take()) {
      if (deadline_ns == kNoDeadline)
        revival_.free_.wait(lock);
      else if (revival_.free_.wait_until(lock, time_point(deadline_ns)) == std::cv_status::timeout)
        return take();
    }
    return true;
  }

 private:
  bool take() {
    if (!revival_.busy_) taken_ = revival_.busy_ = true;
    return taken_;
  }
  Revival& revival_;
  bool taken_ = false;
};

void Revival::begin(const std::shared_ptr<Session>& lost,
                    std::vector<std::shared_ptr<ExportRecord>> exports) {
  std::list<Import> imports;
  for (const std::uint64_t lease : lost->leases().imports())
    imports.push_back({lost, lease, after_ns(kUnknownNs), {}});
  if (!imports.empty()) {
    const std::lock_guard guard(lock_);
    fresh_imports_.splice(fresh_imports_.end(), imports);
    idle_.store(false, std::memory_order_release);
  }
  add(std::move(exports));
}

void Revival::add(std::vector<std::shared_ptr<ExportRecord>> exports) {
  if (exports.empty()) return;
  const std::lock_guard guard(lock_);
  for (auto& record : exports)
    if (!record->awaited.exchange(true)) fresh_exports_.emplace_back(std::move(record));
  idle_.store(false, std::memory_order_release);
}

void Revival::close() { closed_.store(true); }

std::uint64_t Revival::due_ns() const {
  if (is_idle()) return kNoDeadline;
  const std::lock_guard guard(lock_);
  // Another thread may go on, or may stop in the middle.
  if (busy_) return after_ns(kFirstPauseNs);
  return fresh_exports_.empty() && fresh_imports_.empty() ? due_ns_ : 0;
}

void Revival::take_in() {
  const std::lock_guard guard(lock_);
  exports_.splice(exports_.end(), fresh_exports_);
  imports_.splice(imports_.end(), fresh_imports_);
}

void Revival::some(const std::shared_ptr<Session>& session, std::uint64_t deadline_ns) {
  if (deadline_ns <= now_ns()) return;
  Turn turn(*this);
  if (!turn.take_now()) return;
  const std::uint64_t end = std::min(deadline_ns, after_ns(kSliceNs));
  while (!closed_.load() && !session->is_lost() && next(session, deadline_ns) && now_ns() < end) {
  }
}

Result<void> Revival::finish(const std::shared_ptr<Session>& session, const ExportRecord& record, bool whole,
                             std::uint64_t deadline_ns) {
  const auto is_there = [&] {
    return !record.is_live() || !record.awaited.load() || (!whole && record.session() == session);
  };
  Turn turn(*this);
  if (!turn.take_until(deadline_ns))
    return fail(HB_TIMEOUT, "another thread was still offering exports to the daemon again at the deadline");
  take_in();
  while (!is_there()) {
    const auto at = std::find_if(exports_.begin(), exports_.end(),
                                 [&](const Export& each) { return each.work->record().get() == &record; });
    if (at == exports_.end() || closed_.load() || session->is_lost()) break;
    if (reoffer(at, session, deadline_ns)) continue;
    if (session->is_lost()) break;
    Error error = at->work->trouble();
    error.message = "export " + std::to_string(record.id) +
                    " of the lost session could not be offered to the daemon again yet: " + error.message;
    error.not_sent = false;
    return fail(std::move(error));
  }
  return {};
}

bool Revival::next(const std::shared_ptr<Session>& session, std::uint64_t deadline_ns) {
  take_in();
  const std::uint64_t now = now_ns();
  const auto is_due = [now](const auto& work) { return work.pause.next_ns <= now; };
  if (const auto at = std::find_if(exports_.begin(), exports_.end(), is_due); at != exports_.end()) {
    reoffer(at, session, half_of(deadline_ns));
    return true;
  }
  if (const auto at = std::find_if(imports_.begin(), imports_.end(), is_due); at != imports_.end()) {
    attach(at, session, half_of(deadline_ns));
    return true;
  }
  return false;
}

// False: it has to wait.
bool Revival::reoffer(std::list<Export>::iterator at, const std::shared_ptr<Session>& session,
                      std::uint64_t deadline_ns) {
  const std::shared_ptr<ExportRecord> record = at->work->record();
  switch (at->work->step(session, client_.mark(), deadline_ns)) {
    case Reoffering::Step::kMore:
      at->pause = {};
      return true;
    case Reoffering::Step::kLater:
      // With the session it came under way in it begins anew at once.
      if (!session->is_lost()) at->pause.lengthen(kLastPauseNs);
      return false;
    case Reoffering::Step::kBack:
      break;
    case Reoffering::Step::kGone:
      if (!record->is_live()) break;
      record->end("was lost with its session and could not be offered to the daemon again: " +
                  at->work->trouble().message);
      client_.forget_export(record->id);
      break;
  }
  record->awaited.store(false);
  exports_.erase(at);
  return true;
}

void Revival::attach(std::list<Import>::iterator at, const std::shared_ptr<Session>& session,
                     std::uint64_t deadline_ns) {
  const ImportCache::Held held = client_.imports().hold(at->lost->leases(), at->lease);
  Reattached done = Reattached::kNever;
  bool unknown = false;
  if (held.imported != nullptr) {
    done = reattach(client_, session, *held.imported, deadline_ns, unknown);
    close_import(held.imported);
  } else if (held.owner == LeaseIndex::Owner::kComing) {
    done = Reattached::kLater;
  }
  if (done == Reattached::kLater && !(unknown && now_ns() >= at->until_ns))
    at->pause.lengthen(kLastPauseNs);
  else
    imports_.erase(at);
}

}  // namespace hb::client
