// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the verbs of a group share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/core.h"
#include "core/group_table.h"

namespace hb::core {

// "rank 5 (pid 77)"
[[nodiscard]] std::string rank_text(const Core& core, const Group& group, std::uint32_t rank);
// "group \"job/heap\""
[[nodiscard]] std::string group_text(const Group& group);

// group_rules.cc
// The world that most ranks say; where as many say another, that of the lowest of them.
[[nodiscard]] std::uint32_t world_of(const Group& group);
// In what the ranks differ: one of them, and both values. Nothing when they agree.
[[nodiscard]] std::optional<Error> mismatch_of(const Core& core, const Group& group);
// The same for the chunks alone, as they are now.
[[nodiscard]] std::optional<Error> layout_mismatch_of(const Core& core, const Group& group);
// The ranks that have not come, to the meeting or to the barrier under way, named.
[[nodiscard]] Error timeout_of(const Core& core, const Group& group);

// group_end.cc
// For all: requests that are parked get this error, later ones too. While ranks are missing nothing is left
// of the group then, the asker's own place included; afterwards it is kept until the last rank has left.
void end_group(Call& call, std::uint32_t slot, const Error& why);
// A rank's place, and the group with the last of them.
void drop_member(Call& call, std::uint32_t slot, std::uint32_t rank);

}  // namespace hb::core
