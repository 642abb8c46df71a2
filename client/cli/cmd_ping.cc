// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <fmt/format.h>
#include <poll.h>

#include <chrono>

#include "cmd.h"
#include "exit_codes.h"
#include "format.h"
#include "json.h"
#include "number.h"
#include "sandbox_view.h"

namespace hb::cli {
namespace {

// A daemon that is starting has no socket yet, and nothing announces it: look again until the deadline.
Connection open_when_up(const Options& options, std::uint64_t deadline) {
  constexpr int kLookAgainMs = 10;
  for (;;) {
    try {
      return Connection::open(options);
    } catch (const Failure& failure) {
      if (failure.exit_code() != kNoDaemon || hb_deadline_in(0) >= deadline) throw;
    }
    (void)::poll(nullptr, 0, kLookAgainMs);
  }
}

Json counters_json(const hb_daemon_status& s) {
  return {{"sessions", s.sessions},
          {"exports", s.exports},
          {"allocations", s.allocations},
          {"bytes", s.bytes},
          {"leases", s.leases},
          {"waits", s.waits},
          {"stagings", s.stagings},
          {"ended_remembered", s.ended_remembered},
          {"fds_used", s.fds_used},
          {"fds_limit", s.fds_limit},
          {"fds_reserve", s.fds_reserve},
          {"closing", s.closing},
          {"quarantined", s.quarantined},
          {"ended_held", s.ended_held},
          {"tickets", s.tickets},
          {"groups", s.groups},
          {"events_pending", s.events_pending},
          {"in_flight", s.in_flight},
          {"in_flight_limit", s.in_flight_limit},
          {"answers_waiting", s.answers_waiting},
          {"sockets_unread", s.sockets_unread},
          {"log_waiting", s.log_waiting},
          {"log_dropped", s.log_dropped},
          {"audit_dropped", s.audit_dropped},
          {"audit_told", s.audit_told},
          {"parked", s.parked},
          {"parked_limit", s.parked_limit},
          {"store_entries", s.store_entries},
          {"store_entries_max", s.store_entries_max},
          {"records", s.records},
          {"records_bytes", s.records_bytes},
          {"awaited", s.awaited},
          {"restarts", s.restarts}};
}

std::string restart_text(const hb_daemon_status& s) {
  std::string out = fmt::format("restart-safe: {}", s.restart_safe != 0 ? "yes" : "no");
  if (s.restart_safe == 0) out += fmt::format(" ({})", safe(s.restart_reason));
  if (s.awaited != 0) out += fmt::format("; {} exports wait for their owners", s.awaited);
  if (s.draining != 0) out += "; drained: no new exports and sessions";
  return out + '\n';
}

std::string ping(const Options& options, double wait_s) {
  const Connection connection =
      wait_s > 0 ? open_when_up(options, deadline_of(wait_s)) : Connection::open(options);
  const hb_client_info& info = connection.info();
  hb_error error = HB_ERROR_INIT;
  std::uint64_t uptime = 0;
  const auto before = std::chrono::steady_clock::now();
  check(hb_ping(connection.client(), connection.deadline(), &uptime, &error), error);
  const auto taken = std::chrono::steady_clock::now() - before;
  const auto round_trip =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count());

  hb_daemon_status status = HB_DAEMON_STATUS_INIT;
  if (info.admin != 0)
    check(hb_daemon_get_status(connection.client(), connection.deadline(), &status, &error), error);

  if (options.json) {
    std::string broker;
    for (const std::uint8_t byte : info.broker_id) broker += fmt::format("{:02x}", byte);
    return dump({{"daemon", info.daemon},
                 {"socket", info.socket},
                 {"view", info.admin != 0 ? "admin" : "own"},
                 {"protocol", info.protocol},
                 {"broker_id", broker},
                 {"scope", info.scope},
                 {"uid", info.uid},
                 {"round_trip_ns", round_trip},
                 {"uptime_ns", uptime},
                 {"sandbox", sandbox_json(status.sandbox)},
                 {"restart_safe", info.admin != 0 ? Json(status.restart_safe != 0) : Json(nullptr)},
                 {"restart_reason", string_or_null(status.restart_reason)},
                 {"draining", info.admin != 0 ? Json(status.draining != 0) : Json(nullptr)},
                 {"counters", info.admin != 0 ? counters_json(status) : Json(nullptr)}});
  }
  std::string out = fmt::format("{} at {} answered in {}: up {}, protocol {}, {} view\n", safe(info.daemon),
                                safe(info.socket), format_latency(round_trip), format_age(uptime),
                                info.protocol, info.admin != 0 ? "admin" : fmt::format("uid {}'s", info.uid));
  if (info.admin != 0)
    out += fmt::format("{} sessions, {} exports of {}, {} leases, {} of {} descriptors\n", status.sessions,
                       status.exports, format_bytes(status.bytes), status.leases, status.fds_used,
                       status.fds_limit) +
           fmt::format("sandbox: {}\n", sandbox_text(status.sandbox)) + restart_text(status);
  if (status.log_dropped + status.audit_dropped != 0)
    out += fmt::format(
        "{} lines of its log and {} audit records were lost: whoever reads its stderr or the journal does "
        "not\n",
        status.log_dropped, status.audit_dropped);
  return out;
}

}  // namespace

void add_ping(Cli& cli) {
  auto wait_s = std::make_shared<double>(0);
  CLI::App* verb = cli.app.add_subcommand("ping", "Ask the daemon whether it answers, and how fast");
  verb->fallthrough();
  verb->add_option("--wait", *wait_s, "Keep asking for so long until a daemon is there")
      ->type_name("SECONDS")
      ->transform(seconds());
  verb->callback([&cli, wait_s] { cli.run = [&cli, wait_s] { return ping(cli.options, *wait_s); }; });
}

}  // namespace hb::cli
