// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <memory>
#include <string>

#include "abi.h"
#include "export_handle.h"
#include "exports.h"
#include "looking.h"

using namespace hb::client;
using hb::FrameType;

namespace {

Result<EventSink> read_sink(hb_event_handler handler, void* userdata) {
  if (handler == nullptr) return null_argument("handler");
  return EventSink{handler, userdata};
}

void put(const WithdrawnCount& count, hb_withdrawn* out) {
  if (out == nullptr) return;
  hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
  withdrawn.exports = count.exports;
  withdrawn.holders = count.holders;
  write_info(withdrawn, out);
}

Result<WithdrawnCount> revoke(Client& client, const msg::Target& target, std::uint64_t grace_ns,
                              std::uint64_t deadline_ns, std::unique_ptr<hb_holders>* left) {
  msg::Revoke question;
  question.target = target;
  question.grace_ns = grace_ns;
  std::vector<std::byte> body;
  const auto reply = ask<msg::WithdrawReply>(client, FrameType::kRevoke, question, deadline_ns, body);
  if (!reply) return tl::unexpected(reply.error());
  if (left != nullptr) {
    auto named = holders_left(client, *reply, deadline_ns);
    if (!named) return tl::unexpected(std::move(named.error()));
    *left = std::move(*named);
  }
  return WithdrawnCount{reply->withdrawn, reply->holder_count};
}

}  // namespace

const char* hb_event_name(uint32_t kind) {
  switch (kind) {
    case HB_EVENT_GROWN:
      return "grown";
    case HB_EVENT_REPLACED:
      return "replaced";
    case HB_EVENT_SUSPENDED:
      return "suspended";
    case HB_EVENT_RESUMED:
      return "resumed";
    case HB_EVENT_WITHDRAWN:
      return "withdrawn";
    case HB_EVENT_REVOKED:
      return "revoked";
    case HB_EVENT_OWNER_DIED:
      return "owner-died";
    case HB_EVENT_GONE:
      return "gone";
    case HB_EVENT_CLAIMED:
      return "claimed";
    case HB_EVENT_LOST:
      return "lost";
    case HB_EVENT_SESSION_LOST:
      return "session-lost";
    case HB_EVENT_SESSION_NEW:
      return "session-new";
    default:
      return "unknown";
  }
}

hb_status hb_events_fd(hb_client* client, int* ret_fd, hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (ret_fd == nullptr) return null_argument("ret_fd");
    const auto fd = client->client->events().fd();
    if (!fd) return tl::unexpected(fd.error());
    *ret_fd = *fd;
    return {};
  });
}

hb_status hb_events_dispatch(hb_client* client, hb_event_handler handler, void* userdata, uint64_t* ret_count,
                             hb_error* error) {
  // Outlives the handle, which the handler may close.
  std::shared_ptr<Client> kept;
  if (client != nullptr) kept = client->client;
  return client_boundary(client, error, [&]() -> Result<void> {
    const auto sink = read_sink(handler, userdata);
    if (!sink) return tl::unexpected(sink.error());
    const auto told = kept->events().dispatch(*sink);
    if (!told) return tl::unexpected(told.error());
    if (ret_count != nullptr) *ret_count = *told;
    return {};
  });
}

hb_status hb_dispatch_loop(hb_client* client, hb_event_handler handler, void* userdata, hb_error* error) {
  // As above; another thread may, too.
  std::shared_ptr<Client> kept;
  if (client != nullptr) kept = client->client;
  return client_boundary(client, error, [&]() -> Result<void> {
    const auto sink = read_sink(handler, userdata);
    if (!sink) return tl::unexpected(sink.error());
    return kept->events().loop(*sink);
  });
}

void hb_dispatch_stop(hb_client* client) {
  if (client != nullptr && client->client->is_here()) client->client->events().stop();
}

hb_status hb_revoke(hb_client* client, const char* name, uint32_t owner_uid, uint64_t export_id,
                    uint64_t grace_ns, uint64_t deadline_ns, hb_withdrawn* ret_withdrawn,
                    hb_holders** ret_left, hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    std::string wanted;
    if (name != nullptr) {
      auto read = read_name(name);
      if (!read) return tl::unexpected(std::move(read.error()));
      wanted = std::move(*read);
    }
    if (wanted.empty() && export_id == 0) return fail(HB_INVALID, "neither name nor export_id is given");
    const auto target = target_of(wanted, owner_uid, export_id);
    if (!target) return tl::unexpected(target.error());
    std::unique_ptr<hb_holders> left;
    const auto count =
        revoke(*client->client, *target, grace_ns, deadline_ns, ret_left == nullptr ? nullptr : &left);
    if (!count) return tl::unexpected(count.error());
    put(*count, ret_withdrawn);
    if (ret_left != nullptr) *ret_left = left.release();
    return {};
  });
}

hb_status hb_export_withdraw_wait(hb_export* exported, uint64_t wait_ns, uint64_t deadline_ns,
                                  hb_withdrawn* ret_withdrawn, hb_holders** ret_left, hb_error* error) {
  if (exported == nullptr) return report(HB_INVALID, "exported is NULL", error, nullptr);
  if (!exported->client->is_here())
    return report(HB_FORKED, "the export belongs to the parent process", error, nullptr);
  return boundary(exported->client.get(), error, [&]() -> Result<void> {
    std::unique_ptr<hb_holders> left;
    const auto count = withdraw_export(*exported->client, *exported->record, wait_ns, deadline_ns,
                                       ret_left == nullptr ? nullptr : &left);
    if (!count) return tl::unexpected(count.error());
    put(*count, ret_withdrawn);
    if (ret_left != nullptr) *ret_left = left.release();
    return {};
  });
}
