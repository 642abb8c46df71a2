// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Scopes, over hipbroker/scopes.h.
#ifndef HIPBROKER_SCOPES_HPP
#define HIPBROKER_SCOPES_HPP

#include <string>

#include "hipbroker/hipbroker.hpp"
#include "hipbroker/scopes.h"

namespace hipbroker {

// As of the moment they were asked for.
class Scopes {
 public:
  explicit Scopes(const Client& client, Deadline deadline = {}) {
    hb_scopes* scopes = nullptr;
    detail::call(hb_scope_list, client.get(), deadline.ns(), &scopes);
    scopes_ = detail::Owner<hb_scopes, hb_scopes_free>(scopes);
  }
  std::size_t size() const noexcept { return hb_scopes_count(scopes_.get()); }
  const hb_scope& operator[](std::size_t index) const { return *hb_scopes_at(scopes_.get(), index); }

 private:
  detail::Owner<hb_scopes, hb_scopes_free> scopes_;
};

// The directory that is to be mounted.
inline std::string add_scope(const Client& client, const hb_scope_options& options) {
  hb_scope_place place = HB_SCOPE_PLACE_INIT;
  detail::call(hb_scope_add, client.get(), &options, &place);
  return place.directory;
}

inline hb_scope_removed remove_scope(const Client& client, const std::string& name, Deadline deadline = {}) {
  hb_scope_removed removed = HB_SCOPE_REMOVED_INIT;
  detail::call(hb_scope_remove, client.get(), name.c_str(), deadline.ns(), &removed);
  return removed;
}

}  // namespace hipbroker
#endif
