// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/classify.h"

#include <cstring>

#include "hipbroker/hipbroker.h"
#include "providers/hip/driver.h"
#include "providers/hip/foreign.h"

namespace hb::client::hip {
namespace {

void set_failure(const HipTable& hip, const char* call, HipError code, PointerFacts& facts) {
  facts.failure = driver_error(hip, call, code, "asking what memory is");
  facts.reason = facts.failure->message;
}

// What one attribute says; false where this runtime does not say it of this memory, or the call failed.
template <class T>
bool attribute(const HipTable& hip, PointerAttribute which, const void* ptr, PointerFacts& facts, T& out) {
  std::uint64_t words[2] = {};  // some answers are shorter than others
  if (facts.failure || hip.hipPointerGetAttribute == nullptr) return false;
  const HipError code = hip.hipPointerGetAttribute(words, which, const_cast<void*>(ptr));
  if (code == kSuccess) std::memcpy(&out, words, sizeof out);
  if (code != kSuccess && code != kInvalidValue && code != kNotSupported)
    set_failure(hip, "hipPointerGetAttribute", code, facts);
  return code == kSuccess;
}

void ask_range(const HipTable& hip, const void* ptr, PointerFacts& facts) {
  void* base = nullptr;
  std::size_t bytes = 0;
  // HSA's word is not taken: newer versions answer the address that was asked as the base.
  if (hip.hipMemGetAddressRange == nullptr ||
      hip.hipMemGetAddressRange(&base, &bytes, const_cast<void*>(ptr)) != kSuccess) {
    std::uint64_t size = 0;
    if (!attribute(hip, kPointerRangeStart, ptr, facts, base) ||
        !attribute(hip, kPointerRangeSize, ptr, facts, size))
      return;
    bytes = static_cast<std::size_t>(size);
  }
  const auto start = reinterpret_cast<std::uintptr_t>(base);
  if (const auto at = reinterpret_cast<std::uintptr_t>(ptr); at < start || at - start >= bytes) return;
  facts.base = start;
  facts.bytes = bytes;
}

void set_untold(const std::string& what, PointerFacts& facts) {
  facts.maker_untold = true;
  facts.reason =
      what + "; say what it is (hb_export_options.memory), or export hipMemCreate memory by its handles";
}

// Device memory: by whom.
void tell_maker(const Runtime& runtime, const void* ptr, PointerFacts& facts) {
  void* pool = nullptr;
  const bool told = attribute(runtime.hip(), kPointerMempool, ptr, facts, pool);
  if (told && pool != nullptr) facts.kind = MemoryKind::kPool;
  if (facts.kind == MemoryKind::kPool || facts.failure) return;
  if (runtime.hsa().hsa_amd_pointer_info != nullptr) {
    HsaPointerInfo info{};
    info.size = sizeof info;
    if (runtime.hsa().hsa_amd_pointer_info(ptr, &info, nullptr, nullptr, nullptr) == kHsaSuccess) {
      if (info.type == kHsaVmem) facts.kind = MemoryKind::kVmm;
      if (info.type == kHsaAllocation) facts.kind = MemoryKind::kMalloc;
      if (info.type == kHsaLocked) facts.kind = MemoryKind::kHost;
      if (info.type == kHsaReserved) facts.reason = "the addresses are reserved and nothing is mapped there";
      if (info.type == kHsaIpc || info.type == kHsaGraphics)
        facts.reason = "it came from another process or another driver: its owner can export it";
      if (info.type == kHsaUnknown) set_untold("HSA does not know this device memory", facts);
      return;
    }
  }
  unsigned capable = 0;
  if (attribute(runtime.hip(), kPointerIpcCapable, ptr, facts, capable) && (capable & 0xff) != 0) {
    facts.kind = MemoryKind::kMalloc;
    return;
  }
  if (facts.failure) return;
  set_untold("device memory of which HIP does not tell who made it, and libhsa-runtime64 is not loaded",
             facts);
}

}  // namespace

const char* kind_name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kOwn:
      return "memory of hb_memory_alloc";
    case MemoryKind::kImported:
      return "imported memory";
    case MemoryKind::kVmm:
      return "memory mapped by hipMemMap";
    case MemoryKind::kMalloc:
      return "hipMalloc memory";
    case MemoryKind::kPool:
      return "pool memory (hipMallocAsync)";
    case MemoryKind::kHost:
      return "memory of the CPU";
    case MemoryKind::kUnknown:
      break;
  }
  return "memory of unknown kind";
}

