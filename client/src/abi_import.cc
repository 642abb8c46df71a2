// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <cstring>

#include "abi.h"
#include "handles.h"
#include "import.h"
#include "reap_list.h"
#include "wire/key.h"

using namespace hb::client;

namespace {

// What hipImportExternalMemory cannot do is refused, not left out.
Result<void> check_external(const hb_import_options& given) {
  if (given.alias != 0) return fail(HB_INVALID, "HB_MAP_EXTERNAL: an alias is not mapped");
  if (given.address != nullptr)
    return fail(HB_INVALID, "HB_MAP_EXTERNAL: the runtime chooses the address, `address` must be NULL");
  if (given.peer_count != 0)
    return fail(HB_INVALID, "HB_MAP_EXTERNAL maps for the current device alone: `peer_count` must be 0");
  if (given.host_access == HB_HOST_REQUIRE)
    return fail(HB_UNSUPPORTED, "HB_MAP_EXTERNAL lets the CPU in nowhere: map with HB_MAP_VMM");
  return {};
}

Result<ImportRequest> read_import(const hb_import_options* options) {
  if (options == nullptr) return null_argument("options");
  const hb_import_options defaults = HB_IMPORT_OPTIONS_INIT;
  const auto given = read_options(options, defaults, "hb_import_options");
  if (!given) return tl::unexpected(given.error());
  ImportRequest request;
  if ((given->key == nullptr) == (given->name == nullptr))
    return fail(HB_INVALID, given->key == nullptr ? "neither key nor name is given"
                                                  : "key and name are both given; the target is one of them");
  if (given->key != nullptr) {
    hb::KeyBytes key{};
    std::memcpy(key.data(), given->key->bytes, key.size());
    const std::uint16_t version = hb::decode_key(key).version;
    if (version != hb::kKeyVersion)
      return fail(HB_VERSION, "the key has version " + std::to_string(version) +
                                  "; this library knows version " + std::to_string(hb::kKeyVersion));
    request.key.target.key = key;
    if (given->wait != 0) return fail(HB_INVALID, "wait is for names: a key names what exists");
  } else {
    auto name = read_name(given->name);
    if (!name) return tl::unexpected(std::move(name.error()));
    request.key.target.name = std::move(*name);
    request.key.target.owner_uid = owner_of(given->owner_uid);
  }
  if (given->access != HB_ACCESS_READ && given->access != HB_ACCESS_READ_WRITE)
    return fail(HB_INVALID, "access must be HB_ACCESS_READ or HB_ACCESS_READ_WRITE");
  if (given->demand_level > HB_LEVEL_SEALED)
    return fail(HB_INVALID, "demand_level " + std::to_string(given->demand_level) + " is not a level");
  request.key.access = given->access;
  request.key.offset = given->offset;
  request.key.bytes = given->bytes;
  request.key.demand_level = given->demand_level;
  request.address = given->address;
  request.alias = given->alias != 0;
  request.wait = given->wait != 0;
  request.deadline_ns = given->deadline_ns;
  if (given->mapping > HB_MAP_EXTERNAL)
    return fail(HB_INVALID, "mapping must be HB_MAP_VMM or HB_MAP_EXTERNAL");
  request.key.mapping = static_cast<Mapping>(given->mapping);
  if (request.key.mapping == Mapping::kExternal)
    if (auto sound = check_external(*given); !sound) return tl::unexpected(std::move(sound.error()));
  auto peers = read_devices(given->peers, given->peer_count, PeersOf::kImport);
  if (!peers) return tl::unexpected(std::move(peers.error()));
  request.key.peers = std::move(*peers);
  const auto host = read_host_access(given->host_access);
  if (!host) return tl::unexpected(host.error());
  request.key.host = *host;
  request.key.reserve_bytes = given->reserve_bytes;
  return request;
}

hb_import_info info_of(const Grant& grant, std::uint64_t chunks) {
  hb_import_info info = HB_IMPORT_INFO_INIT;
  info.bytes = grant.bytes;
  info.offset = grant.offset;
  info.export_id = grant.export_id;
  info.generation = grant.generation;
  info.layout_version = grant.layout_version;
  info.export_bytes = grant.export_bytes;
  info.chunks = chunks;
  info.owner_uid = grant.owner_uid;
  info.access = grant.access;
  info.level = grant.level;
  info.kind = grant.handle_kind;
  info.metadata = grant.metadata.data();
  info.metadata_bytes = grant.metadata.size();
  info.device = device_id_of(grant.device);
  info.ordinal = -1;
  info.max_bytes = grant.max_bytes;
  return info;
}

// In a forked child without the lock: a thread of the parent may have held it.
std::unique_lock<std::mutex> look_at(const hb_import& imported) {
  std::unique_lock lock(imported.look, std::defer_lock);
  if (imported.client->is_here()) lock.lock();
  return lock;
}

}  // namespace

