// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What memory is, whoever made it, and what happens to its exports when it goes.
#include "abi.h"
#include "interval_map.h"
#include "memory.h"
#include "providers/hip/classify.h"
#include "range_gone.h"

using namespace hb::client;

namespace {

void describe_own(const Interval& interval, hb_pointer_info& info) {
  const auto memory = interval.memory.lock();
  info.memory = HB_MEMORY_OWN;
  if (memory == nullptr) {
    copy_text("it is being freed", info.reason);
    return;
  }
  info.shareable = 1;
  info.host_granted = memory->allocation().host_granted() ? 1 : 0;
  info.device = device_id_of(memory->allocation().device());
  if (!memory->allocation().device().empty()) info.ordinal = hip::ordinal_of(memory->allocation().device());
}

void describe_import(const ImportOrigin& from, hb_pointer_info& info) {
  info.memory = HB_MEMORY_IMPORTED;
  info.host_granted = from.host_granted ? 1 : 0;
  info.export_id = from.export_id;
  info.generation = from.generation;
  info.owner_uid = from.owner_uid;
  info.device = device_id_of(from.device);
  if (!from.device.empty()) info.ordinal = hip::ordinal_of(from.device);
  copy_text("it was imported from another process: forward its key", info.reason);
}

void describe_foreign(const void* ptr, hb_pointer_info& info) {
  const hip::Classified found = hip::classify(ptr);
  info.memory = static_cast<std::uint32_t>(found.facts.kind);
  info.shareable = found.shareable;
  info.base = reinterpret_cast<void*>(found.facts.base);
  info.bytes = found.facts.bytes;
  info.ordinal = found.facts.ordinal;
  // No runtime tells whether the CPU reaches device memory.
  info.host_granted = found.facts.kind == MemoryKind::kHost ? 1 : -1;
  info.device = device_id_of(found.device);
  copy_text(found.reason, info.reason);
}

}  // namespace

hb_status hb_classify(const void* ptr, hb_pointer_info* ret_info, hb_error* error) {
  return boundary(nullptr, error, [&]() -> Result<void> {
    if (auto sound = check_info(ret_info, "ret_info"); !sound) return sound;
    hb_pointer_info info = HB_POINTER_INFO_INIT;
    if (ptr == nullptr) {
      copy_text("ptr is NULL", info.reason);
    } else if (const auto interval = IntervalMap::get().find(ptr)) {
      info.base = reinterpret_cast<void*>(interval->start);
      info.bytes = interval->bytes;
      if (interval->origin == Origin::kImported)
        describe_import(*interval->from, info);
      else
        describe_own(*interval, info);
    } else if (IntervalMap::get().is_reserved(ptr)) {
      copy_text("it lies in an arena, where nothing is allocated", info.reason);
    } else {
      describe_foreign(ptr, info);
    }
    write_info(info, ret_info);
    return {};
  });
}

hb_status hb_range_gone(const void* ptr, uint64_t bytes, hb_withdrawn* ret_withdrawn, hb_error* error) {
  hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
  if (LibraryScope::entered() || bytes == 0 || nothing_known_of(ptr, bytes)) {
    if (ret_withdrawn != nullptr) write_info(withdrawn, ret_withdrawn);
    return HB_OK;
  }
  return boundary(nullptr, error, [&]() -> Result<void> {
    const auto count = range_gone(ptr, bytes);
    if (!count) return tl::unexpected(count.error());
    withdrawn.exports = count->exports;
    withdrawn.holders = count->holders;
    if (ret_withdrawn != nullptr) write_info(withdrawn, ret_withdrawn);
    return {};
  });
}
