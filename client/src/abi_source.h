// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What functions of the C ABI about exports and imports that change have in common.
#pragma once

#include <utility>

#include "abi.h"
#include "export_handle.h"
#include "exports.h"
#include "import.h"

namespace hb::client {

// Memory that is to become part of an export: as hb_export_create takes it.
[[nodiscard]] Result<ExportRequest> read_export(const hb_export_options* options);
[[nodiscard]] Result<ExportRequest> read_source(const hb_source* source, std::uint64_t deadline_ns);

template <class Body>
hb_status export_boundary(const hb_export* exported, hb_error* error, Body&& body) noexcept {
  if (exported == nullptr) return report(HB_INVALID, "exported is NULL", error, nullptr);
  if (!exported->client->is_here())
    return report(HB_FORKED, "the export belongs to the parent process", error, nullptr);
  return boundary(exported->client.get(), error, std::forward<Body>(body));
}

template <class Body>
hb_status import_boundary(const hb_import* imported, hb_error* error, Body&& body) noexcept {
  if (imported == nullptr) return report(HB_INVALID, "imported is NULL", error, nullptr);
  if (!imported->client->is_here())
    return report(HB_FORKED, "the import belongs to the parent process", error, nullptr);
  return boundary(imported->client.get(), error, std::forward<Body>(body));
}

}  // namespace hb::client
