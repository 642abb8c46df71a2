// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "abi.h"
#include "memory_handle.h"
#include "reap_list.h"

using namespace hb::client;

hb_status hb_memory_alloc(hb_client* client, const hb_memory_options* options, hb_memory** ret_memory,
                          hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (options == nullptr) return null_argument("options");
    if (ret_memory == nullptr) return null_argument("ret_memory");
    const hb_memory_options defaults = HB_MEMORY_OPTIONS_INIT;
    const auto given = read_options(options, defaults, "hb_memory_options");
    if (!given) return tl::unexpected(given.error());
    AllocateRequest request;
    request.bytes = given->bytes;
    request.chunk_bytes = given->chunk_bytes;
    request.sealed = given->sealed != 0;
    request.dmabuf = given->dmabuf != 0;
    request.device = given->device;
    auto device_id = read_device_id(given->device_id);
    if (!device_id) return tl::unexpected(std::move(device_id.error()));
    request.device_id = std::move(*device_id);
    auto peers = read_devices(given->peers, given->peer_count, PeersOf::kMemory);
    if (!peers) return tl::unexpected(std::move(peers.error()));
    request.peers = std::move(*peers);
    const auto host = read_host_access(given->host_access);
    if (!host) return tl::unexpected(host.error());
    request.host = *host;
    request.reserve_bytes = given->reserve_bytes;
    reap();
    auto handle = std::make_unique<hb_memory>();
    auto memory = Memory::create(given->provider, request, client->client->mark());
    if (!memory) return tl::unexpected(std::move(memory.error()));
    handle->memory = std::move(*memory);
    *ret_memory = handle.release();
    return {};
  });
}

void* hb_memory_ptr(const hb_memory* memory) {
  return memory == nullptr ? nullptr : memory->memory->allocation().ptr();
}
uint64_t hb_memory_bytes(const hb_memory* memory) {
  return memory == nullptr ? 0 : memory->memory->allocation().bytes();
}
uint64_t hb_memory_chunks(const hb_memory* memory) {
  return memory == nullptr ? 0 : memory->memory->allocation().chunk_count();
}
void hb_memory_get_info(const hb_memory* memory, hb_memory_info* ret_info) {
  if (memory == nullptr || ret_info == nullptr) return;
  const Allocation& allocation = memory->memory->allocation();
  hb_memory_info info = HB_MEMORY_INFO_INIT;
  info.ptr = allocation.ptr();
  info.bytes = allocation.bytes();
  info.chunk_bytes = allocation.chunk_bytes();
  info.chunks = allocation.chunk_count();
  info.host_granted = allocation.host_granted() ? 1 : 0;
  info.device = device_id_of(allocation.device());
  info.reserved_bytes = allocation.reserved_bytes();
  info.asleep = memory->memory->is_asleep() ? 1 : 0;
  write_info(info, ret_info);
}
hb_status hb_memory_grow(hb_memory* memory, uint64_t bytes, hb_error* error) {
  return boundary(nullptr, error, [&]() -> Result<void> {
    if (memory == nullptr) return null_argument("memory");
    return memory->memory->grow(bytes);
  });
}
hb_status hb_memory_sleep(hb_memory* memory, hb_error* error) {
  return boundary(nullptr, error, [&]() -> Result<void> {
    if (memory == nullptr) return null_argument("memory");
    return memory->memory->sleep();
  });
}
hb_status hb_memory_wake(hb_memory* memory, hb_error* error) {
  return boundary(nullptr, error, [&]() -> Result<void> {
    if (memory == nullptr) return null_argument("memory");
    return memory->memory->wake();
  });
}
void hb_memory_free(hb_memory* memory) {
  const LibraryScope inside;
  delete memory;
  reap();
}
