// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "exports.h"

#include <cstring>

#include "chunk_sender.h"
#include "export_plan.h"
#include "hipbroker/hipbroker.h"
#include "looking.h"
#include "range_gone.h"
#include "wire/limits.h"
#include "wire/name.h"

namespace hb::client {
namespace {

Result<void> check(const ExportRequest& request) {
  if (!request.name.empty())
    if (auto name = check_name(request.name); !name) return fail(HB_INVALID, "name: " + name.error());
  if (request.metadata.size() > limits::kMetadataBytes)
    return fail(limit_error(HB_QUOTA, "metadata", request.metadata.size(), limits::kMetadataBytes,
                            "metadata of " + std::to_string(request.metadata.size()) +
                                " bytes; an export carries at most " +
                                std::to_string(limits::kMetadataBytes)));
  if (request.acl.size() > limits::kAclEntries)
    return fail(limit_error(HB_QUOTA, "acl", request.acl.size(), limits::kAclEntries,
                            std::to_string(request.acl.size()) + " entries of the access list; at most " +
                                std::to_string(limits::kAclEntries) + " are possible"));
  const auto is_access = [](std::uint32_t access) {
    return access == HB_ACCESS_READ || access == HB_ACCESS_READ_WRITE;
  };
  for (std::size_t i = 0; i < request.acl.size(); ++i)
    if (request.acl[i].kind > HB_ACL_GID || !is_access(request.acl[i].access))
      return fail(HB_INVALID, "acl[" + std::to_string(i) +
                                  "]: kind must be HB_ACL_UID or HB_ACL_GID, access "
                                  "HB_ACCESS_READ or HB_ACCESS_READ_WRITE");
  if (request.max_access != 0 && !is_access(request.max_access))
    return fail(HB_INVALID, "max_access must be 0, HB_ACCESS_READ or HB_ACCESS_READ_WRITE");
  return {};
}

Result<Reply> send_first(Session& session, const ExportRequest& request, const ExportPlan& plan) {
  const auto fds = open_page(plan, plan.pages[0]);
  if (!fds) return tl::unexpected(fds.error());
  const std::vector<msg::Chunk> chunks = wire_chunks(plan, plan.pages[0]);
  std::vector<msg::AclEntry> acl(request.acl.size());
  for (std::size_t i = 0; i < acl.size(); ++i)
    acl[i] = {static_cast<msg::AclEntry::Kind>(request.acl[i].kind), request.acl[i].id,
              request.acl[i].access};
  msg::Export message;
  message.name = request.name;
  message.metadata = request.metadata;
  message.handle_kind = kind_of_plan(plan);
  message.device = {plan.device.uuid, plan.device.pci, plan.device.partition};
  std::vector<msg::Device> peers;
  for (const DeviceId& peer : plan.peers) peers.push_back({peer.uuid, peer.pci, peer.partition});
  message.peers = peers;
  message.acl = acl;
  message.total_chunks = plan.chunks.size();
  message.total_size = plan.bytes;
  message.distinct_handles = plan.handles;
  message.max_access = request.max_access;
  message.max_size = request.max_bytes;
  message.lifetime = request.lifetime;
  message.linger_ns = request.linger_ns;
  message.replace = request.replace;
  message.chunks = chunks;
  return session.call(FrameType::kExport, as_bytes(encoded(message)), fds->numbers, request.deadline_ns,
                      Late::kExport);
}

Result<std::shared_ptr<ExportRecord>> create_on(const std::shared_ptr<Session>& session,
                                                const ExportRequest& request, const ExportPlan& plan) {
  auto reply = send_first(*session, request, plan);
  if (!reply) return tl::unexpected(std::move(reply.error()));
  auto done = send_rest(*session, plan, std::move(*reply), request.deadline_ns, Late::kExport);
  if (!done) return tl::unexpected(std::move(done.error()));
  const msg::ExportReply& body = done->body;
  auto record = std::make_shared<ExportRecord>();
  record->set_session(session);
  record->id = body.export_id;
  record->generation = body.generation;
  record->handle_kind = kind_of_plan(plan);
  record->device = plan.device;
  record->max_bytes = request.max_bytes;
  std::memcpy(record->key.data(), body.key.data(), record->key.size());
  std::memcpy(record->secret.data(), body.secret.data(), record->secret.size());
  record->broker = decode_key(record->key).broker;
  record->name = request.name;
  record->owner_uid = session->hello().uid;
  record->terms.metadata.assign(reinterpret_cast<const char*>(request.metadata.data()),
                                request.metadata.size());
  record->terms.acl.assign(request.acl.begin(), request.acl.end());
  record->terms.peers = plan.peers;
  record->terms.lifetime = request.lifetime;
  record->terms.linger_ns = request.linger_ns;
  record->terms.access = body.access;
  record->terms_known = true;
  record->set_token(body.token);
  auto layout = std::make_shared<ExportRecord::Layout>();
  layout->version = body.layout_version;
  layout->bytes = plan.bytes;
  layout->sources.push_back(source_of(request, plan, 0));
  for (const ChunkRef& chunk : plan.chunks) layout->chunk_bytes.push_back(chunk.bytes);
  layout->parts = parts_of(request, plan, 0);
  record->set_layout(std::move(layout), {});
  return record;
}

Result<WithdrawnCount> send_withdraw(Client& client, Session& session, const msg::Withdraw& message,
                                     std::uint64_t deadline_ns, std::unique_ptr<hb_holders>* left = nullptr) {
  auto reply = session.call(FrameType::kWithdraw, as_bytes(encoded(message)), {}, deadline_ns);
  if (!reply) return tl::unexpected(std::move(reply.error()));
  const auto body = msg::decode<msg::WithdrawReply>(reply->body);
  if (!body) return fail(malformed(body.error()));
  Stats::add(client.stats().withdrawn, body->withdrawn);
  if (left != nullptr) {
    auto named = holders_left(client, *body, deadline_ns);
    if (!named) return tl::unexpected(std::move(named.error()));
    *left = std::move(*named);
  }
  return WithdrawnCount{body->withdrawn, body->holder_count};
}

}  // namespace

Result<std::shared_ptr<ExportRecord>> create_export(Client& client, const ExportRequest& request) {
  if (auto sound = check(request); !sound) return tl::unexpected(std::move(sound.error()));
  std::vector<ExportedRanges::Ticket> ranges;
  ranges.push_back(ExportedRanges::announce(spans_of(request), client.mark()));
  const auto plan = plan_export(request);
  if (!plan) return tl::unexpected(plan.error());
  auto record = client.on_session(request.deadline_ns, [&](const std::shared_ptr<Session>& session) {
    return create_on(session, request, *plan);
  });
  if (!record) return record;
  (*record)->client = client.weak_from_this();
  // What had the name ended in the same moment.
  if (request.replace)
    for (const auto& other : client.live_exports())
      if (!request.name.empty() && other->name == request.name) client.forget_export(other->id);
  client.add_export(*record);
  const bool there = ranges[0].publish(*record);
  (*record)->set_layout((*record)->layout(), std::move(ranges));
  if (!there) {
    static_cast<void>(end_export(client, **record, after_ns(HB_RANGE_GONE_NS)));
    return fail(HB_GONE, "the memory was given back (hb_range_gone) while it was being exported");
  }
  Stats::add(client.stats().exports);
  return record;
}

Result<void> check_live(const ExportRecord& record) {
  if (record.is_live()) return {};
  const std::string why = record.why_ended();
  if (!why.empty()) return fail(HB_GONE, "export " + std::to_string(record.id) + " " + why);
  if (record.session()->is_lost())
    return fail(HB_GONE, "export " + std::to_string(record.id) + " ended with the session that made it");
  return fail(HB_GONE, "export " + std::to_string(record.id) + " was withdrawn before");
}

Result<WithdrawnCount> withdraw_export(Client& client, ExportRecord& record, std::uint64_t deadline_ns) {
  return withdraw_export(client, record, 0, deadline_ns, nullptr);
}

namespace {

Result<WithdrawnCount> withdraw(Client& client, ExportRecord& record, Client::Part part,
                                std::uint64_t wait_ns, std::uint64_t deadline_ns,
                                std::unique_ptr<hb_holders>* left) {
  msg::Withdraw message;
  message.target = msg::Target::by_id(record.id);
  message.wait_ns = wait_ns;
  auto count = client.on_export(record, deadline_ns, part, [&](Session& session) {
    return send_withdraw(client, session, message, deadline_ns, left);
  });
  if (count || count.error().status == HB_GONE || count.error().status == HB_NOT_FOUND)
    client.forget_export(record.id);
  return count;
}

}  // namespace

Result<WithdrawnCount> withdraw_export(Client& client, ExportRecord& record, std::uint64_t wait_ns,
                                       std::uint64_t deadline_ns, std::unique_ptr<hb_holders>* left) {
  return withdraw(client, record, Client::Part::kKnown, wait_ns, deadline_ns, left);
}

Result<WithdrawnCount> withdraw_here(Client& client, ExportRecord& record, std::uint64_t deadline_ns) {
  return withdraw(client, record, Client::Part::kHere, 0, deadline_ns, nullptr);
}

Result<WithdrawnCount> withdraw_id(Client& client, std::uint64_t id, std::uint64_t deadline_ns) {
  msg::Withdraw message;
  message.target = msg::Target::by_id(id);
  auto count = client.on_session(deadline_ns, [&](const std::shared_ptr<Session>& session) {
    return send_withdraw(client, *session, message, deadline_ns);
  });
  if (count) client.forget_export(id);
  return count;
}

Result<WithdrawnCount> withdraw_range(Client& client, const void* ptr, std::uint64_t bytes,
                                      std::uint64_t deadline_ns) {
  WithdrawnCount sum;
  for (const auto& record : client.live_exports_over(ptr, bytes)) {
    auto count = withdraw_export(client, *record, deadline_ns);
    if (!count && count.error().status != HB_GONE) return count;
    if (!count) continue;  // another thread was faster
    sum.exports += count->exports;
    sum.holders += count->holders;
  }
  return sum;
}

Result<WithdrawnCount> withdraw_all(Client& client, std::uint64_t deadline_ns) {
  const auto before = client.live_exports();
  // The daemon may not know yet that these are this session's.
  for (const auto& record : before)
    if (record->awaited.load()) static_cast<void>(withdraw_export(client, *record, deadline_ns));
  msg::Withdraw message;
  message.all = true;
  auto count = client.on_session(deadline_ns, [&](const std::shared_ptr<Session>& session) {
    return send_withdraw(client, *session, message, deadline_ns);
  });
  if (!count) return count;
  for (const auto& record : before) client.forget_export(record->id);
  return count;
}

}  // namespace hb::client
