// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// An owner, a reader of another uid that it lets in, a stranger, and tickets between them.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "core/broker.h"
#include "unit/core/broker_driver.h"
#include "wire/limits.h"

namespace hb::test {

class TicketFixture : public testing::Test, public BrokerDriver {
 protected:
  core::SessionId owner = connect(1000);
  core::SessionId reader = connect(1001);
  core::SessionId stranger = connect(1002);

  core::Exported shared(std::size_t chunks = 1, core::Lifetime lifetime = core::Lifetime::kOwner) {
    core::ExportRequest request = chunked("kv", chunks, 4 * kKiB);
    request.acl = {uid_reads(1001)};
    request.lifetime = lifetime;
    request.linger_ns = lifetime == core::Lifetime::kLinger ? 10 * kSecond : 0;
    return exported(owner, std::move(request));
  }
  static core::MakeTicketRequest ticket_of(core::ExportId id, std::uint64_t ttl_ns = 60 * kSecond) {
    core::MakeTicketRequest request;
    request.id = id;
    request.ttl_ns = ttl_ns;
    return request;
  }
  static core::MakeTicketRequest ticket_of(core::LeaseId lease) {
    core::MakeTicketRequest request;
    request.lease = lease;
    request.ttl_ns = 60 * kSecond;
    return request;
  }
  KeyBytes made(core::SessionId session, core::MakeTicketRequest request) {
    const core::ReplyBody body = ask(session, std::move(request));
    if (const auto* out = std::get_if<core::TicketMade>(&body)) return out->ticket;
    ADD_FAILURE() << error_of(body).message;
    return {};
  }
  KeyBytes made(const core::Exported& out) { return made(owner, ticket_of(out.id)); }
  hb_status acquire(core::SessionId session, const KeyBytes& key) {
    const core::ReplyBody body = ask(session, by_key(key));
    message = error_of(body).message;
    return status_of(body);
  }
  core::Withdrawn withdrawn(core::SessionId session, core::Request request) {
    const core::ReplyBody body = ask(session, std::move(request));
    EXPECT_EQ(status_of(body), HB_OK) << error_of(body).message;
    return std::holds_alternative<core::Withdrawn>(body) ? std::get<core::Withdrawn>(body)
                                                         : core::Withdrawn{};
  }
  std::vector<core::Holder> holders(core::SessionId session, core::Target target = {}) {
    std::vector<core::Holder> all;
    std::uint64_t cursor = 0;
    do {
      const core::ReplyBody body = ask(session, core::WhoRequest{target, cursor});
      EXPECT_EQ(status_of(body), HB_OK) << error_of(body).message;
      if (status_of(body) != HB_OK) break;
      const auto& page = std::get<core::WhoListed>(body);
      all.insert(all.end(), page.holders.begin(), page.holders.end());
      cursor = page.next_cursor;
    } while (cursor != 0);
    return all;
  }
  std::string message;  // of the last acquire()
};

}  // namespace hb::test
