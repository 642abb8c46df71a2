// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "observe/audit.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "wire/limits.h"

namespace hb::observe {
namespace {

std::uint64_t unix_now() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

bool can_repeat(core::AuditKind kind) {
  return kind == core::AuditKind::kRefused || kind == core::AuditKind::kQuota;
}

// By the admin or the daemon itself: nobody else can cause them.
bool is_of_peers(const core::Audit& audit) {
  return !audit.admin && (can_repeat(audit.kind) || audit.kind == core::AuditKind::kAcquired ||
                          audit.kind == core::AuditKind::kReleased || audit.kind == core::AuditKind::kRevoked);
}

// Who was refused what. By a guessed key the export differs each time, and the guessing is one thing.
std::string key_of(const core::Audit& audit) {
  std::string key;
  const auto add = [&](std::string_view part) { key.append(part).push_back('\0'); };
  add(scope_of(audit));
  add(std::to_string(audit.uid));
  add(audit.process == nullptr ? "" : std::to_string(audit.process->pid));
  add(audit.verb);
  add(std::to_string(audit.status));
  add(audit.what);
  if (audit.status != HB_NOT_FOUND) {
    add(std::to_string(audit.exported.value));
    add(audit.name);
    add(std::to_string(audit.owner_uid));
  }
  return key;
}

}  // namespace

void AuditTrail::add(core::Audit audit, core::Time now) {
  flush(now);
  if (can_repeat(audit.kind) && is_repeat(audit, now)) return;
  if (is_of_peers(audit) && !has_share(audit, now)) return;
  tell(std::move(audit));
}

bool AuditTrail::is_repeat(core::Audit& audit, core::Time now) {
  const std::string key = key_of(audit);
  const auto found = repeated_.find(key);
  if (found != repeated_.end()) {
    ++found->second.count;
    found->second.last = std::move(audit);
    return true;
  }
  // Beyond that the shares are what bounds it.
  if (repeated_.size() >= limits::kAuditRepeats) return false;
  repeated_.emplace(key, Repeated{});
  periods_.emplace_back(now + kPeriodNs, key);
  return false;
}

bool AuditTrail::has_share(const core::Audit& audit, core::Time now) {
  if (shares_end_ == core::kNever) shares_end_ = now + kPeriodNs;
  Share& share = shares_[Principal(scope_of(audit), audit.uid)];
  if (share.told < limits::kAuditShare) {
    ++share.told;
    return true;
  }
  ++share.left_out;
  return false;
}

void AuditTrail::tell(core::Audit audit) {
  auto record = std::make_shared<const AuditRecord>(++last_number_, unix_now(), std::move(audit));
  kept_bytes_ += record->bytes();
  kept_.push_back(record);
  while (kept_.size() > limits::kAuditRecords || kept_bytes_ > limits::kAuditBytes) {
    kept_bytes_ -= kept_.front()->bytes();
    kept_.pop_front();
  }
  if (writer_ != nullptr) writer_->put(std::move(record));
}

void AuditTrail::tell_repeated(const std::string& key) {
  const auto found = repeated_.find(key);
  Repeated repeated = std::move(found->second);
  repeated_.erase(found);
  if (repeated.count == 0) return;
  repeated.last.count = repeated.count;
  tell(std::move(repeated.last));
}

void AuditTrail::tell_left_out() {
  shares_end_ = core::kNever;
  for (auto& [who, share] : std::exchange(shares_, {})) {
    if (share.left_out == 0) continue;
    core::Audit audit;
    audit.kind = core::AuditKind::kLeftOut;
    audit.uid = who.second;
    // Of the process only the scope is known to hold for all of them.
    auto process = std::make_shared<core::ProcessInfo>();
    process->scope_name = who.first;
    audit.process = std::move(process);
    audit.count = share.left_out;
    tell(std::move(audit));
  }
}

core::Time AuditTrail::next_flush() const {
  const core::Time repeats = periods_.empty() ? core::kNever : periods_.front().first;
  return std::min(repeats, shares_end_);
}

void AuditTrail::flush(core::Time now) {
  while (!periods_.empty() && periods_.front().first <= now) {
    tell_repeated(periods_.front().second);
    periods_.pop_front();
  }
  if (shares_end_ <= now) tell_left_out();
}

void AuditTrail::flush_all() {
  for (; !periods_.empty(); periods_.pop_front()) tell_repeated(periods_.front().second);
  tell_left_out();
}

AuditTrail::Page AuditTrail::read(std::uint64_t after, std::uint64_t since_unix_ns, std::uint64_t max_records,
                                  std::size_t max_bytes) const {
  Page page;
  page.last = after;
  if (kept_.empty()) return page;
  const std::uint64_t oldest = kept_.front()->number();
  // Records that are not kept may be of the time that is asked for only if the oldest one kept is.
  if (oldest > after + 1 && kept_.front()->unix_ns() >= since_unix_ns) page.lost = oldest - after - 1;
  std::size_t bytes = 0;
  const std::uint64_t skipped = after >= oldest ? after - oldest + 1 : 0;
  for (std::size_t i = std::min<std::uint64_t>(skipped, kept_.size()); i < kept_.size(); ++i) {
    const AuditRecord& record = *kept_[i];
    if (record.unix_ns() < since_unix_ns) continue;
    if (max_records != 0 && page.records.size() == max_records) {
      page.more = true;
      break;
    }
    std::string json = record.line();
    if (bytes + json.size() > max_bytes && !page.records.empty()) {
      page.more = true;
      break;
    }
    bytes += json.size();
    page.last = record.number();
    page.records.push_back(std::move(json));
  }
  return page;
}

}  // namespace hb::observe
