// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/administration.h"

#include <utility>

namespace hb::app {
namespace {

using Answer = tl::expected<ipc::AdminReply, ipc::EdgeError>;

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

}  // namespace

Answer Administration::carry_out(ipc::AdminRequest request) {
  return std::visit(
      Overloaded{
          [&](ipc::ScopeAdd& add) -> Answer { return scopes_.add(std::move(add)); },
          [&](const ipc::ScopeRemove& remove) -> Answer { return scopes_.remove(remove.name); },
          [&](const ipc::ScopeList& list) -> Answer { return scopes_.list(list.cursor); },
          [](const auto&) -> Answer {
            return tl::unexpected(ipc::edge_error(HB_UNSUPPORTED, "this daemon does not do that yet"));
          },
      },
      request);
}

}  // namespace hb::app
