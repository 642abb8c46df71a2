// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <memory>
#include <vector>

#include "connection.h"
#include "target.h"

namespace hb::cli {

// The library's results with their owners.
template <class T, void (*Free)(T*)>
struct Freed {
  void operator()(T* value) const { Free(value); }
};
template <class T, void (*Free)(T*)>
using Owned = std::unique_ptr<T, Freed<T, Free>>;

struct Exports {
  Owned<hb_list, hb_list_free> list;
  std::vector<const hb_listed*> entries;
};
// Both throw Failure. `flags`: HB_LIST_*.
[[nodiscard]] Exports fetch_exports(const Connection& connection, const std::string& prefix,
                                    std::uint32_t flags = 0);

struct Holders {
  Owned<hb_holders, hb_holders_free> list;
  std::vector<const hb_held*> entries;
};
[[nodiscard]] Holders fetch_holders(const Connection& connection, const Target& target);

}  // namespace hb::cli
