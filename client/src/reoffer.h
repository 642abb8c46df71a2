// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One export of a lost session, or one whose descriptors the daemon has lost, on its way back to the daemon:
// its token and its terms first, then its chunks, a page at a time. It stays the same export: id, generation
// and key.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chunk_sender.h"
#include "export_plan.h"
#include "export_record.h"

namespace hb::client {

class Reoffering {
 public:
  explicit Reoffering(std::shared_ptr<ExportRecord> record) : record_(std::move(record)) {}

  enum class Step : std::uint8_t {
    kMore,   // there is more to do
    kLater,  // not now: trouble() says why
    kBack,   // it is an export of this session again
    kGone,   // it cannot come back: trouble() says why
  };
  // One request and its answer. Another session than the last time: it begins anew.
  [[nodiscard]] Step step(const std::shared_ptr<Session>& session, ProcessMark mark,
                          std::uint64_t deadline_ns);

  [[nodiscard]] const std::shared_ptr<ExportRecord>& record() const { return record_; }
  [[nodiscard]] const Error& trouble() const { return trouble_; }

 private:
  [[nodiscard]] Step ask(std::uint64_t deadline_ns);
  [[nodiscard]] Step send(std::uint64_t deadline_ns);
  [[nodiscard]] Result<void> plan();
  [[nodiscard]] Step after(Error error);
  [[nodiscard]] Step give_up(Error error);
  [[nodiscard]] Step back(const msg::ExportReply& last);

  const std::shared_ptr<ExportRecord> record_;
  std::shared_ptr<Session> session_;  // that it is on its way in
  enum class At : std::uint8_t { kAsking, kSending } at_ = At::kAsking;
  std::vector<ExportPlan> plans_;
  std::uint64_t chunks_ = 0;  // of all plans
  std::uint64_t bytes_ = 0;
  std::uint64_t handles_ = 0;
  std::size_t plan_ = 0;  // and the page of it that comes next
  std::size_t page_ = 0;
  std::uint64_t sent_ = 0;  // chunks
  int ended_under_it_ = 0;
  Error trouble_;
};

}  // namespace hb::client
