// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/access_rules.h"

#include "core/core.h"
#include "core/failure.h"

namespace hb::core {

namespace {

Access granted(const Acl& acl, const Principal& who) {
  int bits = 0;
  for (const AclEntry& entry : acl) {
    const bool meant = entry.kind == AclEntry::Kind::kUid ? entry.id == who.uid : who.in_group(entry.id);
    if (meant) bits |= static_cast<int>(entry.access);
  }
  return static_cast<Access>(bits);
}

}  // namespace

Access access_of(const ExportTable& exports, const Export& exported, const Principal& who) {
  if (who.admin || who.scope != exported.scope) return Access::kNone;
  if (who.uid == exported.owner_uid) return exported.access;
  return static_cast<Access>(static_cast<int>(granted(exports.acls().at(exported.acl), who)) &
                             static_cast<int>(exported.access));
}

bool may_see(const ExportTable& exports, const Export& exported, const Principal& who) {
  return who.admin || access_of(exports, exported, who) != Access::kNone;
}

bool is_owner_or_admin(const Export& exported, const Principal& who) {
  return who.admin || (who.scope == exported.scope && who.uid == exported.owner_uid);
}

std::optional<Error> refuse_verb(const Core& core, const Principal& who, Verb verb) {
  if (who.admin || who.rights.allows(verb)) return std::nullopt;
  return failure(HB_DENIED, "the policy of this node does not let ",
                 core.accounts.text_of(who.scope, who.uid), " ", verb_name(verb),
                 verb == Verb::kPersist ? " memory" : "", "; `hipbrokerctl check-policy --as ", who.uid,
                 "` names the rule");
}

bool same_principal(const Principal& a, const Principal& b) { return a.scope == b.scope && a.uid == b.uid; }

bool reopening_binds(std::uint32_t owner_uid, std::uint32_t reader_uid) {
  return reader_uid != owner_uid && reader_uid != 0;
}

}  // namespace hb::core
