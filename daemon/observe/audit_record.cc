// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "observe/audit_record.h"

#include <ctime>

#include <array>
#include <cstdio>
#include <utility>

#include "observe/json.h"
#include "wire/name.h"

namespace hb::observe {
namespace {

constexpr std::array<AuditKindText, 10> kKinds{{
    {"acquired", "0568d7a9be45440a90e9b338813af114"},
    {"released", "790ebff21053432ba4b6955d89d43aee"},
    {"refused", "2ae5f7103ecc40019937f66bb91b38ec"},
    {"quota", "c8baaf7a65754c3b82963d8aacc87aa8"},
    {"revoked", "3dbd0224c09d4ace924d3ddfb5e33524"},
    {"scope-added", "a1d61b2ee1fc4fc5bac5197422a88445"},
    {"scope-removed", "16fb221a6e714f71ac15d048a2d56caa"},
    {"policy-reloaded", "96481539568e4b45a9da2e436b43eddd"},
    {"quota-set", "1a14055cbf4e439b8f12bc894fc51536"},
    {"left-out", "6c2bdcbab4cb4cdeb2190de725f01794"},
}};

std::string status_name(hb_status status) {
  switch (status) {
    case HB_DENIED:
      return "HB_DENIED";
    case HB_QUOTA:
      return "HB_QUOTA";
    case HB_NO_FDS:
      return "HB_NO_FDS";
    case HB_PROTO:
      return "HB_PROTO";
    case HB_VERSION:
      return "HB_VERSION";
    case HB_BAD_HANDLE:
      return "HB_BAD_HANDLE";
    case HB_UNTRUSTED:
      return "HB_UNTRUSTED";
    case HB_NOT_FOUND:
      return "HB_NOT_FOUND";
    default:
      return std::to_string(status);
  }
}

std::string time_text(std::uint64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 48> out;
  const std::size_t length = std::strftime(out.data(), out.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(out.data() + length, out.size() - length, ".%06uZ",
                static_cast<unsigned>(unix_ns % 1'000'000'000 / 1'000));
  return out.data();
}

std::string seconds_text(std::uint64_t ns) {
  std::array<char, 40> out;
  std::snprintf(out.data(), out.size(), "%llu.%06u", static_cast<unsigned long long>(ns / 1'000'000'000),
                static_cast<unsigned>(ns % 1'000'000'000 / 1'000));
  return out.data();
}

bool names_export(const core::Audit& audit) { return audit.exported || !audit.name.empty(); }

std::string export_json(const core::Audit& audit) {
  JsonObject out;
  if (audit.exported) out.add("id", audit.exported.value);
  if (!audit.name.empty()) out.add("name", audit.name);
  // By a key that names nothing the owner is not known.
  if (audit.generation != 0 || !audit.name.empty()) out.add("owner_uid", audit.owner_uid);
  if (audit.generation != 0) out.add("generation", audit.generation);
  return out.done();
}

std::string export_text(const core::Audit& audit) {
  std::string out = "export";
  if (audit.exported) out += " " + std::to_string(audit.exported.value);
  if (!audit.name.empty()) out += " \"" + escape_for_display(audit.name) + "\"";
  if (audit.generation != 0 || !audit.name.empty()) out += " of uid " + std::to_string(audit.owner_uid);
  return out;
}

// As in syslog(3): what somebody was not let do is a warning.
int priority_of(core::AuditKind kind) {
  switch (kind) {
    case core::AuditKind::kAcquired:
    case core::AuditKind::kReleased:
      return 6;
    case core::AuditKind::kRefused:
    case core::AuditKind::kQuota:
    case core::AuditKind::kLeftOut:
      return 4;
    default:
      return 5;
  }
}

}  // namespace

const AuditKindText& text_of(core::AuditKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

std::string_view scope_of(const core::Audit& audit) {
  if (audit.process == nullptr || audit.process->scope_name.empty()) return "main";
  return audit.process->scope_name;
}

std::size_t AuditRecord::bytes() const {
  return sizeof *this + audit_.name.capacity() + audit_.reason.capacity() + audit_.what.capacity() +
         audit_.who.capacity() + (audit_.process == nullptr ? 0 : 256);
}

std::string AuditRecord::line() const {
  const core::Audit& a = audit_;
  JsonObject out;
  out.add("number", number_).add("time", time_text(unix_ns_)).add("event", text_of(a.kind).name);
  out.add("scope", scope_of(a)).add("uid", a.uid);
  if (a.process != nullptr && a.process->pid != 0)
    out.add("pid", a.process->pid);
  else
    out.add_null("pid");
  if (a.process != nullptr && !a.process->command.empty()) out.add("command", a.process->command);
  if (a.admin) out.add_raw("admin", "true");
  if (names_export(a)) out.add_raw("export", export_json(a));
  if (!a.verb.empty()) out.add("verb", a.verb);
  if (a.status != HB_OK) out.add("status", status_name(a.status));
  if (!a.reason.empty()) out.add("reason", a.reason);
  if (!a.what.empty()) out.add("what", a.what).add("used", a.used).add("limit", a.limit);
  if (!a.who.empty()) out.add("who", a.who);
  out.add("count", a.count);
  if (a.kind == core::AuditKind::kReleased) out.add_raw("held_s", seconds_text(a.held_ns));
  return out.done();
}

std::string AuditRecord::message() const {
  const core::Audit& a = audit_;
  std::string out = "uid " + std::to_string(a.uid);
  const bool known = a.process != nullptr && a.process->pid != 0;
  out += known ? ", pid " + std::to_string(a.process->pid) : std::string(", pid unknown");
  if (a.process != nullptr && !a.process->command.empty())
    out += " (" + escape_for_display(a.process->command) + ")";
  out.append(" in scope ").append(scope_of(a)).append(": ").append(text_of(a.kind).name);
  if (!a.verb.empty()) out.append(", ").append(a.verb);
  if (names_export(a)) out += ", " + export_text(a);
  if (a.status != HB_OK) out += ", " + status_name(a.status);
  if (!a.reason.empty()) out += ", " + a.reason;
  if (a.count > 1) out += ", " + std::to_string(a.count) + " times";
  if (a.kind == core::AuditKind::kReleased) out += ", after " + seconds_text(a.held_ns) + " s";
  return out;
}

std::vector<std::string> AuditRecord::fields() const {
  const core::Audit& a = audit_;
  std::vector<std::string> out;
  const auto add = [&](std::string_view field, std::string_view value) {
    out.emplace_back(field).append("=").append(value);
  };
  const auto number = [&](std::string_view field, std::uint64_t value) { add(field, std::to_string(value)); };
  add("MESSAGE", message());
  number("PRIORITY", static_cast<std::uint64_t>(priority_of(a.kind)));
  add("MESSAGE_ID", text_of(a.kind).message_id);
  add("HIPBROKER_EVENT", text_of(a.kind).name);
  number("HIPBROKER_NUMBER", number_);
  add("HIPBROKER_SCOPE", scope_of(a));
  number("HIPBROKER_UID", a.uid);
  if (a.process != nullptr && a.process->pid != 0) number("HIPBROKER_PID", a.process->pid);
  if (a.process != nullptr && !a.process->command.empty())
    add("HIPBROKER_COMMAND", escape_for_display(a.process->command));
  if (a.admin) add("HIPBROKER_ADMIN", "1");
  if (a.exported) number("HIPBROKER_EXPORT_ID", a.exported.value);
  if (!a.name.empty()) add("HIPBROKER_EXPORT_NAME", escape_for_display(a.name));
  if (a.generation != 0 || !a.name.empty()) number("HIPBROKER_OWNER_UID", a.owner_uid);
  if (a.generation != 0) number("HIPBROKER_GENERATION", a.generation);
  if (!a.verb.empty()) add("HIPBROKER_VERB", a.verb);
  if (a.status != HB_OK) add("HIPBROKER_STATUS", status_name(a.status));
  if (!a.reason.empty()) add("HIPBROKER_REASON", a.reason);
  if (!a.what.empty()) {
    add("HIPBROKER_WHAT", a.what);
    number("HIPBROKER_USED", a.used);
    number("HIPBROKER_LIMIT", a.limit);
  }
  if (!a.who.empty()) add("HIPBROKER_WHO", a.who);
  number("HIPBROKER_COUNT", a.count);
  if (a.kind == core::AuditKind::kReleased) add("HIPBROKER_HELD_SECONDS", seconds_text(a.held_ns));
  return out;
}

}  // namespace hb::observe
