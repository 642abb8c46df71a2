// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Who and what there is in the world of the model: a few uids, names, ACLs, devices and pieces of memory, so
// that random commands meet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/effect.h"
#include "model/naive_model.h"

namespace hb::test {

inline constexpr std::size_t kActors = 6;
inline constexpr const char* kNames[] = {"", "alpha", "beta", "gamma"};
inline constexpr std::uint32_t kUids[] = {1000, 1001, 1002, 0};
// Time goes in ticks. Deadlines of waits are odd and those of orphans even and each another, so that no two
// things are due at once and the order is certain.
inline constexpr core::Time kTick = 1024;
inline constexpr std::uint64_t kUsableFds = 45;  // of 60

inline core::Principal make_principal(std::uint32_t which, std::uint64_t other_scope) {
  core::Principal p;
  p.uid = kUids[which % 4];
  p.gid = p.uid;
  p.groups = {p.uid};
  if (which % 3 == 0) p.groups.push_back(500);
  std::sort(p.groups.begin(), p.groups.end());
  p.scope = core::ScopeId{which == 7 ? other_scope : 0};
  p.admin = which == 8;
  if (which % 3 != 1) p.rights = p.rights.with(core::Verb::kPersist);
  return p;
}

inline std::vector<core::AclEntry> make_acl(std::uint32_t which) {
  using core::Access;
  using Kind = core::AclEntry::Kind;
  switch (which) {
    case 0:
      return {};
    case 1:
      return {{Kind::kUid, 1001, Access::kRead}};
    case 2:
      return {{Kind::kUid, 1001, Access::kReadWrite}};
    case 3:
      return {{Kind::kGid, 500, Access::kRead}, {Kind::kUid, 1002, Access::kRead}};
    case 4:
      return {{Kind::kUid, 1000, Access::kRead}, {Kind::kGid, 500, Access::kReadWrite}};
    default:
      return {{Kind::kUid, 0, Access::kRead}, {Kind::kUid, 1001, Access::kRead}};
  }
}

// On no device, or on one with so many peers.
inline core::Placement make_placement(std::uint32_t which) {
  core::Placement out;
  if (which == 0) return out;
  out.device = {"GPU-0", "0000:03:00.0", 0};
  for (std::uint32_t i = 1; i < which; ++i) out.peers.push_back({"", "0000:83:00.0", i});
  return out;
}

inline bool writes(const std::vector<core::AclEntry>& acl) {
  return std::any_of(acl.begin(), acl.end(),
                     [](const core::AclEntry& e) { return e.access == core::Access::kReadWrite; });
}

inline core::NewChunk chunk_of(std::uint32_t handle, std::uint64_t offset, std::uint64_t size) {
  core::NewChunk chunk;
  chunk.handle = handle;
  chunk.offset = offset;
  chunk.size = size;
  return chunk;
}

inline hb_status status_in(const core::ReplyBody& body) {
  const auto* error = std::get_if<core::Error>(&body);
  return error == nullptr ? HB_OK : error->status;
}

inline Object pick_object(std::uint32_t seed) { return {seed % 8, seed / 8 % 4 != 0}; }

inline bool any_read_only(const std::vector<Object>& objects) {
  return std::any_of(objects.begin(), objects.end(), [](const Object& o) { return !o.writable; });
}

}  // namespace hb::test
