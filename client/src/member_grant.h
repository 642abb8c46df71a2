// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Leases that came with the answer to a join, many in one frame: taken apart, so that each can be mapped like
// an acquire of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "acquire.h"
#include "messages.h"
#include "session.h"

namespace hb::client {

class Client;

// One member's grant: its lease is given back with it. `reply` points into the answer's bytes.
struct MemberGrant {
  Lease lease;
  const msg::AcquireReply* reply = nullptr;
  std::uint32_t handles_before = 0;  // in the frame
  std::vector<UniqueFd> fds;
};
// By rank; an empty lease for the rank that has none. HB_PROTO leaves nothing behind: what the answer granted
// is given back. Descriptors that did not all come are closed: then every chunk is fetched.
[[nodiscard]] Result<std::vector<MemberGrant>> take_apart(const std::shared_ptr<Session>& session,
                                                          const msg::JoinReply& joined, Reply& reply);

// The rest of it, page by page, as acquire() does.
[[nodiscard]] Result<Acquired> read_grant(Client& client, const std::shared_ptr<Session>& session,
                                          MemberGrant granted, std::uint32_t access,
                                          std::uint64_t deadline_ns, const PageSink& sink);

}  // namespace hb::client
