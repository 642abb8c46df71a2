// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// An owner that is back after a restart, with the token of what it had exported.
#include <string>
#include <utility>

#include "core/access_rules.h"
#include "core/awaiting.h"
#include "core/ending.h"
#include "core/export_rules.h"
#include "core/failure.h"
#include "core/lookup.h"
#include "core/quota.h"
#include "core/staging.h"
#include "core/verbs.h"
#include "wire/name.h"

namespace hb::core {

namespace {

// What a token vouches for: that this uid exported exactly this, in this scope.
struct Claims {
  ScopeId scope;
  std::uint32_t uid = 0;
  ExportId id;
  std::uint32_t generation = 0;
  std::string_view name;
  std::string_view metadata;
  HandleKind kind{};
  const Placement& placement;
  const Acl& acl;
  Access access{};
  std::uint64_t max_size = 0;
};

class Digest {
 public:
  Digest& add(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<std::uint8_t>(value >> shift));
    return *this;
  }
  Digest& add(std::string_view text) {
    add(std::uint64_t{text.size()});
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return *this;
  }
  void add(const Device& device) { add(device.uuid).add(device.pci).add(std::uint64_t{device.partition}); }
  [[nodiscard]] Mac mac(const Secret& secret) const { return siphash128(secret, bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

Mac token_of(const Core& core, const Claims& claims) {
  constexpr std::uint32_t kTokenGeneration = UINT32_MAX - 1;  // no export's
  const Scope* const scope = core.accounts.find_scope(claims.scope);
  Digest digest;
  // By name: ids of scopes are given anew when their list is lost.
  digest.add(scope == nullptr ? std::string_view() : std::string_view(scope->name))
      .add(std::uint64_t{claims.uid})
      .add(claims.id.value)
      .add(std::uint64_t{claims.generation})
      .add(claims.name)
      .add(claims.metadata)
      .add(static_cast<std::uint64_t>(claims.kind))
      .add(static_cast<std::uint64_t>(claims.access))
      .add(claims.max_size)
      .add(std::uint64_t{claims.acl.size()});
  for (const AclEntry& entry : claims.acl)
    digest.add(static_cast<std::uint64_t>(entry.kind))
        .add(std::uint64_t{entry.id})
        .add(static_cast<std::uint64_t>(entry.access));
  digest.add(claims.placement.device);
  for (const Device& peer : claims.placement.peers) digest.add(peer);
  return digest.mac(derive_secret(core.config.master, 0, kTokenGeneration));
}

bool same(const Mac& a, const Mac& b) {
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<std::uint8_t>(a[i] ^ b[i]);
  return difference == 0;
}

Error not_awaited(const ReofferRequest& request) {
  return failure(HB_NOT_FOUND, "export ", request.id.value, " generation ", request.generation,
                 " is not known, or the token is not its own; export the memory anew");
}

std::optional<Error> refuse(const Core& core, const Principal& who, const ReofferRequest& request) {
  if (who.admin) return failure(HB_DENIED, "the admin socket exports nothing: use the main socket");
  if (auto refused = refuse_verb(core, who, Verb::kExport)) return refused;
  constexpr std::uint64_t kMostVersions = std::uint64_t{1} << 48;  // nobody gets there one by one
  if (request.layout_version > kMostVersions)
    return failure(HB_RANGE, "layout version ", request.layout_version, " is none that an export can have");
  const Claims claims{who.scope,    who.uid,          request.id,      request.generation,
                      request.name, request.metadata, request.kind,    request.placement,
                      request.acl,  request.access,   request.max_size};
  return same(request.token, token_of(core, claims)) ? std::nullopt : std::optional(not_awaited(request));
}

// It is known: the owner's connection was lost.
Outcome take_over(Call& call, const Asker& asker, std::uint32_t slot) {
  Core& core = call.core;
  Export& e = core.exports.at(slot);
  if (e.session != kNoSlot)
    return failure(HB_EXISTS, "the export has an owner: session ", core.sessions.id_of(e.session).value);
  ExportLife& life = core.exports.life_of(slot);
  if (e.state == ExportState::kOrphaned) {
    stop_linger(core, life);
    core.exports.set_state(slot, ExportState::kLive);
  } else if (!life.lost) {
    stop_awaiting(call, slot);  // it sleeps as its owner wanted
  }
  life.owner.reset();
  link_owner(core, slot, asker.id.slot());
  return exported_reply(core, slot);
}

std::optional<Error> refuse_unknown(const Core& core, const Asker& asker, const ReofferRequest& request) {
  if (!core.config.lost_records) return not_awaited(request);
  ExportRequest terms;
  terms.name = request.name;
  terms.metadata = request.metadata;
  terms.kind = request.kind;
  terms.placement = request.placement;
  terms.acl = request.acl;
  terms.lifetime = request.lifetime;
  terms.linger_ns = request.linger_ns;
  terms.max_size = request.max_size;
  terms.total_chunks = 1;
  terms.total_size = request.size;
  terms.distinct_handles = 1;
  terms.chunks.emplace_back();  // the chunks come afterwards, and are looked at then
  if (auto refused = refuse_terms(core, terms, asker.session.principal)) return refused;
  const Principal& who = asker.session.principal;
  const Name* const name =
      request.name.empty() ? nullptr : core.exports.find_name(who.scope, who.uid, request.name);
  if (name != nullptr && (name->current != kNoSlot || name->staging != kNoSlot))
    return failure(HB_EXISTS, "name \"", escape_for_display(request.name), "\" of uid ", who.uid,
                   " is taken by another export meanwhile");
  return std::nullopt;
}

// Nothing is known of it but what the token vouches for.
Outcome make_again(Call& call, Asker& asker, const ReofferRequest& request, Time until) {
  Core& core = call.core;
  if (auto refused = refuse_unknown(core, asker, request)) return std::move(*refused);
  if (auto refused = charge(core, asker.session, Resource::kExports)) return std::move(*refused);
  Export e;
  e.state = ExportState::kSuspended;
  e.generation = request.generation;
  e.layout_version = std::max<std::uint64_t>(request.layout_version, 1);
  e.created = call.now;
  e.scope = asker.session.principal.scope;
  e.owner_uid = asker.session.principal.uid;
  e.account = asker.session.account;
  if (!request.metadata.empty()) e.metadata = std::make_unique<const std::string>(request.metadata);
  e.acl = core.exports.acls().take(request.acl);
  e.placement = core.exports.placements().take(request.placement);
  e.kind = request.kind;
  e.lifetime = request.lifetime;
  e.access = request.access;
  e.life = std::make_unique<ExportLife>();
  e.life->max_size = request.max_size;
  e.life->linger_ns = request.linger_ns;
  e.life->suspended_size = request.size;
  e.life->lost = true;
  const std::uint32_t acl = e.acl;
  const std::uint32_t placement = e.placement;
  if (!core.exports.restore(request.id, std::move(e), request.name, request.generation)) {
    core.exports.acls().drop(acl);
    core.exports.placements().drop(placement);
    give_back(core, asker.session, Resource::kExports);
    return not_awaited(request);
  }
  const std::uint32_t slot = request.id.slot();
  link_owner(core, slot, asker.id.slot());
  wait_for(call, slot, until);
  return exported_reply(core, slot);
}

}  // namespace

Mac token_of(const Core& core, std::uint32_t slot) {
  const Export& e = core.exports.at(slot);
  const Name* const name = core.exports.name_of(e);
  return token_of(core, Claims{e.scope, e.owner_uid, core.exports.id_of(slot), e.generation,
                               name == nullptr ? std::string_view() : std::string_view(name->text),
                               e.metadata == nullptr ? std::string_view() : std::string_view(*e.metadata),
                               e.kind, core.exports.placements().at(e.placement),
                               core.exports.acls().at(e.acl), e.access, e.max_size()});
}

Outcome reoffer(Call& call, Asker& asker, const ReofferRequest& request) {
  constexpr std::uint64_t kChunksNs = 60'000'000'000;  // for the chunks to come
  Core& core = call.core;
  if (auto refused = refuse(core, asker.session.principal, request)) return std::move(*refused);
  const Export* const known = core.exports.find(request.id);
  if (known == nullptr) return make_again(call, asker, request, call.now + kChunksNs);
  if (has_ended(known->state)) return ended_error(core, *known);
  if (known->session == asker.id.slot()) return exported_reply(core, request.id.slot());
  if (known->generation != request.generation)
    return failure(HB_STALE, "the export has a new owner since: generation ", known->generation);
  return take_over(call, asker, request.id.slot());
}

}  // namespace hb::core
