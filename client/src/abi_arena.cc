// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "abi.h"
#include "arena.h"
#include "hipbroker/arena.h"
#include "reap_list.h"

using namespace hb::client;

struct hb_arena {
  std::shared_ptr<Arena> arena;
};

namespace {

// For calls of an arena, which must exist and belong to this process.
template <class Body>
hb_status arena_boundary(const hb_arena* handle, hb_error* error, Body&& body) noexcept {
  if (handle == nullptr) return report(HB_INVALID, "arena is NULL", error, nullptr);
  if (!handle->arena->is_here())
    return report(HB_FORKED, "the arena belongs to the parent process; make one here", error, nullptr);
  return boundary(nullptr, error, std::forward<Body>(body));
}

Result<AllocateRequest> read_request(const hb_arena_options& given) {
  AllocateRequest request;
  request.bytes = given.reserve_bytes;
  request.chunk_bytes = given.block_bytes;
  request.device = given.device;
  auto device_id = read_device_id(given.device_id);
  if (!device_id) return tl::unexpected(std::move(device_id.error()));
  request.device_id = std::move(*device_id);
  auto peers = read_devices(given.peers, given.peer_count, PeersOf::kMemory);
  if (!peers) return tl::unexpected(std::move(peers.error()));
  request.peers = std::move(*peers);
  const auto host = read_host_access(given.host_access);
  if (!host) return tl::unexpected(host.error());
  request.host = *host;
  return request;
}

}  // namespace

hb_status hb_arena_create(hb_client* client, const hb_arena_options* options, hb_arena** ret_arena,
                          hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (options == nullptr) return null_argument("options");
    if (ret_arena == nullptr) return null_argument("ret_arena");
    const hb_arena_options defaults = HB_ARENA_OPTIONS_INIT;
    const auto given = read_options(options, defaults, "hb_arena_options");
    if (!given) return tl::unexpected(given.error());
    const auto request = read_request(*given);
    if (!request) return tl::unexpected(request.error());
    reap();
    auto handle = std::make_unique<hb_arena>();
    auto arena = Arena::create(given->provider, *request, given->keep_bytes, client->client->mark());
    if (!arena) return tl::unexpected(std::move(arena.error()));
    handle->arena = std::move(*arena);
    *ret_arena = handle.release();
    return {};
  });
}

hb_status hb_arena_alloc(hb_arena* arena, uint64_t bytes, uint64_t alignment, void** ret_ptr,
                         hb_error* error) {
  return arena_boundary(arena, error, [&]() -> Result<void> {
    if (ret_ptr == nullptr) return null_argument("ret_ptr");
    reap();
    const auto ptr = arena->arena->allocate(bytes, alignment);
    if (!ptr) return tl::unexpected(ptr.error());
    *ret_ptr = *ptr;
    return {};
  });
}

hb_status hb_arena_free(hb_arena* arena, void* ptr, hb_error* error) {
  return arena_boundary(arena, error, [&]() -> Result<void> {
    auto freed = arena->arena->free(ptr);
    reap();
    return freed;
  });
}

hb_status hb_arena_trim(hb_arena* arena, hb_error* error) {
  return arena_boundary(arena, error, [&]() -> Result<void> {
    reap();
    arena->arena->trim();
    return {};
  });
}

void hb_arena_get_info(const hb_arena* arena, hb_arena_info* ret_info) {
  if (arena == nullptr || ret_info == nullptr) return;
  const Arena::Info now = arena->arena->info();
  const BlockRange& range = arena->arena->range();
  hb_arena_info info = HB_ARENA_INFO_INIT;
  info.base = now.base;
  info.reserved = now.reserved;
  info.block_bytes = now.block_bytes;
  info.mapped = now.mapped;
  info.blocks_mapped = now.mapped / now.block_bytes;
  info.used = now.used;
  info.allocations = now.allocations;
  info.largest_free = now.largest_free;
  info.lost = now.lost;
  info.gives_back = range.gives_back() ? 1 : 0;
  info.host_granted = range.host_granted() ? 1 : 0;
  info.device = device_id_of(range.device());
  write_info(info, ret_info);
}

void hb_arena_destroy(hb_arena* arena) {
  if (arena == nullptr) return;
  const LibraryScope inside;
  arena->arena->close();
  delete arena;
  reap();
}
