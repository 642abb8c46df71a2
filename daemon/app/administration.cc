// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/administration.h"

#include <utility>
#include <variant>

#include "observe/log.h"
#include "wire/limits.h"

namespace hb::app {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

using Answer = tl::expected<ipc::AdminReply, ipc::EdgeError>;

// Half a frame: a record that is longer than the rest is no defect.
ipc::AuditWasRead read(const observe::AuditTrail& audit, const ipc::AuditRead& asked) {
  observe::AuditTrail::Page page =
      audit.read(asked.after, asked.since_unix_ns, asked.max_records, limits::kFrameBytes / 2);
  return {std::move(page.records), page.last, page.more, page.lost};
}

ipc::Drained drain(ipc::Engine& engine, const ipc::Drain& asked) {
  if (engine.draining() == asked.off) {
    observe::log(observe::Level::kInfo, asked.off ? "not drained any more: exports and sessions are taken again"
                                                  : "drained: no new exports, and no new sessions but the admin's");
  }
  engine.set_draining(!asked.off);
  const ipc::Engine::Losses losses = engine.losses(asked.asker);
  ipc::Continuity::State state = engine.continuity_state();
  return {state.safe, std::move(state.reason), losses.exports, losses.uploads, losses.sessions};
}

}  // namespace

Answer Administration::carry_out(ipc::AdminRequest request) {
  return std::visit(Overloaded{
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
                        [&](const ipc::AuditRead& asked) -> Answer { return read(engine_.audit(), asked); },
                        [&](const ipc::Drain& asked) -> Answer { return drain(engine_, asked); },
                    },
                    request);
}

}  // namespace hb::app
