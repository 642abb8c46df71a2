// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Which records changed, and what they are now. Tables note the slots that were given out to be written to;
// what is written again although it is the same costs the sink a comparison.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/core.h"
#include "core/record_set.h"

namespace hb::core {

class Recorder {
 public:
  // From now on.
  void watch(Core& core);
  void write(Core& core, RecordSink& sink);

  // Of what was restored, and so is recorded.
  void note_pages(std::uint32_t export_slot, std::uint32_t pages);
  void note_staging(std::uint32_t session_slot, std::uint32_t export_slot, std::uint64_t chunks);

 private:
  struct Staged {
    std::uint32_t exported = kNoSlot;
    std::uint64_t chunks = 0;  // that are recorded
  };
  void write_session(Core& core, std::uint32_t slot, RecordSink& sink);
  void write_stagings(const Core& core, std::uint32_t session_slot, RecordSink& sink);
  void write_export(Core& core, std::uint32_t slot, RecordSink& sink);
  void write_pages(const Export& e, std::uint32_t slot, RecordSink& sink);
  void write_floors(const Core& core, RecordSink& sink);
  static void drop_staging(const Staged& staged, RecordSink& sink);

  record::Floors floors_;
  std::vector<std::uint32_t> pages_;                               // by slot of the export
  std::unordered_map<std::uint32_t, std::vector<Staged>> staged_;  // by slot of the session
  // Reused: writing allocates nothing in the steady state.
  record::Session session_;
  record::Export export_;
  record::Chunks chunks_;
};

// As records; views are of the tables.
[[nodiscard]] record::Process record_of(const ProcessInfo& process);
[[nodiscard]] record::Allocation record_of(const Allocation& allocation, std::uint32_t use);
[[nodiscard]] record::Lease record_of(const Lease& lease, std::uint32_t use);
[[nodiscard]] record::Ticket record_of(const Ticket& ticket, std::uint32_t use);
[[nodiscard]] record::Group record_of(const Group& group, std::uint32_t use);
[[nodiscard]] record::Answer record_of(const AnswerLog::Entry& entry);
[[nodiscard]] record::Staging record_of(const Core& core, const Staging& staging, std::uint32_t session,
                                        std::uint64_t order);
[[nodiscard]] record::Life record_of(const ExportLife& life);
[[nodiscard]] std::vector<record::AclEntry> record_of(const Acl& acl);
void record_into(const Core& core, std::uint32_t slot, record::Session& out);
void record_into(const Core& core, std::uint32_t slot, record::Export& out);

}  // namespace hb::core
