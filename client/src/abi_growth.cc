// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "abi.h"
#include "abi_source.h"
#include "export_change.h"
#include "export_handle.h"
#include "refresh.h"

using namespace hb::client;

namespace hb::client {

Result<ExportRequest> read_source(const hb_source* source, std::uint64_t deadline_ns) {
  if (source == nullptr) return null_argument("source");
  const hb_source defaults = HB_SOURCE_INIT;
  const auto given = read_options(source, defaults, "hb_source");
  if (!given) return tl::unexpected(given.error());
  hb_export_options options = HB_EXPORT_OPTIONS_INIT;
  options.ptr = given->ptr;
  options.bytes = given->bytes;
  options.chunks = given->chunks;
  options.chunk_count = given->chunk_count;
  options.handles = given->handles;
  options.handle_count = given->handle_count;
  options.device = given->device;
  options.memory = given->memory;
  options.deadline_ns = deadline_ns;
  return read_export(&options);
}

}  // namespace hb::client

hb_status hb_export_append(hb_export* exported, const hb_source* source, uint64_t deadline_ns,
                           hb_error* error) {
  return export_boundary(exported, error, [&]() -> Result<void> {
    const auto request = read_source(source, deadline_ns);
    if (!request) return tl::unexpected(request.error());
    return append_export(*exported->client, exported->record, *request);
  });
}

hb_status hb_export_replace(hb_export* exported, uint64_t first_chunk, const hb_source* source,
                            uint64_t deadline_ns, hb_error* error) {
  return export_boundary(exported, error, [&]() -> Result<void> {
    const auto request = read_source(source, deadline_ns);
    if (!request) return tl::unexpected(request.error());
    return replace_export(*exported->client, exported->record, first_chunk, *request);
  });
}

hb_status hb_import_refresh(hb_import* imported, uint64_t deadline_ns, hb_refreshed* ret_refreshed,
                            hb_error* error) {
  return import_boundary(imported, error, [&]() -> Result<void> {
    const auto done = refresh_import(*imported, deadline_ns);
    if (!done) return tl::unexpected(done.error());
    if (ret_refreshed == nullptr) return {};
    hb_refreshed out = HB_REFRESHED_INIT;
    out.layout_version = done->layout_version;
    out.bytes = done->bytes;
    out.old_bytes = done->old_bytes;
    out.first_new_chunk = done->first_new_chunk;
    out.new_chunks = done->new_chunks;
    out.replaced_chunks = done->replaced_chunks;
    out.woken = done->woken ? 1 : 0;
    write_info(out, ret_refreshed);
    return {};
  });
}
