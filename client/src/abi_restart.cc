// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <vector>

#include "abi.h"
#include "hipbroker/restart.h"
#include "looking.h"
#include "messages_session.h"

using namespace hb::client;
using hb::FrameType;

hb_status hb_drain(hb_client* client, uint32_t flags, uint64_t deadline_ns, hb_drain_info* ret_info,
                   hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (auto room = check_info(ret_info, "ret_info"); !room) return room;
    if ((flags & ~std::uint32_t{HB_DRAIN_OFF}) != 0)
      return fail(HB_UNSUPPORTED, "flags " + std::to_string(flags) + " are not known to this library");
    const msg::Drain question{(flags & HB_DRAIN_OFF) != 0};
    std::vector<std::byte> body;
    const auto reply = ask<msg::DrainReply>(*client->client, FrameType::kDrain, question, deadline_ns, body);
    if (!reply) return tl::unexpected(reply.error());
    hb_drain_info info = HB_DRAIN_INFO_INIT;
    info.restart_safe = reply->restart_safe ? 1 : 0;
    info.unsafe_exports = reply->unsafe_exports;
    info.uploads = reply->uploads;
    info.sessions_lost = reply->sessions_lost;
    copy_text(reply->reason, info.reason);
    write_info(info, ret_info);
    return {};
  });
}
