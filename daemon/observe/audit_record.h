// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One record of the audit trail as JSON and as fields of the journal. docs/audit.md lists both for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/effect.h"
#include "observe/writable.h"

namespace hb::observe {

struct AuditKindText {
  std::string_view name;
  std::string_view message_id;  // of the journal: fixed for ever
};
[[nodiscard]] const AuditKindText& text_of(core::AuditKind kind);

class AuditRecord : public Writable {
 public:
  AuditRecord(std::uint64_t number, std::uint64_t unix_ns, core::Audit audit)
      : number_(number), unix_ns_(unix_ns), audit_(std::move(audit)) {}

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::uint64_t unix_ns() const { return unix_ns_; }
  [[nodiscard]] Stream stream() const override { return Stream::kAudit; }
  [[nodiscard]] std::size_t bytes() const override;
  [[nodiscard]] std::string line() const override;  // JSON
  [[nodiscard]] std::vector<std::string> fields() const override;

 private:
  [[nodiscard]] std::string message() const;

  std::uint64_t number_;
  std::uint64_t unix_ns_;
  core::Audit audit_;
};

[[nodiscard]] std::string_view scope_of(const core::Audit& audit);

}  // namespace hb::observe
