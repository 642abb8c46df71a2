// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/administration.h"

#include <utility>
#include <variant>

namespace hb::app {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

using Answer = tl::expected<ipc::AdminReply, ipc::EdgeError>;

}  // namespace

Answer Administration::carry_out(ipc::AdminRequest request) {
  return std::visit(
      Overloaded{
          [&](const ipc::Reload&) -> Answer { return policy_.reload(); },
          [&](const ipc::CheckPolicy& asked) -> Answer { return policy_.check(asked); },
          [&](ipc::ScopeAdd& add) -> Answer {
            auto added = scopes_.add(std::move(add));
            quotas_.apply();
            return added;
          },
          [&](const ipc::ScopeRemove& remove) -> Answer {
            auto removed = scopes_.remove(remove.name);
            quotas_.apply();
            return removed;
          },
          [&](const ipc::ScopeList& list) -> Answer { return scopes_.list(list.cursor); },
          [&](ipc::QuotaSet& set) -> Answer { return quotas_.set(std::move(set)); },
          [](const ipc::AuditRead&) -> Answer {
            return tl::unexpected(ipc::edge_error(HB_UNSUPPORTED, "this daemon has no audit trail"));
          },
      },
      request);
}

}  // namespace hb::app
