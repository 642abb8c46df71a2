// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What an access list comes to for somebody who is not here, in words: for who keeps the node in order.
#include "core/access_rules.h"
#include "core/failure.h"

namespace hb::core {
namespace {

void put(std::string& out, const AclEntry& entry) {
  out += text(out.empty() ? "" : ", ", access_name(entry.access), " to ",
              entry.kind == AclEntry::Kind::kUid ? "uid " : "gid ", entry.id);
}

}  // namespace

AccessExplained explain_access(const ExportTable& exports, std::uint32_t slot, const Principal& who) {
  const Export& exported = exports.at(slot);
  AccessExplained out;
  out.id = exports.id_of(slot);
  out.state = exported.state;
  out.access = access_of(exports, exported, who);
  if (who.uid == exported.owner_uid) {
    out.reason = text("uid ", who.uid, " owns it, and has all that it gives: ", access_name(exported.access));
    return out;
  }
  std::string fitting;
  std::string others;
  for (const AclEntry& entry : exports.acls().at(exported.acl)) {
    const bool meant = entry.kind == AclEntry::Kind::kUid ? entry.id == who.uid : who.in_group(entry.id);
    put(meant ? fitting : others, entry);
  }
  const std::string owner = text("its owner, uid ", exported.owner_uid, ",");
  if (fitting.empty()) {
    out.reason = others.empty()
                     ? text(owner, " gave access to nobody")
                     : text(owner, " gave uid ", who.uid, " nothing; the access list gives ", others);
    return out;
  }
  out.reason = text("the access list of ", owner, " gives ", fitting);
  if (exported.access != Access::kReadWrite) {
    out.reason += text("; the export gives ", access_name(exported.access), " at most");
  }
  return out;
}

}  // namespace hb::core
