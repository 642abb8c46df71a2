// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <cstring>

#include "abi.h"
#include "export_handle.h"
#include "import.h"
#include "reap_list.h"
#include "succession.h"

using namespace hb::client;

namespace {

hb::KeyBytes bytes_of(const hb_key& key) {
  hb::KeyBytes bytes{};
  std::memcpy(bytes.data(), key.bytes, bytes.size());
  return bytes;
}

Result<ClaimRequest> read_claim(const hb_claim_options* options) {
  if (options == nullptr) return null_argument("options");
  const hb_claim_options defaults = HB_CLAIM_OPTIONS_INIT;
  const auto given = read_options(options, defaults, "hb_claim_options");
  if (!given) return tl::unexpected(given.error());
  if ((given->key == nullptr) == (given->name == nullptr))
    return fail(HB_INVALID, given->key == nullptr ? "neither key nor name is given"
                                                  : "key and name are both given; the target is one of them");
  ClaimRequest request;
  if (given->key != nullptr) {
    request.target.key = bytes_of(*given->key);
  } else {
    auto name = read_name(given->name);
    if (!name) return tl::unexpected(std::move(name.error()));
    request.target.name = std::move(*name);
  }
  request.lifetime = given->lifetime;
  request.linger_ns = given->linger_ns;
  request.deadline_ns = given->deadline_ns;
  return request;
}

template <class Make>
Result<void> put_ticket(hb_key* ret_ticket, Make&& make) {
  if (ret_ticket == nullptr) return null_argument("ret_ticket");
  const Result<hb::KeyBytes> ticket = make();
  if (!ticket) return tl::unexpected(ticket.error());
  std::memcpy(ret_ticket->bytes, ticket->data(), ticket->size());
  return {};
}

}  // namespace

hb_status hb_claim(hb_client* client, const hb_claim_options* options, hb_export** ret_export,
                   hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (ret_export == nullptr) return null_argument("ret_export");
    const auto request = read_claim(options);
    if (!request) return tl::unexpected(request.error());
    reap();
    auto handle = std::make_unique<hb_export>();
    handle->client = client->client;
    auto record = claim_export(*client->client, *request);
    if (!record) return tl::unexpected(std::move(record.error()));
    handle->record = std::move(*record);
    *ret_export = handle.release();
    return {};
  });
}

hb_status hb_export_ticket(hb_export* exported, uint64_t offset, uint64_t bytes, uint32_t access,
                           uint64_t ttl_ns, uint64_t deadline_ns, hb_key* ret_ticket, hb_error* error) {
  if (exported == nullptr) return report(HB_INVALID, "exported is NULL", error, nullptr);
  if (!exported->client->is_here())
    return report(HB_FORKED, "the export belongs to the parent process", error, nullptr);
  return boundary(exported->client.get(), error, [&] {
    return put_ticket(ret_ticket, [&] {
      return make_ticket(*exported->client, *exported->record, {offset, bytes, access, ttl_ns, deadline_ns});
    });
  });
}

hb_status hb_import_ticket(hb_import* imported, uint64_t offset, uint64_t bytes, uint32_t access,
                           uint64_t ttl_ns, uint64_t deadline_ns, hb_key* ret_ticket, hb_error* error) {
  if (imported == nullptr) return report(HB_INVALID, "imported is NULL", error, nullptr);
  if (!imported->client->is_here())
    return report(HB_FORKED, "the import belongs to the parent process", error, nullptr);
  return boundary(imported->client.get(), error, [&] {
    return put_ticket(ret_ticket, [&] {
      return make_ticket(*imported, {offset, bytes, access, ttl_ns, deadline_ns});
    });
  });
}

hb_status hb_ticket_drop(hb_client* client, const hb_key* ticket, uint64_t deadline_ns, hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (ticket == nullptr) return null_argument("ticket");
    return drop_ticket(*client->client, bytes_of(*ticket), deadline_ns);
  });
}
