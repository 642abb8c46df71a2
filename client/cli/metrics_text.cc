// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "metrics_text.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "quota_view.h"

namespace hb::cli {
namespace {

struct Counter {
  const char* name;
  const char* help;
  std::uint64_t hb_daemon_status::*value;
};
// Gauges all: a daemon that starts anew begins at nothing, and what it counts goes down, too.
constexpr std::array kCounters{
    Counter{"hipbroker_sessions", "Connections of clients.", &hb_daemon_status::sessions},
    Counter{"hipbroker_exports", "Exports that can be acquired.", &hb_daemon_status::exports},
    Counter{"hipbroker_allocations", "Pieces of memory that exports are made of, each once.",
            &hb_daemon_status::allocations},
    Counter{"hipbroker_exported_bytes", "Memory exported, each allocation once.", &hb_daemon_status::bytes},
    Counter{"hipbroker_leases", "Acquires not given back.", &hb_daemon_status::leases},
    Counter{"hipbroker_waiting_requests", "Requests that wait for something.", &hb_daemon_status::waits},
    Counter{"hipbroker_exports_half_sent", "Exports whose chunks are still coming.",
            &hb_daemon_status::stagings},
    Counter{"hipbroker_exports_ended_held", "Exports that have ended and that somebody still maps.",
            &hb_daemon_status::ended_held},
    Counter{"hipbroker_exports_ended_remembered", "Exports that have ended and whose keys are still known.",
            &hb_daemon_status::ended_remembered},
    Counter{"hipbroker_tickets", "Tickets that nobody has used yet.", &hb_daemon_status::tickets},
    Counter{"hipbroker_groups", "Groups of ranks.", &hb_daemon_status::groups},
    Counter{"hipbroker_events_pending", "Events that holders have not taken.",
            &hb_daemon_status::events_pending},
    Counter{"hipbroker_descriptors_in_flight", "Descriptors sent to clients that have not read them.",
            &hb_daemon_status::in_flight},
    Counter{"hipbroker_descriptors_in_flight_limit", "Of those at most.", &hb_daemon_status::in_flight_limit},
    Counter{"hipbroker_log_lines_lost", "Lines of the log that nobody took in time.",
            &hb_daemon_status::log_dropped},
    Counter{"hipbroker_audit_records_lost", "Audit records that the log did not take in time.",
            &hb_daemon_status::audit_dropped},
    Counter{"hipbroker_restart_safe", "1: a restart of the daemon would lose nothing of its own.",
            &hb_daemon_status::restart_safe},
    Counter{"hipbroker_restarts", "How often the daemon was started again with what it had.",
            &hb_daemon_status::restarts},
    Counter{"hipbroker_exports_awaited",
            "Exports whose memory a restart lost, until their owners bring it back.",
            &hb_daemon_status::awaited},
    Counter{"hipbroker_descriptors_parked", "Descriptors that outlive the daemon.",
            &hb_daemon_status::parked},
    Counter{"hipbroker_descriptors_parked_limit", "Of those at most.", &hb_daemon_status::parked_limit},
    Counter{"hipbroker_records_bytes", "Memory of the records that outlive the daemon.",
            &hb_daemon_status::records_bytes},
    Counter{"hipbroker_descriptors_used", "Descriptors that the daemon has open.",
            &hb_daemon_status::fds_used},
    Counter{"hipbroker_descriptors_limit", "The daemon's RLIMIT_NOFILE.", &hb_daemon_status::fds_limit},
    Counter{"hipbroker_descriptors_reserve", "Of the limit, kept free for replies.",
            &hb_daemon_status::fds_reserve},
    Counter{"hipbroker_descriptors_closing", "Descriptors of ended exports whose close has not returned.",
            &hb_daemon_status::closing},
    Counter{"hipbroker_descriptors_quarantined",
            "Descriptors that were refused and whose close has not returned.",
            &hb_daemon_status::quarantined},
};

void begin(std::string& out, std::string_view name, std::string_view help) {
  out += fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
}

std::string label(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string value_text(std::uint64_t value) { return value == UINT64_MAX ? "+Inf" : std::to_string(value); }

// One family over all accounts; bytes have their own, since a family has one unit.
struct Family {
  const char* name;
  const char* help;
  bool whole_scope;
  bool bytes;
  std::uint64_t hb_use::*value;
};
constexpr std::array kFamilies{
    Family{"hipbroker_account_used", "What a uid uses in a scope.", false, false, &hb_use::used},
    Family{"hipbroker_account_limit", "What a uid may use in a scope.", false, false, &hb_use::limit},
    Family{"hipbroker_account_used_bytes", "Memory that a uid exports in a scope.", false, true,
           &hb_use::used},
    Family{"hipbroker_account_limit_bytes", "Memory that a uid may export in a scope.", false, true,
           &hb_use::limit},
    Family{"hipbroker_scope_used", "What all uids of a scope use together.", true, false, &hb_use::used},
    Family{"hipbroker_scope_limit", "What all uids of a scope may use together.", true, false,
           &hb_use::limit},
    Family{"hipbroker_scope_used_bytes", "Memory that all uids of a scope export.", true, true,
           &hb_use::used},
    Family{"hipbroker_scope_limit_bytes", "Memory that all uids of a scope may export.", true, true,
           &hb_use::limit},
};

void add(std::string& out, const Family& family, std::span<const hb_account* const> accounts) {
  begin(out, family.name, family.help);
  for (const hb_account* account : accounts) {
    if ((account->whole_scope != 0) != family.whole_scope) continue;
    for (const hb_use& use : std::span(account->uses, account->use_count)) {
      if (is_bytes(use.resource) != family.bytes) continue;
      out += fmt::format("{}{{scope=\"{}\"", family.name, label(account->scope));
      if (!family.whole_scope) out += fmt::format(",uid=\"{}\"", account->uid);
      if (!family.bytes) out += fmt::format(",resource=\"{}\"", label(use.resource));
      out += fmt::format("}} {}\n", value_text(use.*family.value));
    }
  }
}

void add_up(std::string& out, bool up) {
  begin(out, "hipbroker_up", "1: the daemon answered.");
  out += fmt::format("hipbroker_up {}\n", up ? 1 : 0);
}

}  // namespace

std::string metrics_text(const hb_client_info& info, const hb_daemon_status& status,
                         std::span<const hb_account* const> accounts) {
  std::string out;
  add_up(out, true);
  begin(out, "hipbroker_info", "Always 1; what answers.");
  out +=
      fmt::format("hipbroker_info{{daemon=\"{}\",protocol=\"{}\"}} 1\n", label(info.daemon), info.protocol);
  begin(out, "hipbroker_uptime_seconds", "How long the daemon has been running.");
  out += fmt::format("hipbroker_uptime_seconds {:.3f}\n", static_cast<double>(status.uptime_ns) * 1e-9);
  for (const Counter& counter : kCounters) {
    begin(out, counter.name, counter.help);
    out += fmt::format("{} {}\n", counter.name, value_text(status.*counter.value));
  }
  for (const Family& family : kFamilies) add(out, family, accounts);
  return out;
}

std::string metrics_text_of_no_daemon() {
  std::string out;
  add_up(out, false);
  return out;
}

}  // namespace hb::cli
