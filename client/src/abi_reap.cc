// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "abi.h"
#include "import.h"
#include "memory_handle.h"
#include "reap_list.h"

using namespace hb::client;

namespace {

tl::unexpected<Error> forked() {
  return fail(HB_FORKED, "the handle belongs to the parent process; here it can only be destroyed");
}

}  // namespace

hb_status hb_unmap_when(hb_import* imported, void* event, hb_error* error) {
  return boundary(imported == nullptr ? nullptr : imported->client.get(), error, [&]() -> Result<void> {
    if (imported == nullptr) return null_argument("imported");
    if (event == nullptr) return null_argument("event");
    if (!imported->client->is_here()) return forked();
    if (imported->grant.device.empty()) {
      close_import(imported);
      return {};
    }
    auto waits = give_back_when(event, [imported] { close_import(imported); });
    if (!waits) return waits;
    reap();
    return {};
  });
}

hb_status hb_free_when(hb_memory* memory, void* event, hb_error* error) {
  return boundary(nullptr, error, [&]() -> Result<void> {
    if (memory == nullptr) return null_argument("memory");
    if (event == nullptr) return null_argument("event");
    if (!memory->memory->is_here()) return forked();
    if (memory->memory->allocation().device().empty()) {
      delete memory;
      return {};
    }
    auto waits = give_back_when(event, [memory] { delete memory; });
    if (!waits) return waits;
    reap();
    return {};
  });
}

hb_status hb_reap(uint64_t* ret_waiting, hb_error* error) {
  return boundary(nullptr, error, [&]() -> Result<void> {
    const std::uint64_t waiting = reap();
    if (ret_waiting != nullptr) *ret_waiting = waiting;
    return {};
  });
}
