// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "abi.h"
#include "abi_source.h"
#include "export_change.h"
#include "looking.h"
#include "refresh.h"

using namespace hb::client;

hb_status hb_export_suspend(hb_export* exported, uint64_t wait_ns, uint64_t deadline_ns,
                            hb_suspended* ret_suspended, hb_holders** ret_left, hb_error* error) {
  return export_boundary(exported, error, [&]() -> Result<void> {
    std::unique_ptr<hb_holders> left;
    const auto done = suspend_export(*exported->client, *exported->record, wait_ns, deadline_ns,
                                     ret_left != nullptr ? &left : nullptr);
    if (!done) return tl::unexpected(done.error());
    if (ret_suspended != nullptr) {
      hb_suspended out = HB_SUSPENDED_INIT;
      out.layout_version = done->layout_version;
      out.holders = done->holders;
      write_info(out, ret_suspended);
    }
    if (ret_left != nullptr) *ret_left = left.release();
    return {};
  });
}

hb_status hb_export_resume(hb_export* exported, const hb_source* source, uint64_t deadline_ns,
                           hb_error* error) {
  return export_boundary(exported, error, [&]() -> Result<void> {
    const auto request = read_source(source, deadline_ns);
    if (!request) return tl::unexpected(request.error());
    return resume_export(*exported->client, exported->record, *request);
  });
}

hb_status hb_import_unmap(hb_import* imported, hb_error* error) {
  return import_boundary(imported, error, [&] { return unmap_import(*imported); });
}