hb_status hb_import_open(hb_client* client, const hb_import_options* options, hb_import** ret_import,
                         hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (ret_import == nullptr) return null_argument("ret_import");
    const auto request = read_import(options);
    if (!request) return tl::unexpected(request.error());
    reap();
    auto imported = open_import(client->client, *request);
    if (!imported) return tl::unexpected(std::move(imported.error()));
    *ret_import = *imported;
    return {};
  });
}

void hb_import_get_info(const hb_import* imported, hb_import_info* ret_info) {
  if (imported == nullptr || ret_info == nullptr) return;
  const auto lock = look_at(*imported);
  hb_import_info info = info_of(imported->grant, imported->grant.chunk_count);
  info.ptr = imported->ptr;
  info.host_granted = imported->host_granted() ? 1 : 0;
  info.ordinal = imported->ordinal;
  info.peers = imported->peers.data();
  info.peer_count = imported->peers.size();
  info.mapping = static_cast<std::uint32_t>(imported->key.mapping);
  info.reserved_bytes = imported->reserved_bytes();
  info.asleep = imported->asleep.load() ? 1 : 0;
  write_info(info, ret_info);
}

int hb_import_is_current(const hb_import* imported) {
  return imported != nullptr && imported->is_current() ? 1 : 0;
}

hb_status hb_import_subkey(const hb_import* imported, uint64_t offset, uint64_t bytes, hb_key* ret_key,
                           hb_error* error) {
  return boundary(imported == nullptr ? nullptr : imported->client.get(), error, [&]() -> Result<void> {
    if (imported == nullptr) return null_argument("imported");
    if (ret_key == nullptr) return null_argument("ret_key");
    const auto lock = look_at(*imported);
    const auto key = imported->grant.subkey(offset, bytes);
    if (!key) return tl::unexpected(key.error());
    std::memcpy(ret_key->bytes, key->data(), key->size());
    return {};
  });
}

void hb_import_close(hb_import* imported) {
  const LibraryScope inside;
  if (imported != nullptr) close_import(imported);
  reap();
}

hb_status hb_handles_acquire(hb_client* client, const hb_import_options* options, hb_handles** ret_handles,
                             hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (ret_handles == nullptr) return null_argument("ret_handles");
    const auto request = read_import(options);
    if (!request) return tl::unexpected(request.error());
    const AcquireRequest wanted{request->key.target, request->key.access,       request->key.offset,
                                request->key.bytes,  request->key.demand_level, request->wait,
                                request->deadline_ns};
    auto handles = acquire_handles(client->client, wanted);
    if (!handles) return tl::unexpected(std::move(handles.error()));
    *ret_handles = *handles;
    return {};
  });
}

void hb_handles_get_info(const hb_handles* handles, hb_import_info* ret_info) {
  if (handles == nullptr || ret_info == nullptr) return;
  hb_import_info info = info_of(handles->grant, handles->chunks.size());
  info.peers = handles->peers.data();
  info.peer_count = handles->peers.size();
  write_info(info, ret_info);
}

size_t hb_handles_chunk_count(const hb_handles* handles) {
  return handles == nullptr ? 0 : handles->chunks.size();
}
const hb_handle_chunk* hb_handles_chunks(const hb_handles* handles) {
  return handles == nullptr ? nullptr : handles->chunks.data();
}
size_t hb_handles_fd_count(const hb_handles* handles) { return handles == nullptr ? 0 : handles->fds.size(); }

int hb_handles_fd(const hb_handles* handles, size_t index) {
  return handles == nullptr || index >= handles->fds.size() ? -1 : handles->fds[index].get();
}

int hb_handles_take_fd(hb_handles* handles, size_t index) {
  return handles == nullptr || index >= handles->fds.size() ? -1 : handles->fds[index].release();
}

void hb_handles_release(hb_handles* handles) {
  const LibraryScope inside;
  if (handles == nullptr) return;
  // In a forked child the numbers may be the child's own by now: they are forgotten, not closed.
  if (!handles->client->is_here())
    for (hb::UniqueFd& fd : handles->fds) static_cast<void>(fd.release());
  delete handles;
}

hb_status hb_wait_name(hb_client* client, const char* name, uint32_t owner_uid, uint64_t deadline_ns,
                       hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    auto wanted = read_name(name);
    if (!wanted) return tl::unexpected(std::move(wanted.error()));
    AcquireRequest request;
    request.target.name = std::move(*wanted);
    request.target.owner_uid = owner_of(owner_uid);
    request.access = HB_ACCESS_READ;
    request.bytes = HB_WHOLE;
    request.wait = true;
    request.deadline_ns = deadline_ns;
    return wait_until_acquirable(*client->client, request);
  });
}
