// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "abi.h"
#include "hipbroker/quotas.h"
#include "looking.h"
#include "messages_quotas.h"

using namespace hb::client;
using hb::FrameType;

struct hb_accounts {
  Texts texts;
  std::deque<std::vector<hb_use>> uses;
  std::vector<hb_account> accounts;
};

namespace {

Result<msg::QuotaSet> read_question(const hb_quota_options& given, std::vector<msg::Amount>& limits) {
  if (given.limits == nullptr && given.limit_count > 0) return null_argument("limits");
  if (given.limit_count > msg::kMostResources)
    return fail(limit_error(HB_INVALID, "limits", given.limit_count, msg::kMostResources,
                            "limit_count is " + std::to_string(given.limit_count) +
                                "; there are not so many "
                                "resources"));
  if (given.limit_count == 0 && given.clear == 0)
    return fail(HB_INVALID, "nothing is to be done: no limits are given, and clear is 0");
  for (std::size_t i = 0; i < given.limit_count; ++i) {
    if (given.limits[i].resource == nullptr) return null_argument("limits[].resource");
    limits.push_back({given.limits[i].resource, given.limits[i].limit, 0});
  }
  msg::QuotaSet question;
  if (given.scope != nullptr) question.scope = given.scope;
  switch (given.kind) {
    case HB_QUOTA_SCOPE:
      if (given.id != 0) return fail(HB_INVALID, "id is for HB_QUOTA_UID and HB_QUOTA_GID");
      break;
    case HB_QUOTA_UID:
      question.uid = given.id;
      break;
    case HB_QUOTA_GID:
      question.gid = given.id;
      break;
    default:
      return fail(HB_UNSUPPORTED, "kind " + std::to_string(given.kind) + " is not known to this library");
  }
  question.limits = limits;
  question.clear = given.clear != 0;
  return question;
}

}  // namespace

hb_status hb_quota_set(hb_client* client, const hb_quota_options* options, uint64_t* ret_sessions,
                       hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (options == nullptr) return null_argument("options");
    const hb_quota_options defaults = HB_QUOTA_OPTIONS_INIT;
    const auto given = read_options(options, defaults, "hb_quota_options");
    if (!given) return tl::unexpected(given.error());
    std::vector<msg::Amount> limits;
    const auto question = read_question(*given, limits);
    if (!question) return tl::unexpected(question.error());
    std::vector<std::byte> body;
    const auto reply =
        ask<msg::QuotaSetReply>(*client->client, FrameType::kQuotaSet, *question, given->deadline_ns, body);
    if (!reply) return tl::unexpected(reply.error());
    if (ret_sessions != nullptr) *ret_sessions = reply->sessions;
    return {};
  });
}

hb_status hb_quota_list(hb_client* client, uint64_t deadline_ns, hb_accounts** ret_accounts,
                        hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (ret_accounts == nullptr) return null_argument("ret_accounts");
    auto accounts = std::make_unique<hb_accounts>();
    msg::QuotaList question;
    std::vector<std::byte> body;
    do {
      const auto page =
          ask<msg::QuotaListReply>(*client->client, FrameType::kQuotaList, question, deadline_ns, body);
      if (!page) return tl::unexpected(page.error());
      for (const msg::Account& account : page->accounts) {
        std::vector<hb_use>& uses = accounts->uses.emplace_back();
        for (const msg::Amount& amount : account.amounts)
          uses.push_back({accounts->texts.keep(amount.resource), amount.used, amount.limit});
        accounts->accounts.push_back({accounts->texts.keep(account.scope), account.whole_scope ? 1 : 0,
                                      account.uid, uses.data(), uses.size()});
      }
      if (auto forward = check_cursor(question.cursor, page->next_cursor); !forward) return forward;
      question.cursor = page->next_cursor;
    } while (question.cursor != 0);
    *ret_accounts = accounts.release();
    return {};
  });
}

size_t hb_accounts_count(const hb_accounts* accounts) {
  return accounts == nullptr ? 0 : accounts->accounts.size();
}
const hb_account* hb_accounts_at(const hb_accounts* accounts, size_t index) {
  return accounts == nullptr || index >= accounts->accounts.size() ? nullptr : &accounts->accounts[index];
}
void hb_accounts_free(hb_accounts* accounts) {
  const LibraryScope inside;
  delete accounts;
}
