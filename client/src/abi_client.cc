// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <cstring>

#include "abi.h"

using namespace hb::client;
using hb::FrameType;

uint64_t hb_deadline_in(uint64_t ns) { return after_ns(ns); }

hb_status hb_client_open(const hb_client_options* options, hb_client** ret_client, hb_error* error) {
  return boundary(nullptr, error, [&]() -> Result<void> {
    if (ret_client == nullptr) return null_argument("ret_client");
    const hb_client_options defaults = HB_CLIENT_OPTIONS_INIT;
    const auto given = read_options(options, defaults, "hb_client_options");
    if (!given) return tl::unexpected(given.error());
    if (given->trusted_uids == nullptr && given->trusted_uid_count > 0) return null_argument("trusted_uids");
    ClientOptions wanted;
    if (given->socket != nullptr) {
      if (*given->socket == '\0') return fail(HB_INVALID, "socket is an empty path");
      wanted.connect.socket = given->socket;
    }
    wanted.connect.trusted_uids.reserve(given->trusted_uid_count);
    if (given->trusted_uid_count > 0)
      wanted.connect.trusted_uids.assign(given->trusted_uids, given->trusted_uids + given->trusted_uid_count);
    wanted.deadline_ns = given->deadline_ns;
    wanted.cache_bytes = given->cache_bytes;
    auto handle = std::make_unique<hb_client>();
    auto client = Client::open(std::move(wanted));
    if (!client) return tl::unexpected(std::move(client.error()));
    handle->client = std::move(*client);
    *ret_client = handle.release();
    return {};
  });
}

void hb_client_close(hb_client* client) {
  if (client == nullptr) return;
  boundary(nullptr, nullptr, [&]() -> Result<void> {
    const std::unique_ptr<hb_client> owned(client);
    if (owned->client->is_here()) owned->client->close();
    return {};
  });
}

hb_status hb_client_get_info(hb_client* client, hb_client_info* ret_info, hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (auto room = check_info(ret_info, "ret_info"); !room) return room;
    const auto session = client->client->last_session();
    const msg::HelloReply& hello = session->hello();
    hb_client_info info = HB_CLIENT_INFO_INIT;
    std::memcpy(info.broker_id, hello.broker_id.data(), sizeof info.broker_id);
    info.session_id = hello.session_id;
    info.uid = hello.uid;
    info.pid = hello.pid;
    info.admin = hello.admin ? 1 : 0;
    info.protocol = hello.version;
    copy_text(hello.daemon, info.daemon);
    copy_text(hello.scope, info.scope);
    copy_text(session->path(), info.socket);
    write_info(info, ret_info);
    return {};
  });
}

hb_status hb_ping(hb_client* client, uint64_t deadline_ns, uint64_t* ret_uptime_ns, hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    auto reply = client->client->on_session(deadline_ns, [&](const std::shared_ptr<Session>& session) {
      return session->call(FrameType::kPing, as_bytes(encoded(msg::Ping{})), {}, deadline_ns);
    });
    if (!reply) return tl::unexpected(std::move(reply.error()));
    const auto body = msg::decode<msg::PingReply>(reply->body);
    if (!body) return fail(malformed(body.error()));
    if (ret_uptime_ns != nullptr) *ret_uptime_ns = body->uptime_ns;
    return {};
  });
}

hb_status hb_daemon_get_status(hb_client* client, uint64_t deadline_ns, hb_daemon_status* ret_status,
                               hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (auto room = check_info(ret_status, "ret_status"); !room) return room;
    auto reply = client->client->on_session(deadline_ns, [&](const std::shared_ptr<Session>& session) {
      return session->call(FrameType::kStatus, as_bytes(encoded(msg::Status{})), {}, deadline_ns);
    });
    if (!reply) return tl::unexpected(std::move(reply.error()));
    const auto body = msg::decode<msg::StatusReply>(reply->body);
    if (!body) return fail(malformed(body.error()));
    hb_daemon_status status = HB_DAEMON_STATUS_INIT;
    status.uptime_ns = body->uptime_ns;
    status.sessions = body->sessions;
    status.exports = body->exports;
    status.allocations = body->allocations;
    status.leases = body->leases;
    status.waits = body->waits;
    status.stagings = body->stagings;
    status.ended_remembered = body->ended_remembered;
    status.fds_used = body->fds_used;
    status.fds_limit = body->fds_limit;
    status.fds_reserve = body->fds_reserve;
    status.closing = body->closing;
    status.quarantined = body->quarantined;
    status.bytes = body->bytes;
    status.ended_held = body->ended_held;
    status.tickets = body->tickets;
    status.groups = body->groups;
    status.events_pending = body->events_pending;
    status.in_flight = body->in_flight;
    status.in_flight_limit = body->in_flight_limit;
    status.answers_waiting = body->answers_waiting;
    status.sockets_unread = body->sockets_unread;
    status.log_waiting = body->log_waiting;
    status.log_dropped = body->log_dropped;
    status.audit_dropped = body->audit_dropped;
    status.audit_told = body->audit_told;
    status.sandbox = body->sandbox;
    status.restart_safe = body->restart_safe ? 1 : 0;
    status.parked = body->parked;
    status.parked_limit = body->parked_limit;
    status.store_entries = body->store_entries;
    status.store_entries_max = body->store_entries_max;
    status.records = body->records;
    status.records_bytes = body->records_bytes;
    status.awaited = body->awaited;
    status.restarts = body->restarts;
    status.draining = body->draining ? 1 : 0;
    copy_text(body->restart_reason, status.restart_reason);
    write_info(status, ret_status);
    return {};
  });
}

void hb_client_get_stats(const hb_client* client, hb_stats* ret_stats) {
  if (client == nullptr || ret_stats == nullptr) return;
  const Stats& stats = client->client->stats();
  hb_stats out{};
  out.exports = stats.exports;
  out.imports = stats.imports;
  out.cache_hits = stats.cache_hits;
  out.evictions = stats.evictions;
  out.withdrawn = stats.withdrawn;
  out.reconnects = stats.reconnects;
  out.mapped_bytes = stats.mapped_bytes;
  for (std::size_t i = 0; i < HB_STATS_REFUSALS; ++i) out.refusals[i] = stats.refusals[i];
  out.failed_frees = failed_frees();
  out.fetched_fds = stats.fetched_fds;
  write_info(out, ret_stats);
}
