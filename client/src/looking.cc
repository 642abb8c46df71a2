// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "looking.h"

#include <utility>

#include "abi.h"

namespace hb::client {
namespace {

const char* lifetime_name(std::uint32_t lifetime) {
  switch (lifetime) {
    case 0:
      return "owner";
    case 1:
      return "linger";
    case 2:
      return "persist";
    default:
      return "unknown";
  }
}

}  // namespace

const char* state_name(std::uint32_t state) {
  switch (state) {
    case 1:
      return "live";
    case 3:
      return "gone";
    case 4:
      return "suspended";
    case 5:
      return "orphaned";
    case 6:
      return "withdrawn";
    case 7:
      return "revoked";
    default:
      return "unknown";
  }
}

const std::vector<hb_device_id>& Texts::keep(const std::vector<msg::Device>& devices) {
  std::vector<hb_device_id>& out = devices_.emplace_back();
  for (const msg::Device& device : devices)
    out.push_back(
        device_id_of(DeviceId{std::string(device.uuid), std::string(device.pci), device.partition}));
  return out;
}

hb_process process_of(const msg::Process& from, Texts& texts) {
  return {from.session_id,
          from.pid,
          from.uid,
          from.gid,
          from.connected_ns,
          texts.keep(from.command),
          texts.keep(from.cgroup),
          texts.keep(from.scope)};
}

hb_listed listed_of(const msg::ExportInfo& from, Texts& texts) {
  hb_listed out{};
  out.export_id = from.export_id;
  out.name = texts.keep(from.name);
  out.scope = texts.keep(from.scope);
  out.owner_uid = from.owner_uid;
  out.owner = process_of(from.owner, texts);
  out.generation = from.generation;
  out.layout_version = from.layout_version;
  out.state = state_name(from.state);
  out.lifetime = lifetime_name(from.lifetime);
  out.bytes = from.size;
  out.bytes_declared = from.size_declared ? 1 : 0;
  out.chunks = from.chunks;
  out.allocations = from.allocations;
  out.kind = from.handle_kind;
  out.device_uuid = texts.keep(from.device.uuid);
  out.device_pci = texts.keep(from.device.pci);
  out.device_partition = from.device.partition;
  out.leases = from.leases;
  out.age_ns = from.age_ns;
  out.access = from.access;
  out.level = from.level;
  out.metadata_bytes = from.metadata_bytes;
  const std::vector<hb_device_id>& peers = texts.keep(from.peers);
  out.peers = peers.data();
  out.peer_count = peers.size();
  out.max_bytes = from.max_size;
  out.linger_ns = from.linger_ns;
  out.linger_left_ns = from.linger_left_ns;
  out.tickets = from.tickets;
  out.descriptors = from.descriptors;
  out.step = from.step;
  out.awaited_ns = from.awaited_ns;
  out.restart_unsafe = from.restart_unsafe ? 1 : 0;
  return out;
}

hb_held held_of(const msg::Holder& from, Texts& texts) {
  hb_held out{};
  out.export_id = from.export_id;
  out.lease_id = from.lease_id;
  out.process = process_of(from.process, texts);
  out.access = from.access;
  out.level = from.level;
  out.offset = from.offset;
  out.bytes = from.length;
  out.age_ns = from.age_ns;
  out.unread_ns = from.unread_ns;
  out.listens = from.listens ? 1 : 0;
  out.unmap_asked = from.unmap_asked ? 1 : 0;
  out.ticket = from.ticket;
  out.ticket_left_ns = from.ticket_left_ns;
  out.acked_step = from.acked_step;
  out.state = state_name(from.state);
  return out;
}

Result<msg::Target> target_of(const std::string& name, std::uint32_t owner_uid, std::uint64_t export_id) {
  if (!name.empty() && export_id != 0) return fail(HB_INVALID, "name and export_id are both given");
  if (export_id != 0) return msg::Target::by_id(export_id);
  if (!name.empty()) return msg::Target::by_name(name, owner_of(owner_uid));
  return msg::Target{};
}

Result<void> check_cursor(std::uint64_t before, std::uint64_t next) {
  if (next == 0 || next > before) return {};
  return fail(HB_PROTO, "the daemon's next page does not lie behind the last one");
}

Result<std::unique_ptr<hb_holders>> list_holders(Client& client, const msg::Target& target,
                                                 std::uint64_t deadline_ns) {
  auto holders = std::make_unique<hb_holders>();
  msg::Who question;
  question.target = target;
  std::vector<std::byte> body;
  do {
    const auto page = ask<msg::WhoReply>(client, FrameType::kWho, question, deadline_ns, body);
    if (!page) return tl::unexpected(page.error());
    for (const msg::Holder& holder : page->holders) holders->held.push_back(held_of(holder, holders->texts));
    if (auto forward = check_cursor(question.cursor, page->next_cursor); !forward)
      return tl::unexpected(std::move(forward.error()));
    question.cursor = page->next_cursor;
  } while (question.cursor != 0);
  return holders;
}

Result<std::unique_ptr<hb_holders>> holders_left(Client& client, const msg::WithdrawReply& reply,
                                                 std::uint64_t deadline_ns) {
  if (reply.more_holders && !reply.holders.empty()) {
    auto all = list_holders(client, msg::Target::by_id(reply.holders.front().export_id), deadline_ns);
    // The last of them may have gone meanwhile.
    if (all || (all.error().status != HB_GONE && all.error().status != HB_NOT_FOUND)) return all;
    return std::make_unique<hb_holders>();
  }
  auto left = std::make_unique<hb_holders>();
  for (const msg::Holder& holder : reply.holders) left->held.push_back(held_of(holder, left->texts));
  return left;
}

}  // namespace hb::client
