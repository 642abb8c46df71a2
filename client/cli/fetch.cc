// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "fetch.h"

namespace hb::cli {

Exports fetch_exports(const Connection& connection, const std::string& prefix) {
  hb_error error = HB_ERROR_INIT;
  hb_list* list = nullptr;
  check(hb_list_exports(connection.client(), prefix.empty() ? nullptr : prefix.c_str(), connection.deadline(),
                        &list, &error),
        error);
  Exports exports;
  exports.list.reset(list);
  exports.entries.reserve(hb_list_count(list));
  for (std::size_t i = 0; i < hb_list_count(list); ++i) exports.entries.push_back(hb_list_at(list, i));
  return exports;
}

}  // namespace hb::cli
