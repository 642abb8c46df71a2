// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "succession.h"

#include <cstring>
#include <string>

#include "exports.h"
#include "import.h"
#include "wire/key.h"

namespace hb::client {
namespace {

Result<std::shared_ptr<ExportRecord>> claim_on(const std::shared_ptr<Session>& session,
                                               const ClaimRequest& request) {
  msg::Claim message;
  message.target = request.target.key ? msg::Target::by_key(std::as_bytes(std::span(*request.target.key)))
                                      : msg::Target::by_name(request.target.name, request.target.owner_uid);
  message.lifetime = request.lifetime;
  message.linger_ns = request.linger_ns;
  // An answer that comes too late is not undone: to give an orphan back would be its end. Asked again, the
  // daemon tells who has it.
  const auto reply = session->call(FrameType::kClaim, as_bytes(encoded(message)), {}, request.deadline_ns);
  if (!reply) return tl::unexpected(reply.error());
  const auto body = msg::decode<msg::ExportReply>(reply->body);
  if (!body) return fail(malformed(body.error()));
  if (!body->complete || body->key.size() != sizeof(KeyBytes) || body->secret.size() != sizeof(Secret))
    return fail(HB_PROTO, "the daemon's answer to the claim has no key");
  auto record = std::make_shared<ExportRecord>();
  record->set_session(session);
  record->id = body->export_id;
  record->generation = body->generation;
  std::memcpy(record->key.data(), body->key.data(), record->key.size());
  std::memcpy(record->secret.data(), body->secret.data(), record->secret.size());
  record->broker = decode_key(record->key).broker;
  record->name = request.target.name;
  record->owner_uid = session->hello().uid;
  record->set_token(body->token);
  auto layout = std::make_shared<ExportRecord::Layout>();
  layout->version = body->layout_version;
  layout->bytes = body->size;
  layout->chunks_known = false;
  record->set_layout(std::move(layout), {});
  return record;
}

Result<void> check(const TicketRequest& request) {
  if (request.bytes == 0) return fail(HB_INVALID, "bytes is 0; HB_WHOLE means to the end");
  if (request.access != HB_ACCESS_READ && request.access != HB_ACCESS_READ_WRITE)
    return fail(HB_INVALID, "access must be HB_ACCESS_READ or HB_ACCESS_READ_WRITE");
  return {};
}

Result<KeyBytes> make(Session& session, msg::MakeTicket message, const TicketRequest& request) {
  if (auto sound = check(request); !sound) return tl::unexpected(std::move(sound.error()));
  message.length = request.bytes == HB_WHOLE ? 0 : request.bytes;
  message.access = request.access;
  message.ttl_ns = request.ttl_ns;
  const auto reply =
      session.call(FrameType::kMakeTicket, as_bytes(encoded(message)), {}, request.deadline_ns);
  if (!reply) return tl::unexpected(reply.error());
  const auto body = msg::decode<msg::MakeTicketReply>(reply->body);
  if (!body) return fail(malformed(body.error()));
  KeyBytes ticket{};
  if (body->ticket.size() != ticket.size()) return fail(HB_PROTO, "the daemon's ticket is of another size");
  std::memcpy(ticket.data(), body->ticket.data(), ticket.size());
  return ticket;
}

}  // namespace

Result<std::shared_ptr<ExportRecord>> claim_export(Client& client, const ClaimRequest& request) {
  auto record = client.on_session(request.deadline_ns, [&](const std::shared_ptr<Session>& session) {
    return claim_on(session, request);
  });
  if (!record) return record;
  (*record)->client = client.weak_from_this();
  client.add_export(*record);
  Stats::add(client.stats().exports);
  return record;
}

Result<KeyBytes> make_ticket(Client& client, ExportRecord& record, const TicketRequest& request) {
  msg::MakeTicket message;
  message.export_id = record.id;
  message.offset = request.offset;
  return client.on_export(record, request.deadline_ns, Client::Part::kWhole,
                          [&](Session& session) { return make(session, message, request); });
}

Result<KeyBytes> make_ticket(const hb_import& imported, const TicketRequest& request) {
  msg::MakeTicket message;
  if (imported.alias_of == nullptr) {
    message.lease_id = imported.lease.id();
    message.offset = request.offset;
    return make(imported.lease.session(), std::move(message), request);
  }
  // An alias holds no lease: it is the owner's, whose ticket it can only be.
  const Grant& grant = imported.grant;
  if (request.offset >= grant.bytes ||
      (request.bytes != HB_WHOLE && request.bytes > grant.bytes - request.offset))
    return fail(limit_error(HB_RANGE, "offset", request.offset, grant.bytes,
                            "offset " + std::to_string(request.offset) +
                                " and the bytes from there do not lie inside the import's " +
                                std::to_string(grant.bytes) + " bytes"));
  TicketRequest of_export = request;
  of_export.offset += grant.offset;
  if (request.bytes == HB_WHOLE) of_export.bytes = grant.bytes - request.offset;
  return make_ticket(*imported.client, *imported.alias_of, of_export);
}

Result<void> drop_ticket(Client& client, const KeyBytes& ticket, std::uint64_t deadline_ns) {
  msg::DropTicket message;
  message.ticket = std::as_bytes(std::span(ticket));
  const auto reply = client.on_session(deadline_ns, [&](const std::shared_ptr<Session>& session) {
    return session->call(FrameType::kDropTicket, as_bytes(encoded(message)), {}, deadline_ns);
  });
  if (!reply) return tl::unexpected(reply.error());
  return {};
}

}  // namespace hb::client
