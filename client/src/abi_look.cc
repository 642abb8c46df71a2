// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <deque>
#include <string>
#include <vector>

#include "abi.h"

using namespace hb::client;
using hb::FrameType;

namespace {

// Owns every text and list that a result's records point to.
class Texts {
 public:
  const char* keep(msg::Text text) { return kept_.emplace_back(text).c_str(); }
  const std::vector<hb_device_id>& keep(const std::vector<msg::Device>& devices) {
    std::vector<hb_device_id>& out = devices_.emplace_back();
    for (const msg::Device& device : devices)
      out.push_back(
          device_id_of(DeviceId{std::string(device.uuid), std::string(device.pci), device.partition}));
    return out;
  }

 private:
  std::deque<std::string> kept_;  // never moves what it holds
  std::deque<std::vector<hb_device_id>> devices_;
};

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

const char* state_name(std::uint32_t state) { return state == 1 ? "live" : "unknown"; }

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
  return out;
}

// One request of the looking kind and its decoded answer.
template <class Answer, class Question>
Result<Answer> ask(Client& client, FrameType type, const Question& question, std::uint64_t deadline_ns,
                   std::vector<std::byte>& body) {
  auto reply = client.on_session(deadline_ns, [&](const std::shared_ptr<Session>& session) {
    return session->call(type, as_bytes(encoded(question)), {}, deadline_ns);
  });
  if (!reply) return tl::unexpected(std::move(reply.error()));
  body = std::move(reply->body);
  auto answer = msg::decode<Answer>(body);
  if (!answer) return fail(malformed(answer.error()));
  return std::move(*answer);
}

// Pages must go forward, or a broken daemon would keep us here for ever.
Result<void> check_cursor(std::uint64_t before, std::uint64_t next) {
  if (next == 0 || next > before) return {};
  return fail(HB_PROTO, "the daemon's next page does not lie behind the last one");
}

Result<msg::Target> target_of(const std::string& name, std::uint32_t owner_uid, std::uint64_t export_id) {
  if (!name.empty() && export_id != 0) return fail(HB_INVALID, "name and export_id are both given");
  if (export_id != 0) return msg::Target::by_id(export_id);
  if (!name.empty()) return msg::Target::by_name(name, owner_of(owner_uid));
  return msg::Target{};
}

Result<std::string> optional_name(const char* name) {
  if (name == nullptr) return std::string();
  return read_name(name);
}

}  // namespace

struct hb_list {
  Texts texts;
  std::vector<hb_listed> exports;
};

struct hb_holders {
  Texts texts;
  std::vector<hb_held> held;
};

struct hb_shown {
  Texts texts;
  hb_listed exported{};
  std::vector<hb_acl_entry> acl;
  std::vector<hb_shown_chunk> chunks;
};

hb_status hb_list_exports(hb_client* client, const char* prefix, uint64_t deadline_ns, hb_list** ret_list,
                          hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (ret_list == nullptr) return null_argument("ret_list");
    auto list = std::make_unique<hb_list>();
    msg::List question;
    question.prefix = prefix == nullptr ? "" : prefix;
    std::vector<std::byte> body;
    do {
      const auto page = ask<msg::ListReply>(*client->client, FrameType::kList, question, deadline_ns, body);
      if (!page) return tl::unexpected(page.error());
      for (const msg::ExportInfo& info : page->exports) list->exports.push_back(listed_of(info, list->texts));
      if (auto forward = check_cursor(question.cursor, page->next_cursor); !forward) return forward;
      question.cursor = page->next_cursor;
    } while (question.cursor != 0);
    *ret_list = list.release();
    return {};
  });
}

size_t hb_list_count(const hb_list* list) { return list == nullptr ? 0 : list->exports.size(); }
const hb_listed* hb_list_at(const hb_list* list, size_t index) {
  return list == nullptr || index >= list->exports.size() ? nullptr : &list->exports[index];
}
void hb_list_free(hb_list* list) { delete list; }

