// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Taking over what an owner left behind, and keys that pin once.
#pragma once

#include <cstdint>
#include <memory>

#include "acquire.h"
#include "client.h"

struct hb_import;

namespace hb::client {

struct ClaimRequest {
  AcquireTarget target;
  std::uint32_t lifetime = 0;
  std::uint64_t linger_ns = 0;
  std::uint64_t deadline_ns = 0;
};

// An orphan, this session's own from now on. Without memory in this process.
[[nodiscard]] Result<std::shared_ptr<ExportRecord>> claim_export(Client& client, const ClaimRequest& request);

struct TicketRequest {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // HB_WHOLE = to the end
  std::uint32_t access = 0;
  std::uint64_t ttl_ns = 0;
  std::uint64_t deadline_ns = 0;
};

[[nodiscard]] Result<KeyBytes> make_ticket(Client& client, ExportRecord& record,
                                           const TicketRequest& request);
[[nodiscard]] Result<KeyBytes> make_ticket(const hb_import& imported, const TicketRequest& request);
[[nodiscard]] Result<void> drop_ticket(Client& client, const KeyBytes& ticket, std::uint64_t deadline_ns);

[[nodiscard]] inline bool is_ticket(const KeyBytes& key) { return decode_key(key).kind == KeyKind::kTicket; }

}  // namespace hb::client
