// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Records back into tables, kind by kind, in the order of the functions. Each gives what does not fit in
// words, or nothing. What follows from the records (lists, counts, charges) is built here as the verbs build
// it; check_invariants() has the last word.
#pragma once

#include <string>

#include "core/core.h"
#include "core/record_set.h"
#include "core/recorder.h"

namespace hb::core {

using Misfit = std::string;

[[nodiscard]] Misfit restore_sessions(Core& core, const RecordSet& records);
[[nodiscard]] Misfit restore_answers(Core& core, const RecordSet& records);
[[nodiscard]] Misfit restore_allocations(Core& core, const RecordSet& records);
[[nodiscard]] Misfit restore_exports(Core& core, const RecordSet& records, Recorder& recorder);
[[nodiscard]] Misfit restore_stagings(Core& core, const RecordSet& records, Recorder& recorder);
[[nodiscard]] Misfit restore_tickets(Core& core, const RecordSet& records);
[[nodiscard]] Misfit restore_leases(Core& core, const RecordSet& records);
[[nodiscard]] Misfit restore_groups(Core& core, const RecordSet& records);
[[nodiscard]] Misfit restore_waits(Core& core, const RecordSet& records);

// --- values -------------------------------------------------------------------------------------
[[nodiscard]] std::shared_ptr<const ProcessInfo> process_of(const record::Process& process);
[[nodiscard]] std::shared_ptr<const ProcessInfo> process_of(const std::optional<record::Process>& process);
[[nodiscard]] Error error_of(const record::Error& error);
[[nodiscard]] Placement placement_of(const record::Device& device, const std::vector<record::Device>& peers);
[[nodiscard]] Acl acl_of(const std::vector<record::AclEntry>& entries);

// A number out of an enum's range is a record of something newer, or damaged.
template <class E>
[[nodiscard]] bool enum_of(std::uint32_t number, E last, E& out) {
  if (number > static_cast<std::uint32_t>(last)) return false;
  out = static_cast<E>(number);
  return true;
}
[[nodiscard]] bool access_of(std::uint32_t number, Access& out);

}  // namespace hb::core
