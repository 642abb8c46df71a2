// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "abi.h"
#include "abi_source.h"
#include "export_handle.h"
#include "group.h"
#include "reap_list.h"
#include "wire/limits.h"

using namespace hb::client;

namespace {

Result<void> read_offer(const hb_group_options& given, const std::shared_ptr<Client>& client,
                        GroupRequest& request) {
  if ((given.exported == nullptr) == (given.ptr == nullptr))
    return fail(HB_INVALID, given.ptr == nullptr
                                ? "neither exported nor ptr is given: a rank offers one of them"
                                : "exported and ptr are both given; a rank offers one of them");
  if (given.exported != nullptr) {
    if (given.exported->client != client)
      return fail(HB_INVALID, "exported is an export of another client; a rank has one connection");
    request.offered = given.exported->record;
    return {};
  }
  if (given.memory == HB_MEMORY_OWN || given.memory == HB_MEMORY_IMPORTED || given.memory > HB_MEMORY_HOST)
    return fail(HB_INVALID, "memory must be HB_MEMORY_UNKNOWN, _VMM, _MALLOC, _POOL or _HOST");
  request.source.ptr = given.ptr;
  request.source.bytes = given.bytes;
  request.source.max_bytes = given.max_bytes;
  request.source.memory = static_cast<MemoryKind>(given.memory);
  request.source.deadline_ns = given.deadline_ns;
  return {};
}

Result<void> read_layout(const hb_group_options& given, GroupRequest& request) {
  if (given.layout > HB_GROUP_FLAT) return fail(HB_INVALID, "layout must be HB_GROUP_AT or HB_GROUP_FLAT");
  request.flat = given.layout == HB_GROUP_FLAT;
  if (request.flat && given.bases != nullptr)
    return fail(HB_INVALID, "bases are for HB_GROUP_AT; HB_GROUP_FLAT has one base");
  if (!request.flat && (given.base != nullptr || given.stride != 0))
    return fail(HB_INVALID, "base and stride are for HB_GROUP_FLAT");
  if (given.bases != nullptr) request.bases.assign(given.bases, given.bases + given.world);
  request.base = given.base;
  request.stride = given.stride;
  return {};
}

Result<GroupRequest> read_group(const std::shared_ptr<Client>& client, const hb_group_options* options) {
  if (options == nullptr) return null_argument("options");
  const hb_group_options defaults = HB_GROUP_OPTIONS_INIT;
  const auto given = read_options(options, defaults, "hb_group_options");
  if (!given) return tl::unexpected(given.error());
  GroupRequest request;
  if (given->name == nullptr) return null_argument("name");
  auto name = read_name(given->name);
  if (!name) return tl::unexpected(std::move(name.error()));
  request.name = std::move(*name);
  if (given->world > hb::limits::kGroupWorld)
    return fail(limit_error(HB_QUOTA, "ranks of a group", given->world, hb::limits::kGroupWorld,
                            std::to_string(given->world) + " ranks; a group has at most " +
                                std::to_string(hb::limits::kGroupWorld)));
  if (given->rank >= given->world)
    return fail(HB_INVALID, "rank " + std::to_string(given->rank) + " of " + std::to_string(given->world) +
                                " ranks: they count from 0 and are those of this node");
  request.rank = given->rank;
  request.world = given->world;
  request.attempt = given->attempt;
  if (given->agreement == nullptr && given->agreement_bytes > 0) return null_argument("agreement");
  if (given->agreement_bytes > hb::limits::kAgreementBytes)
    return fail(limit_error(HB_QUOTA, "agreement", given->agreement_bytes, hb::limits::kAgreementBytes,
                            "an agreement of " + std::to_string(given->agreement_bytes) + " bytes; at most " +
                                std::to_string(hb::limits::kAgreementBytes) + " are possible: send a hash"));
  if (given->agreement_bytes > 0)
    request.agreement.assign(static_cast<const char*>(given->agreement), given->agreement_bytes);
  request.any_layout = given->any_layout != 0;
  if (auto offer = read_offer(*given, client, request); !offer) return tl::unexpected(offer.error());
  if (auto layout = read_layout(*given, request); !layout) return tl::unexpected(layout.error());
  if (given->access != HB_ACCESS_READ && given->access != HB_ACCESS_READ_WRITE)
    return fail(HB_INVALID, "access must be HB_ACCESS_READ or HB_ACCESS_READ_WRITE");
  request.import.access = given->access;
  request.import.reserve_bytes = given->reserve_bytes;
  auto peers = read_devices(given->peers, given->peer_count, PeersOf::kImport);
  if (!peers) return tl::unexpected(std::move(peers.error()));
  request.import.peers = std::move(*peers);
  const auto host = read_host_access(given->host_access);
  if (!host) return tl::unexpected(host.error());
  request.import.host = *host;
  request.deadline_ns = given->deadline_ns;
  return request;
}

// Calls of a group, which must exist and belong to this process.
template <class Body>
hb_status group_boundary(const hb_group* group, hb_error* error, Body&& body) noexcept {
  if (group == nullptr) return report(HB_INVALID, "group is NULL", error, nullptr);
  if (!group->client->is_here())
    return report(HB_FORKED, "the group belongs to the parent process", error, nullptr);
  return boundary(group->client.get(), error, std::forward<Body>(body));
}

hb_group_member member_of(const hb_group& group, std::uint32_t rank) {
  const hb_group::Member& known = group.members[rank];
  hb_group_member member = HB_GROUP_MEMBER_INIT;
  member.rank = rank;
  member.pid = known.pid;
  member.export_id = known.export_id;
  member.imported = known.imported.get();
  if (member.imported != nullptr) {
    hb_import_info info = HB_IMPORT_INFO_INIT;
    hb_import_get_info(member.imported, &info);
    member.ptr = info.ptr;
    member.bytes = info.bytes;
    return member;
  }
  const auto layout = group.offered->layout();
  member.bytes = layout->bytes;
  if (!layout->parts.empty()) member.ptr = const_cast<void*>(layout->parts.front().ptr);
  return member;
}

}  // namespace