std::string unsafe_to_ask(const Runtime& runtime, const Quirks& quirks) {
  if (!quirks.on(Quirk::kImportQueryCrashes)) return {};
  return runtime.name() +
         " is not asked about memory that the library did not make: it crashes on what another process "
         "exported" +
         (quirks.was_overruled(Quirk::kImportQueryCrashes)
              ? " (hb_hip_probe saw it)"
              : " (hb_hip_probe finds out whether this build does)");
}

PointerFacts ask_driver(const Runtime& runtime, const void* ptr) {
  PointerFacts facts;
  const HipTable& hip = runtime.hip();
  const DriverScope scope(hip, DriverScope::kAnyDevice, Lock::kNo);
  if (scope.failed_call() != nullptr) {
    set_failure(hip, scope.failed_call(), scope.code(), facts);
    return facts;
  }
  if (hip.hipPointerGetAttributes == nullptr) {
    facts.reason = runtime.name() + " has no hipPointerGetAttributes";
    return facts;
  }
  PointerAttributes attributes{};
  const HipError code = hip.hipPointerGetAttributes(&attributes, ptr);
  if (code != kSuccess && code != kInvalidValue) {
    set_failure(hip, "hipPointerGetAttributes", code, facts);
    return facts;
  }
  if (code != kSuccess || attributes.type == kMemoryUnregistered) {
    facts.reason = runtime.name() + " knows nothing at this address: no GPU memory is mapped there";
    return facts;
  }
  ask_range(hip, ptr, facts);
  unsigned id = 0;
  if (attribute(hip, kPointerBufferId, ptr, facts, id)) facts.buffer_id = id;
  if (attributes.type == kMemoryHost) {
    facts.kind = MemoryKind::kHost;
    return facts;
  }
  facts.ordinal = attributes.device;
  if (attributes.type == kMemoryDevice)
    tell_maker(runtime, ptr, facts);
  else
    facts.reason = attributes.type == kMemoryManaged || attributes.is_managed != 0
                       ? "managed memory moves between CPU and GPU and has no descriptor"
                       : "hipPointerGetAttributes says memory type " + std::to_string(attributes.type);
  return facts;
}

Classified classify(const void* ptr) {
  Classified out;
  const auto unknown = [&out](std::string reason) {
    out.shareable = 0;
    out.reason = std::move(reason);
    return out;
  };
  const auto now = here(Which::kLoaded);
  if (!now)
    return unknown(now.error().status == HB_NOT_FOUND
                       ? now.error().message + ": no GPU memory is known without one"
                       : now.error().message);
  // Whichever GPU it is on: where one of them has shown that the question crashes, it is not put.
  const std::string* last = nullptr;
  for (const Device& device : now->devices.devices()) {
    if (last != nullptr && *last == device.gfx) continue;
    last = &device.gfx;
    if (std::string unsafe = unsafe_to_ask(*now->runtime, known_already(*now, device).context->quirks);
        !unsafe.empty())
      return unknown(std::move(unsafe));
  }
  out.facts = ask_driver(*now->runtime, ptr);
  const Device* const device = now->devices.at(out.facts.ordinal);
  if (device != nullptr) out.device = device->id;
  if (out.facts.kind == MemoryKind::kUnknown) return unknown(out.facts.reason);
  if (auto refusal = refuse_kind(out.facts); !refusal) return unknown(refusal.error().message);
  if (device == nullptr) return unknown("the GPU it is on is not visible in this process");
  const Known known = known_already(*now, *device);
  if (known.report.findings.of(Ability::kExport).answer == Answer::kUnknown) {
    out.reason = "this runtime has not been tried out yet: hb_hip_probe does, or the first export";
    return out;
  }
  const auto verdict = try_export(known, out.facts, ptr);
  if (!verdict) {
    const bool final = verdict.error().status == HB_NOT_SHAREABLE || verdict.error().status == HB_UNSUPPORTED;
    out.shareable = final ? 0 : -1;
    out.reason = verdict.error().message;
    return out;
  }
  out.shareable = 1;
  return out;
}

}  // namespace hb::client::hip
