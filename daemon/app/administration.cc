// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/administration.h"

#include <variant>

namespace hb::app {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

using Answer = tl::expected<ipc::AdminReply, ipc::EdgeError>;

Answer unsupported(const char* what) {
  return tl::unexpected(ipc::edge_error(HB_UNSUPPORTED, std::string("this daemon has no ") + what));
}

}  // namespace

Answer Administration::carry_out(ipc::AdminRequest request) {
  return std::visit(
      Overloaded{[this](const ipc::Reload&) { return Answer(ipc::AdminReply(policy_.reload())); },
                 [this](const ipc::CheckPolicy& asked) {
                   return policy_.check(asked).map(
                       [](ipc::PolicyChecked checked) { return ipc::AdminReply(std::move(checked)); });
                 },
                 [](const ipc::ScopeAdd&) { return unsupported("scopes"); },
                 [](const ipc::ScopeRemove&) { return unsupported("scopes"); },
                 [](const ipc::ScopeList&) { return unsupported("scopes"); },
                 [](const ipc::QuotaSet&) { return unsupported("quotas of its own"); },
                 [](const ipc::AuditRead&) { return unsupported("audit trail"); }},
      request);
}

}  // namespace hb::app
