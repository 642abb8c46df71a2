// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "handles.h"

#include "client.h"
#include "device_record.h"
#include "fd_room.h"

namespace hb::client {

Result<hb_handles*> acquire_handles(const std::shared_ptr<Client>& client, const AcquireRequest& request) {
  auto handles = std::make_unique<hb_handles>();
  handles->client = client;
  auto acquired = acquire(*client, request, [&](const Grant& grant, GrantPage page) -> Result<void> {
    if (page.first) {
      handles->chunks.clear();
      handles->fds.clear();
    }
    const std::size_t before = handles->fds.size();
    for (const PageChunk& chunk : page.chunks)
      handles->chunks.push_back({static_cast<std::uint32_t>(before + chunk.handle), chunk.object_offset,
                                 chunk.bytes, chunk.start, chunk.object_bytes});
    const bool one_each = page.fds.size() == page.chunks.size();
    for (UniqueFd& fd : page.fds) handles->fds.push_back(std::move(fd));
    // Only where each chunk has a descriptor of its own is the number still to come known.
    const std::uint64_t left = grant.chunk_count - handles->chunks.size();
    if (before > 0 || left == 0 || !one_each) return {};
    const FdRoom room = fd_room();
    if (left <= room.free()) return {};
    return fail(no_fds(room, grant.chunk_count,
                       "keeping the descriptors of " + std::to_string(grant.chunk_count) + " chunks"));
  });
  if (!acquired) return tl::unexpected(std::move(acquired.error()));
  handles->grant = std::move(acquired->grant);
  handles->lease = std::move(acquired->lease);
  if (handles->lease.session().leases().give_to_handles(handles->lease.id())) client->events().settle();
  std::vector<PeerGrant> peers;
  for (const DeviceId& peer : handles->grant.peers) peers.push_back({peer});
  handles->peers = peer_list(peers);
  return handles.release();
}

}  // namespace hb::client
