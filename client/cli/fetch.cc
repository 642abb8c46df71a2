// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "fetch.h"

namespace hb::cli {

Exports fetch_exports(const Connection& connection, const std::string& prefix, std::uint32_t flags) {
  hb_error error = HB_ERROR_INIT;
  hb_list* list = nullptr;
  check(hb_list_exports_with(connection.client(), prefix.empty() ? nullptr : prefix.c_str(), flags,
                             connection.deadline(), &list, &error),
        error);
  Exports exports;
  exports.list.reset(list);
  exports.entries.reserve(hb_list_count(list));
  for (std::size_t i = 0; i < hb_list_count(list); ++i) exports.entries.push_back(hb_list_at(list, i));
  return exports;
}

Holders fetch_holders(const Connection& connection, const Target& target) {
  hb_error error = HB_ERROR_INIT;
  hb_holders* list = nullptr;
  check(hb_who(connection.client(), target.name_or_null(), target.owner_uid, target.export_id,
               connection.deadline(), &list, &error),
        error);
  Holders holders;
  holders.list.reset(list);
  for (std::size_t i = 0; i < hb_holders_count(list); ++i) holders.entries.push_back(hb_holders_at(list, i));
  return holders;
}

}  // namespace hb::cli
