// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/administration_scopes.h"

#include <algorithm>
#include <utility>

#include "app/restart.h"
#include "observe/log.h"
#include "policy/selector.h"
#include "wire/limits.h"
#include "wire/name.h"

namespace hb::app {
namespace {

using ipc::edge_error;

constexpr std::size_t kPage = 16;  // of the list: at most 3 KiB each, to fit a frame

core::LimitSet with(core::LimitSet limits, const ipc::Amounts& amounts) {
  for (const auto& [resource, most] : amounts) limits.set(resource, most);
  return limits;
}

void fill(ipc::ScopeInfo& info, const core::Broker::ScopeUse& use) {
  const auto used = [&](core::Resource resource) { return use.used[static_cast<std::size_t>(resource)]; };
  info.sessions = used(core::Resource::kSessions);
  info.exports = used(core::Resource::kExports);
  for (std::size_t i = 0; i < core::kResources; ++i) {
    const auto resource = static_cast<core::Resource>(i);
    if (const std::uint64_t most = use.total.of(resource); most != UINT64_MAX || used(resource) != 0)
      info.total.push_back({resource, used(resource), most});
  }
}

std::string shown(const std::string& name) { return "\"" + escape_for_display(name) + "\""; }

ipc::EdgeError not_saved(const std::string& name, const std::string& why) {
  return edge_error(HB_SYSTEM, "scope " + name +
                                   " was removed with all in it, but the next daemon would make it again, "
                                   "empty: " +
                                   why);
}

}  // namespace

ScopeAdministration::ScopeAdministration(Parts parts) : parts_(std::move(parts)), directories_(parts_.base) {}

ScopeAdministration::~ScopeAdministration() {
  if (stay_) return;
  for (const auto& [id, made] : made_) directories_.leave(made.scope->name, made.socket);
}

bool ScopeAdministration::exists(const std::string& name) const {
  return std::any_of(made_.begin(), made_.end(),
                     [&](const auto& entry) { return entry.second.scope->name == name; });
}

tl::expected<void, ipc::EdgeError> ScopeAdministration::make(StoredScope& wanted, UniqueFd listening) {
  if (!parts_.engine.has_room(1))
    return tl::unexpected(parts_.engine.no_fds("the socket of scope " + wanted.name + " could not be made"));
  const bool came_back = static_cast<bool>(listening);
  auto socket =
      came_back ? directories_.adopt(wanted.name, std::move(listening)) : directories_.serve(wanted.name);
  if (!socket && came_back) {
    observe::log(observe::Level::kWarning, observe::Message::kRestoreRemark,
                 "scope " + wanted.name + ": its socket is made anew: " + socket.error());
    socket = directories_.serve(wanted.name);
  }
  if (!socket) return tl::unexpected(edge_error(HB_SYSTEM, "scope " + wanted.name + ": " + socket.error()));
  auto scope = std::make_shared<ipc::Scope>();
  if (wanted.id == 0) wanted.id = ++parts_.state.last_scope;
  scope->id = core::ScopeId{wanted.id};
  scope->name = wanted.name;
  scope->uids = wanted.uids;
  parts_.engine.note_fds(1);
  Made& made = made_[scope->id];
  made.scope = scope;
  made.since_ns = ipc::monotonic_now();
  made.socket.device = socket->device;
  made.socket.inode = socket->inode;
  made.listening = socket->socket;
  made.came_back = came_back;
  made.total = with(core::LimitSet::unlimited(), wanted.total);
  parts_.engine.add_scope(scope->id, scope->name, made.total);
  parts_.server.listen(std::move(socket->socket), ipc::Door{false, std::move(scope)});
  return {};
}

void ScopeAdministration::restore(Restart& restart) {
  for (StoredScope& stored : parts_.state.scopes) {
    if (const auto made = make(stored, restart.take_listener(core::ScopeId{stored.id})); !made)
      observe::log(observe::Level::kError, observe::Message::kScopeNotServed,
                   made.error().message + "; the scope is not served");
  }
}

void ScopeAdministration::add_all() {
  for (const auto& [id, made] : made_) parts_.engine.add_scope(id, made.scope->name, made.total);
}

std::shared_ptr<const ipc::Scope> ScopeAdministration::find(core::ScopeId scope) const {
  if (!scope) return ipc::Scope::main();
  const auto found = made_.find(scope);
  return found == made_.end() ? nullptr : found->second.scope;
}

void ScopeAdministration::adopt_listeners() {
  for (const auto& [id, made] : made_) {
    if (made.came_back)
      parts_.engine.continuity().adopt({restart::ParkedKind::kListener, id.value, 0}, made.listening);
  }
}

void ScopeAdministration::park(core::ScopeId id, const Made& made) {
  static_cast<void>(
      parts_.engine.continuity().park({restart::ParkedKind::kListener, id.value, 0}, made.listening));
}

void ScopeAdministration::park_listeners() {
  for (const auto& [id, made] : made_) {
    if (!made.came_back) park(id, made);
  }
}

tl::expected<ipc::ScopeAdded, ipc::EdgeError> ScopeAdministration::add(ipc::ScopeAdd wanted) {
  if (std::string fault = ipc::fault_of_scope_name(wanted.name); !fault.empty())
    return tl::unexpected(edge_error(HB_INVALID, std::move(fault)));
  for (const std::uint32_t uid : wanted.uids) {
    if (uid > policy::kMostId)
      return tl::unexpected(edge_error(
          HB_INVALID, "4294967295 is no uid; uids are from 0 to " + std::to_string(policy::kMostId)));
  }
  if (exists(wanted.name)) {
    return tl::unexpected(edge_error(HB_EXISTS, "scope " + wanted.name + " exists, in " +
                                                    directories_.path_of(wanted.name) +
                                                    "; remove it first, or choose another name"));
  }
  if (made_.size() >= limits::kScopes)
    return tl::unexpected(ipc::over_limit("scopes", made_.size() + 1, limits::kScopes));
  auto& stored = parts_.state.scopes;
  const std::vector<StoredScope> before = stored;
  // One that the start could not make is made now, or goes.
  std::erase_if(stored, [&](const StoredScope& other) { return other.name == wanted.name; });
  stored.push_back({wanted.name, std::move(wanted.uids), std::move(wanted.total), std::move(wanted.each)});
  if (auto made = make(stored.back(), {}); !made) {
    stored = before;
    return tl::unexpected(std::move(made.error()));
  }
  park(core::ScopeId{stored.back().id}, made_.at(core::ScopeId{stored.back().id}));
  if (const auto saved = save(); !saved) {
    static_cast<void>(remove(wanted.name));
    stored = before;
    return tl::unexpected(edge_error(
        HB_SYSTEM,
        "scope " + wanted.name + " was not made, the next daemon would not know it: " + saved.error()));
  }
  observe::log(observe::Level::kInfo,
               "scope " + wanted.name + " added: " + directories_.path_of(wanted.name));
  return ipc::ScopeAdded{directories_.path_of(wanted.name)};
}

bool ScopeAdministration::forget(const std::string& name) {
  std::erase_if(parts_.state.overrides, [&](const StoredOverride& set) { return set.scope == name; });
  return std::erase_if(parts_.state.scopes, [&](const StoredScope& stored) { return stored.name == name; }) !=
         0;
}

tl::expected<ipc::ScopeRemoved, ipc::EdgeError> ScopeAdministration::remove(const std::string& name) {
  if (name == policy::kMainScope)
    return tl::unexpected(edge_error(HB_INVALID, "scope main is always there and cannot be removed"));
  const auto found = std::find_if(made_.begin(), made_.end(),
                                  [&](const auto& entry) { return entry.second.scope->name == name; });
  if (found == made_.end()) {
    if (!forget(name)) return tl::unexpected(edge_error(HB_NOT_FOUND, "there is no scope " + shown(name)));
    // The start could not make it: nothing is in it.
    if (const auto saved = save(); !saved) return tl::unexpected(not_saved(name, saved.error()));
    return ipc::ScopeRemoved{};
  }
  const core::ScopeId id = found->first;
  const Made made = std::move(found->second);
  made_.erase(found);

  const restart::ParkedEntry parked{restart::ParkedKind::kListener, id.value, 0};
  parts_.engine.continuity().unpark(std::span(&parked, 1));

  ipc::ScopeRemoved removed;
  const core::Counters before = parts_.engine.counters();
  removed.sessions = parts_.server.close_scope(id);
  parts_.engine.remove_scope(id);
  parts_.engine.note_fds(-1);
  const core::Counters after = parts_.engine.counters();
  removed.exports = before.exports - after.exports;
  removed.tickets = before.tickets - after.tickets;
  removed.groups = before.groups - after.groups;
  removed.bytes = before.bytes - after.bytes;

  static_cast<void>(forget(name));
  const auto saved = save();
  if (const auto gone = directories_.remove(name, made.socket); !gone)
    observe::log(observe::Level::kWarning, observe::Message::kScopeDirectoryStays,
                 "scope " + name + ": its directory stays: " + gone.error());
  observe::log(observe::Level::kInfo, "scope " + name + " removed, with " + std::to_string(removed.sessions) +
                                          " sessions and " + std::to_string(removed.exports) + " exports");
  if (!saved) return tl::unexpected(not_saved(name, saved.error()));
  return removed;
}

ipc::ScopesListed ScopeAdministration::list(std::uint64_t cursor) const {
  ipc::ScopesListed out;
  if (cursor == 0) {
    ipc::ScopeInfo& main = out.scopes.emplace_back();
    main.name = policy::kMainScope;
    main.directory = parts_.base;
    fill(main, parts_.engine.scope_use({}));
    main.age_ns = parts_.engine.uptime_ns();
  }
  for (auto next = made_.upper_bound(core::ScopeId{cursor}); next != made_.end(); ++next) {
    if (out.scopes.size() == kPage) {
      out.next_cursor = std::prev(next)->first.value;
      break;
    }
    const Made& made = next->second;
    ipc::ScopeInfo& info = out.scopes.emplace_back();
    info.name = made.scope->name;
    info.directory = directories_.path_of(info.name);
    info.uids = made.scope->uids;
    fill(info, parts_.engine.scope_use(next->first));
    info.age_ns = ipc::monotonic_now() - made.since_ns;
  }
  return out;
}

}  // namespace hb::app
