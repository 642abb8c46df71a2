// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "exports.h"

#include <cstring>

#include "export_plan.h"
#include "hipbroker/hipbroker.h"
#include "looking.h"
#include "range_gone.h"
#include "wire/limits.h"
#include "wire/name.h"

namespace hb::client {
namespace {

// Ends a half-sent export unless told that it is whole.
class Staging {
 public:
  Staging(Session& session, std::uint64_t id) : session_(session), id_(id) {}
  ~Staging() {
    if (!whole_) session_.abort_export(id_);
  }
  void keep() { whole_ = true; }

 private:
  Session& session_;
  std::uint64_t id_;
  bool whole_ = false;
};

std::vector<msg::Chunk> wire_chunks(const ExportPlan& plan, const ExportPage& page) {
  std::vector<msg::Chunk> chunks(page.count);
  for (std::size_t i = 0; i < page.count; ++i) {
    const ChunkRef& chunk = plan.chunks[page.first + i];
    chunks[i].handle = page.handle_of[i];
    chunks[i].offset = chunk.offset;
    chunks[i].size = chunk.bytes;
    chunks[i].object_size = chunk.object_bytes;
  }
  return chunks;
}

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

// What a page sends: borrowed, or made for it and closed after it.
struct PageFds {
  std::vector<UniqueFd> made;
  std::vector<int> numbers;
};

Result<PageFds> open_page(const ExportPlan& plan, const ExportPage& page) {
  PageFds out;
  out.numbers = page.fds;
  if (!out.numbers.empty()) return out;
  for (std::size_t i = 0; i < page.count; ++i) {
    auto made = plan.source->export_chunk(plan.chunks[page.first + i].index);
    if (!made) return tl::unexpected(std::move(made.error()));
    out.numbers.push_back(made->get());
    out.made.push_back(std::move(*made));
  }
  return out;
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
  message.handle_kind = plan.handle_kind != 0 ? plan.handle_kind : plan.source->handle_kind();
  message.device = {plan.device.uuid, plan.device.pci, plan.device.partition};
  std::vector<msg::Device> peers;
  for (const DeviceId& peer : plan.peers) peers.push_back({peer.uuid, peer.pci, peer.partition});
  message.peers = peers;
  message.acl = acl;
  message.total_chunks = plan.chunks.size();
  message.total_size = plan.bytes;
  message.distinct_handles = plan.handles;
  message.max_access = request.max_access;
  message.lifetime = request.lifetime;
  message.linger_ns = request.linger_ns;
  message.replace = request.replace;
  message.chunks = chunks;
  return session.call(FrameType::kExport, as_bytes(encoded(message)), fds->numbers, request.deadline_ns,
                      Late::kExport);
}

Result<Reply> send_more(Session& session, const ExportRequest& request, const ExportPlan& plan,
                        std::uint64_t id, const ExportPage& page) {
  const auto fds = open_page(plan, page);
  if (!fds) return tl::unexpected(fds.error());
  const std::vector<msg::Chunk> chunks = wire_chunks(plan, page);
  msg::ExportChunks message;
  message.export_id = id;
  message.first = page.first;
  message.chunks = chunks;
  auto reply = session.call(FrameType::kExportChunks, as_bytes(encoded(message)), fds->numbers,
                            request.deadline_ns, Late::kExport);
  if (!reply) reply.error().not_sent = false;  // the pages before it are lost with their session
  return reply;
}

std::vector<AddressSpan> spans_of(const ExportRequest& request) {
  if (request.ptr != nullptr) return {{reinterpret_cast<std::uintptr_t>(request.ptr), request.bytes}};
  std::vector<AddressSpan> spans;
  for (const hb_hip_handle& handle : request.handles)
    spans.push_back({reinterpret_cast<std::uintptr_t>(handle.base), handle.bytes});
  return spans;
}

Result<std::shared_ptr<ExportRecord>> create_on(const std::shared_ptr<Session>& session,
                                                const ExportRequest& request, const ExportPlan& plan) {
  auto reply = send_first(*session, request, plan);
  if (!reply) return tl::unexpected(std::move(reply.error()));
  auto body = msg::decode<msg::ExportReply>(reply->body);
  if (!body) return fail(malformed(body.error()));
  const std::uint64_t id = body->export_id;
  Staging staging(*session, id);
  for (std::size_t i = 1; i < plan.pages.size(); ++i) {
    reply = send_more(*session, request, plan, id, plan.pages[i]);
    if (!reply) return tl::unexpected(std::move(reply.error()));
    body = msg::decode<msg::ExportReply>(reply->body);
    if (!body) return fail(malformed(body.error()));
  }
  if (!body->complete || body->key.size() != sizeof(KeyBytes) || body->secret.size() != sizeof(Secret))
    return fail(HB_PROTO, "the daemon took all chunks of the export and did not complete it");
  staging.keep();
  auto record = std::make_shared<ExportRecord>();
  record->session = session;
  record->id = id;
  record->generation = body->generation;
  record->layout_version = body->layout_version;
  record->bytes = plan.bytes;
  std::memcpy(record->key.data(), body->key.data(), record->key.size());
  std::memcpy(record->secret.data(), body->secret.data(), record->secret.size());
  record->broker = decode_key(record->key).broker;
  record->name = request.name;
  record->owner_uid = session->hello().uid;
  record->ptr = request.ptr;
  record->memory = plan.memory;
  record->library_memory = plan.memory != nullptr;
  record->spans = spans_of(request);
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
  auto ranges = ExportedRanges::announce(spans_of(request), client.mark());
  const auto plan = plan_export(request);
  if (!plan) return tl::unexpected(plan.error());
  auto record = client.on_session(request.deadline_ns, [&](const std::shared_ptr<Session>& session) {
    return create_on(session, request, *plan);
  });
  if (!record) return record;
  (*record)->ranges = std::move(ranges);
  (*record)->client = client.weak_from_this();
  // What had the name ended in the same moment.
  if (request.replace)
    for (const auto& other : client.live_exports())
      if (!request.name.empty() && other->name == request.name) client.forget_export(other->id);
  client.add_export(*record);
  if (!(*record)->ranges.publish(*record)) {
    static_cast<void>(end_export(client, **record, after_ns(HB_RANGE_GONE_NS)));
    return fail(HB_GONE, "the memory was given back (hb_range_gone) while it was being exported");
  }
  Stats::add(client.stats().exports);
  return record;
}

Result<void> check_live(const ExportRecord& record) {
  if (record.session->is_lost())
    return fail(HB_GONE, "export " + std::to_string(record.id) + " ended with the session that made it");
  if (!record.is_live())
    return fail(HB_GONE, "export " + std::to_string(record.id) + " was withdrawn before");
  return {};
}

Result<WithdrawnCount> withdraw_export(Client& client, ExportRecord& record, std::uint64_t deadline_ns) {
  return withdraw_export(client, record, 0, deadline_ns, nullptr);
}

Result<WithdrawnCount> withdraw_export(Client& client, ExportRecord& record, std::uint64_t wait_ns,
                                       std::uint64_t deadline_ns, std::unique_ptr<hb_holders>* left) {
  if (auto live = check_live(record); !live) return tl::unexpected(std::move(live.error()));
  msg::Withdraw message;
  message.target = msg::Target::by_id(record.id);
  message.wait_ns = wait_ns;
  auto count = send_withdraw(client, *record.session, message, deadline_ns, left);
  if (!count && count.error().status == HB_CLOSED && count.error().not_sent)
    return fail(HB_GONE, "export " + std::to_string(record.id) + " ended with the session that made it");
  if (count || count.error().status == HB_GONE || count.error().status == HB_NOT_FOUND)
    client.forget_export(record.id);
  return count;
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