hb_status hb_group_join(hb_client* client, const hb_group_options* options, hb_group** ret_group,
                        hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (ret_group == nullptr) return null_argument("ret_group");
    const auto request = read_group(client->client, options);
    if (!request) return tl::unexpected(request.error());
    reap();
    auto group = join_group(client->client, *request);
    if (!group) return tl::unexpected(std::move(group.error()));
    *ret_group = group->release();
    return {};
  });
}

hb_status hb_group_get_member(const hb_group* group, uint32_t rank, hb_group_member* ret_member,
                              hb_error* error) {
  return group_boundary(group, error, [&]() -> Result<void> {
    if (auto sound = check_info(ret_member, "ret_member"); !sound) return sound;
    if (rank >= group->members.size())
      return fail(limit_error(
          HB_RANGE, "rank", rank, group->members.size(),
          "rank " + std::to_string(rank) + " of a group of " + std::to_string(group->members.size())));
    write_info(member_of(*group, rank), ret_member);
    return {};
  });
}

uint32_t hb_group_rank(const hb_group* group) { return group == nullptr ? 0 : group->rank; }
uint32_t hb_group_world(const hb_group* group) {
  return group == nullptr ? 0 : static_cast<uint32_t>(group->members.size());
}

hb_status hb_group_check(hb_group* group, uint64_t deadline_ns, hb_error* error) {
  return group_boundary(group, error, [&] { return check_group(*group, deadline_ns); });
}

hb_status hb_group_append(hb_group* group, const hb_source* source, uint64_t deadline_ns, hb_error* error) {
  return group_boundary(group, error, [&]() -> Result<void> {
    const auto request = read_source(source, deadline_ns);
    if (!request) return tl::unexpected(request.error());
    reap();
    return append_to_group(*group, *request);
  });
}

void hb_group_leave(hb_group* group) {
  const LibraryScope inside;
  delete group;
  reap();
}
