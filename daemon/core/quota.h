// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The one gate of every charge: what a session, its principal over all sessions and its scope have opened or
// hold, against the caps. Charged before the thing is taken, given back when it is let go.
#pragma once

#include <cstdint>
#include <optional>

#include "core/core.h"

namespace hb::core {

// A session that begins. The refusal, or nothing: then it has an account and is charged to it. The admin's
// has no account: nothing that admins do is anybody's share.
[[nodiscard]] std::optional<Error> open_account(Core& core, Session& session);
void close_account(Core& core, Session& session);

// The refusal, or nothing: then it is charged.
[[nodiscard]] std::optional<Error> charge(Core& core, Session& session, Resource resource,
                                          std::uint64_t amount = 1);
// What was charged before a restart, whatever the limits are now.
void charge_again(Core& core, Session& session, Resource resource, std::uint64_t amount = 1);
void give_back(Core& core, Session& session, Resource resource, std::uint64_t amount = 1);
// Of what may outlive its session.
void give_back(Core& core, std::uint32_t account, Resource resource, std::uint64_t amount = 1);

// A chunk of an export or a staging that `account` pays: its allocation is charged (bytes, descriptors) with
// the first one of the account and given back with the last. True with the first.
bool add_chunk(Core& core, std::uint32_t account, AllocationId allocation);
// Gathers the handle with the last chunk of all.
void drop_chunk(Call& call, std::uint32_t account, AllocationId allocation);

// What add_chunk() charged is too much. The caller takes it back.
[[nodiscard]] std::optional<Error> over_limit(const Core& core, const Session& session, Resource resource,
                                              std::uint64_t before);

// What a principal may use: the policy's limits, and of descriptors never all that the daemon has.
[[nodiscard]] std::uint64_t limit_of(const Core& core, const Principal& principal, Resource resource);

}  // namespace hb::core
