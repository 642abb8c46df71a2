// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <memory>
#include <vector>

#include "abi.h"
#include "hipbroker/audit.h"
#include "looking.h"
#include "messages_audit.h"

using namespace hb::client;
using hb::FrameType;

struct hb_audit {
  Texts texts;
  std::vector<const char*> records;
  hb_audit_info info = HB_AUDIT_INFO_INIT;
};

hb_status hb_audit_read(hb_client* client, const hb_audit_options* options, hb_audit** ret_audit,
                        hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (options == nullptr) return null_argument("options");
    if (ret_audit == nullptr) return null_argument("ret_audit");
    const hb_audit_options defaults = HB_AUDIT_OPTIONS_INIT;
    const auto given = read_options(options, defaults, "hb_audit_options");
    if (!given) return tl::unexpected(given.error());
    const msg::AuditRead question{given->after, given->since_unix_ns, given->max_records};
    std::vector<std::byte> body;
    const auto reply =
        ask<msg::AuditReadReply>(*client->client, FrameType::kAuditRead, question, given->deadline_ns, body);
    if (!reply) return tl::unexpected(reply.error());
    auto audit = std::make_unique<hb_audit>();
    audit->records.reserve(reply->records.size());
    for (const msg::Text record : reply->records) audit->records.push_back(audit->texts.keep(record));
    audit->info.records = audit->records.data();
    audit->info.record_count = audit->records.size();
    audit->info.last = reply->last;
    audit->info.more = reply->more ? 1 : 0;
    audit->info.lost = reply->lost;
    *ret_audit = audit.release();
    return {};
  });
}

void hb_audit_get_info(const hb_audit* audit, hb_audit_info* ret_info) {
  if (audit == nullptr || ret_info == nullptr) return;
  write_info(audit->info, ret_info);
}

void hb_audit_destroy(hb_audit* audit) {
  const LibraryScope inside;
  delete audit;
}
