// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// An import that was held when its session was lost: the daemon is told again who holds it, without a
// descriptor coming, and what is mapped is current again if the export is what it was.
#pragma once

#include <cstdint>
#include <memory>

#include "import.h"
#include "session.h"

namespace hb::client {

// The daemon has the memory of the one before it: what that gave out means the same.
[[nodiscard]] bool is_of(const Session& session, const BrokerId& broker);

enum class Reattached : std::uint8_t {
  kDone,   // by a lease of this session; where the export has another layout, behind it
  kLater,  // its owner has not brought it back, or it is being changed
  kNever,  // it stays mapped, and is not current any more
};
// `unknown`: the daemon does not know it, which is so for a while where its owner is still to come.
[[nodiscard]] Reattached reattach(Client& client, const std::shared_ptr<Session>& session,
                                  hb_import& imported, std::uint64_t deadline_ns, bool& unknown);

}  // namespace hb::client