hb_status hb_who(hb_client* client, const char* name, uint32_t owner_uid, uint64_t export_id,
                 uint64_t deadline_ns, hb_holders** ret_holders, hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (ret_holders == nullptr) return null_argument("ret_holders");
    const auto wanted = optional_name(name);
    if (!wanted) return tl::unexpected(wanted.error());
    auto target = target_of(*wanted, owner_uid, export_id);
    if (!target) return tl::unexpected(target.error());
    auto holders = std::make_unique<hb_holders>();
    msg::Who question;
    question.target = *target;
    std::vector<std::byte> body;
    do {
      const auto page = ask<msg::WhoReply>(*client->client, FrameType::kWho, question, deadline_ns, body);
      if (!page) return tl::unexpected(page.error());
      for (const msg::Holder& holder : page->holders)
        holders->held.push_back({holder.export_id, holder.lease_id,
                                 process_of(holder.process, holders->texts), holder.access, holder.level,
                                 holder.offset, holder.length, holder.age_ns});
      if (auto forward = check_cursor(question.cursor, page->next_cursor); !forward) return forward;
      question.cursor = page->next_cursor;
    } while (question.cursor != 0);
    *ret_holders = holders.release();
    return {};
  });
}

size_t hb_holders_count(const hb_holders* holders) { return holders == nullptr ? 0 : holders->held.size(); }
const hb_held* hb_holders_at(const hb_holders* holders, size_t index) {
  return holders == nullptr || index >= holders->held.size() ? nullptr : &holders->held[index];
}
void hb_holders_free(hb_holders* holders) { delete holders; }

hb_status hb_show(hb_client* client, const char* name, uint32_t owner_uid, uint64_t export_id,
                  uint64_t deadline_ns, hb_shown** ret_shown, hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (ret_shown == nullptr) return null_argument("ret_shown");
    const auto wanted = optional_name(name);
    if (!wanted) return tl::unexpected(wanted.error());
    auto target = target_of(*wanted, owner_uid, export_id);
    if (!target) return tl::unexpected(target.error());
    if (wanted->empty() && export_id == 0) return fail(HB_INVALID, "neither name nor export_id is given");
    auto shown = std::make_unique<hb_shown>();
    msg::Show question;
    question.target = *target;
    std::vector<std::byte> body;
    for (bool more = true; more;) {
      const auto page = ask<msg::ShowReply>(*client->client, FrameType::kShow, question, deadline_ns, body);
      if (!page) return tl::unexpected(page.error());
      if (question.first_chunk == 0) {
        shown->exported = listed_of(page->info, shown->texts);
        for (const msg::AclEntry& entry : page->acl)
          shown->acl.push_back({static_cast<std::uint32_t>(entry.kind), entry.id, entry.access});
        // A name may mean another export by the time of the next page; an id does not.
        question.target = msg::Target::by_id(page->info.export_id);
      }
      for (const msg::ChunkInfo& chunk : page->chunks)
        shown->chunks.push_back(
            {chunk.offset, chunk.size, chunk.allocation, chunk.object_offset, chunk.object_size});
      more = page->more_chunks;
      if (more && page->chunks.empty())
        return fail(HB_PROTO, "the daemon announced more chunks and sent none");
      question.first_chunk = shown->chunks.size();
    }
    *ret_shown = shown.release();
    return {};
  });
}

const hb_listed* hb_shown_export(const hb_shown* shown) {
  return shown == nullptr ? nullptr : &shown->exported;
}
size_t hb_shown_acl_count(const hb_shown* shown) { return shown == nullptr ? 0 : shown->acl.size(); }
const hb_acl_entry* hb_shown_acl(const hb_shown* shown) {
  return shown == nullptr ? nullptr : shown->acl.data();
}
size_t hb_shown_chunk_count(const hb_shown* shown) { return shown == nullptr ? 0 : shown->chunks.size(); }
const hb_shown_chunk* hb_shown_chunks(const hb_shown* shown) {
  return shown == nullptr ? nullptr : shown->chunks.data();
}
void hb_shown_free(hb_shown* shown) { delete shown; }
