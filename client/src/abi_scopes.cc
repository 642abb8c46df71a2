// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "abi.h"
#include "hipbroker/scopes.h"
#include "looking.h"
#include "messages_scopes.h"

using namespace hb::client;
using hb::FrameType;

struct hb_scopes {
  Texts texts;
  std::deque<std::vector<std::uint32_t>> uids;
  std::deque<std::vector<hb_use>> uses;
  std::vector<hb_scope> scopes;
};

namespace {

Result<std::vector<msg::Amount>> read_limits(const hb_limit* limits, std::size_t count, const char* what) {
  if (limits == nullptr && count != 0) return null_argument(what);
  if (count > msg::kMostResources)
    return fail(limit_error(
        HB_INVALID, what, count, msg::kMostResources,
        std::string(what) + " has " + std::to_string(count) + " entries; there are not so many resources"));
  std::vector<msg::Amount> out;
  for (std::size_t i = 0; i < count; ++i) {
    if (limits[i].resource == nullptr) return null_argument((std::string(what) + "[].resource").c_str());
    out.push_back({limits[i].resource, limits[i].limit, 0});
  }
  return out;
}

hb_scope scope_of(const msg::ScopeInfo& from, hb_scopes& owner) {
  const std::vector<std::uint32_t>& uids = owner.uids.emplace_back(from.uids);
  std::vector<hb_use>& uses = owner.uses.emplace_back();
  for (const msg::Amount& amount : from.total)
    uses.push_back({owner.texts.keep(amount.resource), amount.used, amount.limit});
  return {owner.texts.keep(from.name),
          owner.texts.keep(from.directory),
          uids.data(),
          uids.size(),
          uses.data(),
          uses.size(),
          from.sessions,
          from.exports,
          from.age_ns};
}

}  // namespace

hb_status hb_scope_add(hb_client* client, const hb_scope_options* options, hb_scope_place* ret_place,
                       hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (options == nullptr) return null_argument("options");
    if (auto room = check_info(ret_place, "ret_place"); !room) return room;
    const hb_scope_options defaults = HB_SCOPE_OPTIONS_INIT;
    const auto given = read_options(options, defaults, "hb_scope_options");
    if (!given) return tl::unexpected(given.error());
    if (given->name == nullptr) return null_argument("name");
    if (given->uids == nullptr && given->uid_count != 0) return null_argument("uids");
    if (given->uid_count > hb::limits::kScopeUids)
      return fail(limit_error(HB_INVALID, "uids", given->uid_count, hb::limits::kScopeUids,
                              "uid_count is " + std::to_string(given->uid_count) + "; at most " +
                                  std::to_string(hb::limits::kScopeUids)));
    const auto total = read_limits(given->total, given->total_count, "total");
    if (!total) return tl::unexpected(total.error());
    const auto each = read_limits(given->each, given->each_count, "each");
    if (!each) return tl::unexpected(each.error());
    msg::ScopeAdd question;
    question.name = given->name;
    if (given->uid_count != 0) question.uids.assign(given->uids, given->uids + given->uid_count);
    question.total = *total;
    question.each = *each;
    std::vector<std::byte> body;
    const auto reply =
        ask<msg::ScopeAddReply>(*client->client, FrameType::kScopeAdd, question, given->deadline_ns, body);
    if (!reply) return tl::unexpected(reply.error());
    hb_scope_place place = HB_SCOPE_PLACE_INIT;
    copy_text(reply->directory, place.directory);
    write_info(place, ret_place);
    return {};
  });
}

hb_status hb_scope_remove(hb_client* client, const char* name, uint64_t deadline_ns,
                          hb_scope_removed* ret_removed, hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (name == nullptr) return null_argument("name");
    if (ret_removed != nullptr)
      if (auto room = check_info(ret_removed, "ret_removed"); !room) return room;
    msg::ScopeRemove question;
    question.name = name;
    std::vector<std::byte> body;
    const auto reply =
        ask<msg::ScopeRemoveReply>(*client->client, FrameType::kScopeRemove, question, deadline_ns, body);
    if (!reply) return tl::unexpected(reply.error());
    if (ret_removed == nullptr) return {};
    hb_scope_removed removed = HB_SCOPE_REMOVED_INIT;
    removed.sessions = reply->sessions;
    removed.exports = reply->exports;
    removed.tickets = reply->tickets;
    removed.groups = reply->groups;
    removed.bytes = reply->bytes;
    write_info(removed, ret_removed);
    return {};
  });
}

hb_status hb_scope_list(hb_client* client, uint64_t deadline_ns, hb_scopes** ret_scopes, hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (ret_scopes == nullptr) return null_argument("ret_scopes");
    auto scopes = std::make_unique<hb_scopes>();
    msg::ScopeList question;
    std::vector<std::byte> body;
    do {
      const auto page =
          ask<msg::ScopeListReply>(*client->client, FrameType::kScopeList, question, deadline_ns, body);
      if (!page) return tl::unexpected(page.error());
      for (const msg::ScopeInfo& info : page->scopes) scopes->scopes.push_back(scope_of(info, *scopes));
      if (auto forward = check_cursor(question.cursor, page->next_cursor); !forward) return forward;
      question.cursor = page->next_cursor;
    } while (question.cursor != 0);
    *ret_scopes = scopes.release();
    return {};
  });
}

size_t hb_scopes_count(const hb_scopes* scopes) { return scopes == nullptr ? 0 : scopes->scopes.size(); }
const hb_scope* hb_scopes_at(const hb_scopes* scopes, size_t index) {
  return scopes == nullptr || index >= scopes->scopes.size() ? nullptr : &scopes->scopes[index];
}
void hb_scopes_free(hb_scopes* scopes) {
  const LibraryScope inside;
  delete scopes;
}
