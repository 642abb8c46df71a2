// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "abi.h"
#include "export_handle.h"
#include "import.h"
#include "steps.h"

using namespace hb::client;

namespace {

// Handles of the parent are inert in a forked child.
template <class Handle, class Body>
hb_status on_handle(const Handle* handle, const char* what, hb_error* error, Body&& body) {
  if (handle == nullptr) return report(HB_INVALID, (std::string(what) + " is NULL").c_str(), error, nullptr);
  if (!handle->client->is_here())
    return report(HB_FORKED, (std::string(what) + " belongs to the parent process").c_str(), error, nullptr);
  return boundary(handle->client.get(), error, std::forward<Body>(body));
}

}  // namespace

hb_status hb_export_publish(hb_export* exported, uint64_t step, uint64_t deadline_ns, hb_error* error) {
  return on_handle(exported, "exported", error,
                   [&] { return publish_step(*exported->client, *exported->record, step, deadline_ns); });
}

hb_status hb_import_wait_step(hb_import* imported, uint64_t step, uint64_t deadline_ns, uint64_t* ret_reached,
                              hb_error* error) {
  return on_handle(imported, "imported", error, [&]() -> Result<void> {
    const auto reached = wait_step(*imported, step, deadline_ns);
    if (!reached) return tl::unexpected(reached.error());
    if (ret_reached != nullptr) *ret_reached = *reached;
    return {};
  });
}

hb_status hb_import_ack_step(hb_import* imported, uint64_t step, hb_error* error) {
  return on_handle(imported, "imported", error, [&] { return ack_step(*imported, step); });
}

hb_status hb_export_wait_acks(hb_export* exported, uint64_t step, uint64_t deadline_ns, hb_acks** ret_acks,
                              hb_error* error) {
  return on_handle(exported, "exported", error, [&]() -> Result<void> {
    if (ret_acks == nullptr) return null_argument("ret_acks");
    auto acks = wait_acks(*exported->client, *exported->record, step, deadline_ns);
    if (!acks) return tl::unexpected(std::move(acks.error()));
    *ret_acks = acks->release();
    return {};
  });
}

void hb_acks_get_info(const hb_acks* acks, hb_acks_info* ret_info) {
  if (acks == nullptr || ret_info == nullptr) return;
  hb_acks_info info = HB_ACKS_INFO_INIT;
  info.acked = acks->acked;
  info.missing = acks->missing.data();
  info.missing_count = acks->missing.size();
  info.more_missing = acks->more_missing ? 1 : 0;
  info.left = acks->left.data();
  info.left_count = acks->left.size();
  info.more_left = acks->more_left ? 1 : 0;
  write_info(info, ret_info);
}

void hb_acks_destroy(hb_acks* acks) {
  const LibraryScope inside;
  delete acks;
}
