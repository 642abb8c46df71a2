// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <cstring>

#include "abi.h"
#include "abi_source.h"
#include "export_handle.h"
#include "exports.h"
#include "reap_list.h"

using namespace hb::client;

Result<ExportRequest> hb::client::read_export(const hb_export_options* options) {
  if (options == nullptr) return null_argument("options");
  const hb_export_options defaults = HB_EXPORT_OPTIONS_INIT;
  const auto given = read_options(options, defaults, "hb_export_options");
  if (!given) return tl::unexpected(given.error());
  ExportRequest request;
  if (given->name != nullptr) {
    auto name = read_name(given->name);
    if (!name) return tl::unexpected(std::move(name.error()));
    request.name = std::move(*name);
  }
  if (given->metadata == nullptr && given->metadata_bytes > 0) return null_argument("metadata");
  if (given->acl == nullptr && given->acl_count > 0) return null_argument("acl");
  if (given->chunks == nullptr && given->chunk_count > 0) return null_argument("chunks");
  if (given->handles == nullptr && given->handle_count > 0) return null_argument("handles");
  if ((given->ptr != nullptr) + (given->chunk_count > 0) + (given->handle_count > 0) > 1)
    return fail(HB_INVALID, "more than one of ptr, chunks and handles is given; the memory is one of them");
  if (given->memory == HB_MEMORY_OWN || given->memory == HB_MEMORY_IMPORTED || given->memory > HB_MEMORY_HOST)
    return fail(HB_INVALID,
                "memory must be HB_MEMORY_UNKNOWN, _VMM, _MALLOC, _POOL or _HOST: of its own memory and of "
                "imports the library knows better");
  request.metadata = {static_cast<const std::byte*>(given->metadata), given->metadata_bytes};
  request.acl = {given->acl, given->acl_count};
  request.chunks = {given->chunks, given->chunk_count};
  request.handles = {given->handles, given->handle_count};
  request.memory = static_cast<MemoryKind>(given->memory);
  request.max_access = given->max_access;
  request.max_bytes = given->max_bytes;
  request.ptr = given->ptr;
  request.bytes = given->bytes;
  request.deadline_ns = given->deadline_ns;
  request.lifetime = given->lifetime;
  request.linger_ns = given->linger_ns;
  request.replace = given->replace != 0;
  auto device = read_device_id(given->device);
  if (!device) return tl::unexpected(std::move(device.error()));
  request.device = std::move(*device);
  if (given->ptr != nullptr && !request.device.empty())
    return fail(HB_INVALID, "device is for chunks and handles; memory at ptr knows its own");
  return request;
}

namespace {

Result<void> put(const Result<WithdrawnCount>& count, hb_withdrawn* out) {
  if (!count) return tl::unexpected(count.error());
  if (out == nullptr) return {};
  hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
  withdrawn.exports = count->exports;
  withdrawn.holders = count->holders;
  write_info(withdrawn, out);
  return {};
}

}  // namespace

hb_status hb_export_create(hb_client* client, const hb_export_options* options, hb_export** ret_export,
                           hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (ret_export == nullptr) return null_argument("ret_export");
    const auto request = read_export(options);
    if (!request) return tl::unexpected(request.error());
    reap();
    auto handle = std::make_unique<hb_export>();
    handle->client = client->client;
    auto record = create_export(*client->client, *request);
    if (!record) return tl::unexpected(std::move(record.error()));
    handle->record = std::move(*record);
    *ret_export = handle.release();
    return {};
  });
}

void hb_export_get_info(const hb_export* exported, hb_export_info* ret_info) {
  if (exported == nullptr || ret_info == nullptr) return;
  hb_export_info info = HB_EXPORT_INFO_INIT;
  info.export_id = exported->record->id;
  info.generation = exported->record->generation;
  const auto layout = exported->record->layout();
  info.layout_version = layout->version;
  info.bytes = layout->bytes;
  std::memcpy(info.key.bytes, exported->record->key.data(), sizeof info.key.bytes);
  write_info(info, ret_info);
}

hb_status hb_export_subkey(const hb_export* exported, uint64_t offset, uint64_t bytes, hb_key* ret_key,
                           hb_error* error) {
  return boundary(exported == nullptr ? nullptr : exported->client.get(), error, [&]() -> Result<void> {
    if (exported == nullptr) return null_argument("exported");
    if (ret_key == nullptr) return null_argument("ret_key");
    const std::uint64_t whole = exported->record->layout()->bytes;
    const bool on = bytes == HB_WHOLE && exported->record->grows();
    if (offset >= whole || bytes == 0 || (bytes != HB_WHOLE && bytes > whole - offset))
      return fail(limit_error(HB_RANGE, "bytes", bytes, offset >= whole ? 0 : whole - offset,
                              "offset " + std::to_string(offset) +
                                  " and the bytes from there do not lie "
                                  "inside the export's " +
                                  std::to_string(whole) + " bytes"));
    // To the end of what grows is to the end, wherever that comes to be.
    const std::uint64_t length = on ? UINT64_MAX : bytes == HB_WHOLE ? whole - offset : bytes;
    const auto key = exported->record->subkey(offset, length);
    std::memcpy(ret_key->bytes, key.data(), key.size());
    return {};
  });
}

hb_status hb_export_withdraw(hb_export* exported, uint64_t deadline_ns, hb_withdrawn* ret_withdrawn,
                             hb_error* error) {
  if (exported == nullptr) return report(HB_INVALID, "exported is NULL", error, nullptr);
  if (!exported->client->is_here())
    return report(HB_FORKED, "the export belongs to the parent process", error, nullptr);
  return boundary(exported->client.get(), error, [&] {
    return put(withdraw_export(*exported->client, *exported->record, deadline_ns), ret_withdrawn);
  });
}

hb_status hb_withdraw_id(hb_client* client, uint64_t export_id, uint64_t deadline_ns,
                         hb_withdrawn* ret_withdrawn, hb_error* error) {
  return client_boundary(client, error, [&] {
    return put(withdraw_id(*client->client, export_id, deadline_ns), ret_withdrawn);
  });
}

hb_status hb_withdraw_range(hb_client* client, const void* ptr, uint64_t bytes, uint64_t deadline_ns,
                            hb_withdrawn* ret_withdrawn, hb_error* error) {
  return client_boundary(client, error, [&] {
    return put(withdraw_range(*client->client, ptr, bytes, deadline_ns), ret_withdrawn);
  });
}

hb_status hb_withdraw_all(hb_client* client, uint64_t deadline_ns, hb_withdrawn* ret_withdrawn,
                          hb_error* error) {
  return client_boundary(client, error,
                         [&] { return put(withdraw_all(*client->client, deadline_ns), ret_withdrawn); });
}

void hb_export_destroy(hb_export* exported) {
  const LibraryScope inside;
  delete exported;
}
