// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/audit_admin.h"

#include <string>

namespace hb::ipc {
namespace {

core::Audit scope_added(const ScopeAdd& asked, const ScopeAdded& added) {
  core::Audit audit;
  audit.kind = core::AuditKind::kScopeAdded;
  audit.who = "scope " + asked.name;
  audit.reason = added.directory;
  if (!asked.uids.empty()) audit.reason += ", for " + std::to_string(asked.uids.size()) + " uids";
  if (!asked.total.empty()) audit.reason += ", in all " + text_of(asked.total);
  if (!asked.each.empty()) audit.reason += ", each " + text_of(asked.each);
  return audit;
}

core::Audit scope_removed(const ScopeRemove& asked, const ScopeRemoved& removed) {
  core::Audit audit;
  audit.kind = core::AuditKind::kScopeRemoved;
  audit.who = "scope " + asked.name;
  audit.reason = "with " + std::to_string(removed.sessions) + " sessions, " +
                 std::to_string(removed.exports) + " exports of " + std::to_string(removed.bytes) +
                 " bytes, " + std::to_string(removed.tickets) + " tickets and " +
                 std::to_string(removed.groups) + " groups";
  audit.count = removed.exports;
  return audit;
}

core::Audit quota_set(const QuotaSet& asked, const QuotaWasSet& set) {
  core::Audit audit;
  audit.kind = core::AuditKind::kQuotaSet;
  audit.who = text_of_whose(asked.scope.empty() ? "main" : asked.scope, asked.uid, asked.gid);
  if (asked.clear) audit.reason = "what was set before was cleared";
  if (!asked.limits.empty()) audit.reason += (asked.clear ? "; " : "") + text_of(asked.limits);
  audit.count = set.sessions;
  return audit;
}

}  // namespace

core::Audit audit_of(const Reloaded& reloaded) {
  core::Audit audit;
  audit.kind = core::AuditKind::kPolicyReloaded;
  audit.count = reloaded.sessions;
  if (!reloaded.errors.empty()) {
    audit.status = HB_INVALID;
    audit.reason = "nothing has changed, " + std::to_string(reloaded.errors.size()) +
                   " errors; the first: " + reloaded.errors.front();
    return audit;
  }
  audit.reason = (reloaded.file.empty() ? std::string("built in") : reloaded.file) + ": " +
                 std::to_string(reloaded.rules) + " rules, " + std::to_string(reloaded.overrides) +
                 " overrides";
  return audit;
}

std::optional<core::Audit> audit_of(const AdminRequest& asked, const AdminReply& reply) {
  if (const auto* add = std::get_if<ScopeAdd>(&asked)) return scope_added(*add, std::get<ScopeAdded>(reply));
  if (const auto* remove = std::get_if<ScopeRemove>(&asked))
    return scope_removed(*remove, std::get<ScopeRemoved>(reply));
  if (const auto* set = std::get_if<QuotaSet>(&asked)) return quota_set(*set, std::get<QuotaWasSet>(reply));
  if (std::holds_alternative<Reload>(asked)) return audit_of(std::get<Reloaded>(reply));
  return std::nullopt;
}

}  // namespace hb::ipc
