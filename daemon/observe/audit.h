// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The audit trail: numbers what happened, keeps the last of it for who asks, and gives it to the writer.
// Nobody can bury what others did under records of his own: a refusal that repeats is counted and told once
// in a period, and one principal gets a share of the records. For the loop alone.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/effect.h"
#include "observe/audit_record.h"
#include "observe/writer.h"

namespace hb::observe {

class AuditTrail {
 public:
  static constexpr std::uint64_t kPeriodNs = 10'000'000'000;

  // Besides being kept, records go there.
  void write_to(Writer& writer) { writer_ = &writer; }

  // `now` of a clock that only rises.
  void add(core::Audit audit, core::Time now);
  // When something that was counted is to be told: core::kNever while there is nothing.
  [[nodiscard]] core::Time next_flush() const;
  void flush(core::Time now);
  // What was counted so far, whatever the time: at the end.
  void flush_all();

  struct Page {
    std::vector<std::string> records;  // JSON
    std::uint64_t last = 0;            // number of the last of them, or `after`
    bool more = false;
    std::uint64_t lost = 0;  // older ones that are not kept any more
  };
  // Those with a number above `after` that are not older, as many as fit.
  [[nodiscard]] Page read(std::uint64_t after, std::uint64_t since_unix_ns, std::uint64_t max_records,
                          std::size_t max_bytes) const;
  [[nodiscard]] std::uint64_t told() const { return last_number_; }

 private:
  struct Repeated {
    core::Audit last;
    std::uint64_t count = 0;  // since it was told
  };
  struct Share {
    std::uint64_t told = 0;
    std::uint64_t left_out = 0;
  };
  using Principal = std::pair<std::string, std::uint32_t>;  // scope, uid

  [[nodiscard]] bool is_repeat(core::Audit& audit, core::Time now);
  [[nodiscard]] bool has_share(const core::Audit& audit, core::Time now);
  void tell(core::Audit audit);
  void tell_repeated(const std::string& key);
  void tell_left_out();

  Writer* writer_ = nullptr;
  std::deque<std::shared_ptr<const AuditRecord>> kept_;
  std::size_t kept_bytes_ = 0;
  std::uint64_t last_number_ = 0;
  std::unordered_map<std::string, Repeated> repeated_;
  std::deque<std::pair<core::Time, std::string>> periods_;  // of the repeated, the first to end first
  std::map<Principal, Share> shares_;
  core::Time shares_end_ = core::kNever;
};

}  // namespace hb::observe
