// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <memory>
#include <string>
#include <vector>

#include "abi.h"
#include "looking.h"

using namespace hb::client;
using hb::FrameType;

namespace {

Result<std::string> optional_name(const char* name) {
  if (name == nullptr) return std::string();
  return read_name(name);
}

}  // namespace

struct hb_list {
  Texts texts;
  std::vector<hb_listed> exports;
};

struct hb_shown {
  Texts texts;
  hb_listed exported{};
  std::vector<hb_acl_entry> acl;
  std::vector<hb_shown_chunk> chunks;
};

hb_status hb_list_exports_with(hb_client* client, const char* prefix, uint32_t flags, uint64_t deadline_ns,
                               hb_list** ret_list, hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (ret_list == nullptr) return null_argument("ret_list");
    if ((flags & ~std::uint32_t{HB_LIST_ENDED}) != 0)
      return fail(HB_UNSUPPORTED, "flags " + std::to_string(flags) + " are not known to this library");
    auto list = std::make_unique<hb_list>();
    msg::List question;
    question.prefix = prefix == nullptr ? "" : prefix;
    question.ended = (flags & HB_LIST_ENDED) != 0;
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

hb_status hb_list_exports(hb_client* client, const char* prefix, uint64_t deadline_ns, hb_list** ret_list,
                          hb_error* error) {
  return hb_list_exports_with(client, prefix, 0, deadline_ns, ret_list, error);
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
    auto holders = list_holders(*client->client, *target, deadline_ns);
    if (!holders) return tl::unexpected(std::move(holders.error()));
    *ret_holders = holders->release();
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
