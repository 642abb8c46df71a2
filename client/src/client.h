// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One client: its session, which is made anew when the daemon went away, its exports, its imports, its
// counters. Lives as long as any handle made through it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "connect.h"
#include "events.h"
#include "export_record.h"
#include "import_cache.h"
#include "revival.h"
#include "session.h"
#include "stats.h"

namespace hb::client {

struct ClientOptions {
  ConnectOptions connect;
  std::uint64_t deadline_ns = kNoDeadline;
  std::uint64_t cache_bytes = 0;
};

class Client : public std::enable_shared_from_this<Client> {
 public:
  // Never connected before: HB_NO_DAEMON at once, whatever the deadline.
  [[nodiscard]] static Result<std::shared_ptr<Client>> open(ClientOptions options);
  Client(ClientOptions options, ProcessMark mark, std::shared_ptr<Session> session);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Ends the session. Handles made through this client stay to be destroyed.
  void close();

  // False in a forked child.
  [[nodiscard]] bool is_here() const noexcept { return mark_.is_here(); }
  [[nodiscard]] ProcessMark mark() const { return mark_; }

  // The session; a new one when the last was lost, for which the daemon is waited for until the deadline. A
  // slice of what has to be brought over to it is done then.
  [[nodiscard]] Result<std::shared_ptr<Session>> session(std::uint64_t deadline_ns);
  [[nodiscard]] std::shared_ptr<Session> last_session() const;
  // The session, or a new one if a daemon is there now: HB_NO_DAEMON where none is, or where another thread
  // is looking for one.
  [[nodiscard]] Result<std::shared_ptr<Session>> session_at_once();

  // Runs a request on the session. A session that was found dead before the request left it is replaced and
  // the request made there: only for requests that mean the same on every session.
  template <class Request>
  auto on_session(std::uint64_t deadline_ns, Request&& request)
      -> decltype(request(std::declval<const std::shared_ptr<Session>&>())) {
    constexpr int kAttempts = 4;  // a daemon that hangs up on every hello is not asked for ever
    for (int attempt = 1;; ++attempt) {
      auto current = session(deadline_ns);
      if (!current) return tl::unexpected(std::move(current.error()));
      auto result = request(*current);
      if (result || !result.error().not_sent || attempt == kAttempts) return result;
    }
  }

  // How much of an export that was lost with its session the daemon has to have again first.
  enum class Part : std::uint8_t {
    kHere,   // it is asked for in the session it has, lost or not
    kKnown,  // that it is ours
    kWhole,  // and its chunks
  };
  // Whose the export is then. HB_GONE and why when it has ended.
  [[nodiscard]] Result<std::shared_ptr<Session>> session_of(ExportRecord& record, std::uint64_t deadline_ns,
                                                            Part part);
  // As on_session().
  template <class Request>
  auto on_export(ExportRecord& record, std::uint64_t deadline_ns, Part part, Request&& request)
      -> decltype(request(std::declval<Session&>())) {
    constexpr int kAttempts = 4;
    for (int attempt = 1;; ++attempt) {
      auto current = session_of(record, deadline_ns, part);
      if (!current) return tl::unexpected(std::move(current.error()));
      auto result = request(**current);
      if (result || !result.error().not_sent || attempt == kAttempts || part == Part::kHere) return result;
    }
  }

  // What is due of that, in the current session.
  void revive(std::uint64_t deadline_ns);
  // When there is more; kNoDeadline: there is nothing.
  [[nodiscard]] std::uint64_t revival_due_ns() const { return revival_.due_ns(); }

  void add_export(std::shared_ptr<ExportRecord> record);
  // Not withdrawn, and of the current session or on their way to it; all of them, or those over any byte of
  // the range.
  [[nodiscard]] std::vector<std::shared_ptr<ExportRecord>> live_exports() const;
  [[nodiscard]] std::vector<std::shared_ptr<ExportRecord>> live_exports_over(const void* ptr,
                                                                             std::uint64_t bytes) const;
  void forget_export(std::uint64_t id);

  [[nodiscard]] ImportCache& imports() { return imports_; }
  [[nodiscard]] Events& events() { return events_; }
  [[nodiscard]] Stats& stats() { return stats_; }
  [[nodiscard]] const Stats& stats() const { return stats_; }

 private:
  using Lock = std::unique_lock<std::mutex>;
  // With the lock, which is not held meanwhile, and `connecting_` not set.
  template <class Make>
  [[nodiscard]] Result<std::shared_ptr<Session>> connect_anew(Lock& lock, Make&& make);
  [[nodiscard]] Result<std::shared_ptr<Session>> reconnect(std::uint64_t deadline_ns) const;
  [[nodiscard]] Result<std::shared_ptr<Session>> reconnect_once(std::uint64_t connect_until_ns,
                                                                std::uint64_t hello_until_ns) const;
  // Of the old session's exports those that can be offered again are, and its imports' leases are asked for
  // anew; the others are gone with it.
  void replace_session(std::shared_ptr<Session> session);
  [[nodiscard]] Result<std::shared_ptr<Session>> living_session(std::uint64_t deadline_ns);
  void revive(const std::shared_ptr<Session>& session, std::uint64_t deadline_ns);

  const ClientOptions options_;
  const ProcessMark mark_;
  mutable std::mutex lock_;
  std::shared_ptr<Session> session_;
  bool closed_ = false;
  bool connecting_ = false;
  std::condition_variable connected_;
  std::vector<std::shared_ptr<ExportRecord>> exports_;
  Stats stats_;
  ImportCache imports_;
  Revival revival_;
  Events events_;
};

}  // namespace hb::client
