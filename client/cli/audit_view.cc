// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "audit_view.h"

#include <fmt/format.h>

#include "text.h"
#include "wire/name.h"

namespace hb::cli {
namespace {

std::string text_in(const Json& record, const char* key) {
  const auto found = record.find(key);
  return found == record.end() || !found->is_string() ? std::string()
                                                      : escape_for_display(found->get<std::string>());
}

std::uint64_t number_in(const Json& record, const char* key) {
  const auto found = record.find(key);
  return found == record.end() || !found->is_number_unsigned() ? 0 : found->get<std::uint64_t>();
}

std::string export_in(const Json& record) {
  const auto found = record.find("export");
  if (found == record.end() || !found->is_object()) return {};
  std::string out = " export";
  if (found->contains("id")) out += fmt::format(" {}", number_in(*found, "id"));
  if (found->contains("name")) out += fmt::format(" \"{}\"", text_in(*found, "name"));
  if (found->contains("owner_uid")) out += fmt::format(" of uid {}", number_in(*found, "owner_uid"));
  return out;
}

}  // namespace

bool is_shown(const Json& record, const AuditFilter& filter) {
  if (!filter.kind.empty() && text_in(record, "event") != filter.kind) return false;
  return !filter.uid || number_in(record, "uid") == *filter.uid;
}

std::string audit_line(const Json& record) {
  const std::string kind = text_in(record, "event");
  const std::uint64_t count = number_in(record, "count");
  const std::uint64_t pid = number_in(record, "pid");
  std::string out =
      fmt::format("{} {:<9} {}: uid {}, pid {}", text_in(record, "time"), kind, text_in(record, "scope"),
                  number_in(record, "uid"), pid == 0 ? "unknown" : std::to_string(pid));
  if (const std::string command = text_in(record, "command"); !command.empty())
    out += fmt::format(" ({})", command);
  if (const std::string verb = text_in(record, "verb"); !verb.empty()) out += " " + verb;
  out += export_in(record);
  if (const std::string who = text_in(record, "who"); !who.empty()) out += fmt::format(" [{}]", who);
  if (const std::string status = text_in(record, "status"); !status.empty()) out += " " + status;
  // A sentence of the daemon: what it quotes is escaped already.
  if (const auto reason = record.find("reason"); reason != record.end() && reason->is_string())
    out += ": " + one_line(reason->get<std::string>());
  if (kind == "released")
    out += fmt::format(" acquired {} times in {} s", count, record.value("held_s", 0.0));
  else if (kind == "revoked")
    out += fmt::format(" from {} leases", count);
  else if (kind == "left-out")
    out += fmt::format(" {} records of this uid were left out", count);
  else if ((kind == "refused" || kind == "quota") && count > 1)
    out += fmt::format(" ({} times more)", count);
  return out;
}

}  // namespace hb::cli
