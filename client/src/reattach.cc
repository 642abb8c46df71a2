// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "reattach.h"

#include <cstring>

#include "client.h"
#include "import_turn.h"

namespace hb::client {
namespace {

Result<msg::AcquireReply> read(const Reply& reply) {
  auto body = msg::decode<msg::AcquireReply>(reply.body);
  if (!body) return fail(malformed(body.error()));
  return std::move(*body);
}

}  // namespace

bool is_of(const Session& session, const BrokerId& broker) {
  const msg::Bytes own = session.hello().broker_id;
  return own.size() == broker.size() && std::memcmp(own.data(), broker.data(), broker.size()) == 0;
}

Reattached reattach(Client& client, const std::shared_ptr<Session>& session, hb_import& imported,
                    std::uint64_t deadline_ns, bool& unknown) {
  unknown = false;
  if (imported.alias_of != nullptr || imported.of_group) return Reattached::kNever;
  ImportTurn turn(imported);
  if (!turn.try_take()) return Reattached::kLater;
  // Another thread has done it.
  if (!imported.lease.session().is_lost()) return Reattached::kDone;
  // Whose keys nobody knows any more.
  if (!is_of(*session, imported.grant.broker)) return Reattached::kNever;
  const auto words = session->validity(deadline_ns);
  if (!words) return Reattached::kLater;
  const Grant& mapped = imported.grant;  // with the turn nobody changes it
  const auto key = mapped.subkey(0, HB_WHOLE);
  if (!key) return Reattached::kNever;
  msg::Acquire message;
  message.target = msg::Target::by_key(std::as_bytes(std::span(*key)));
  message.access = imported.key.access;
  message.demand_level = imported.key.demand_level;
  const LeaseIndex::Arrival arriving(session->leases());
  const auto reply =
      session->call(FrameType::kAcquire, as_bytes(encoded(message)), {}, deadline_ns, Late::kAcquire);
  if (!reply) {
    switch (reply.error().status) {
      case HB_NOT_FOUND:
        unknown = true;
        return Reattached::kLater;
      case HB_SUSPENDED:
      case HB_TIMEOUT:
      case HB_CLOSED:
      case HB_BUSY:
      case HB_QUOTA:
      case HB_NO_FDS:
      case HB_NO_MEMORY:
        return Reattached::kLater;
      default:
        return Reattached::kNever;
    }
  }
  const auto body = read(*reply);
  if (!body) return Reattached::kNever;
  Lease fresh(session, body->lease_id);  // given back unless it is taken over
  const auto* const word = (*words)->slot(body->validity_slot);
  const auto now = grant_of(*session, *body);
  if (!now || word == nullptr || now->export_id != mapped.export_id || now->generation != mapped.generation ||
      now->offset != mapped.offset || now->bytes < mapped.bytes || now->first_chunk != mapped.first_chunk ||
      now->chunk_base != mapped.chunk_base || now->handle_kind != mapped.handle_kind ||
      !(now->device == mapped.device))
    return Reattached::kNever;
  fresh.watch(word, body->validity_value);
  const bool same = now->layout_version == mapped.layout_version && now->bytes == mapped.bytes &&
                    now->chunk_count == mapped.chunk_count;
  // Which chunks are others now a refresh tells; and what sleeps is mapped by one.
  if (!same || imported.asleep.load()) fresh.distrust();
  const std::uint64_t lease = fresh.id();
  imported.lease.take_over(std::move(fresh));
  if (session->leases().give(lease, &imported)) client.events().settle();
  return Reattached::kDone;
}

}  // namespace hb::client
