// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Groups, over hipbroker/group.h. Part of hipbroker.hpp, which includes it.
#ifndef HIPBROKER_GROUP_HPP
#define HIPBROKER_GROUP_HPP

#include "hipbroker/hipbroker.hpp"

namespace hipbroker {

// Ranks of one job on this node and their memory. Destruction leaves the group.
class Group {
 public:
  Group() = default;
  explicit Group(hb_group* group) noexcept : group_(group) {}
  // Returns when all ranks have mapped all, or throws the error of all.
  Group(const Client& client, const hb_group_options& options) {
    hb_group* group = nullptr;
    detail::call(hb_group_join, client.get(), &options, &group);
    group_ = detail::Owner<hb_group, hb_group_leave>(group);
  }
  std::uint32_t rank() const noexcept { return hb_group_rank(group_.get()); }
  std::uint32_t world() const noexcept { return hb_group_world(group_.get()); }
  hb_group_member member(std::uint32_t rank) const {
    hb_group_member member = HB_GROUP_MEMBER_INIT;
    detail::call(hb_group_get_member, group_.get(), rank, &member);
    return member;
  }
  void* data(std::uint32_t rank) const { return member(rank).ptr; }
  // Collective: every rank appends to its own export.
  void append(const hb_source& source, Deadline deadline = {}) {
    detail::call(hb_group_append, group_.get(), &source, deadline.ns());
  }
  // Throws why it ended, if it has.
  void check(Deadline deadline = {}) { detail::call(hb_group_check, group_.get(), deadline.ns()); }
  hb_group* get() const noexcept { return group_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(group_); }

 private:
  detail::Owner<hb_group, hb_group_leave> group_;
};

}  // namespace hipbroker
#endif
