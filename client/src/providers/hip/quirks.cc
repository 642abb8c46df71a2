// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/quirks.h"

#include <charconv>
#include <climits>

namespace hb::client::hip {
namespace {

constexpr int version(int major, int minor) { return major * 10'000'000 + minor * 100'000; }
constexpr int kEver = 0;
constexpr int kNoEnd = 0;
constexpr int kNever = INT_MAX;

// ROCm's number is not the runtime's: the classic line counts alike up to 7.2, then come 7.11 to 7.14, and
// "ROCm 10.0" reports 7.15 and 7.16.
constexpr QuirkRow kRows[] = {
    {Quirk::kDescriptorByPointer, "descriptor_by_pointer", kEver, version(7, 1),
     "hipMemImportFromShareableHandle reads the descriptor through osHandle (ROCm/clr 56ebf5157); since 7.1 "
     "osHandle is the descriptor itself (rocm-systems#759). The wrong form crashes or opens a stranger's "
     "file"},
    {Quirk::kKeepDescriptorUntilGranted, "keep_descriptor_until_granted", kEver, kNoEnd,
     "closing it after the import made hipMemSetAccess fail in builds of 7.14 (rocm-systems#8304, #8436, "
     "#8440); keeping it costs nothing anywhere"},
    {Quirk::kImportChecksAtGrant, "import_checks_at_grant", version(7, 14), kNoEnd,
     "the rewritten ROCr only duplicates and records: any descriptor imports, the grant tells the truth"},
    {Quirk::kImportNeedsVisibleOwner, "import_needs_visible_owner", kEver, version(7, 14),
     "ROCr up to 7.13 looks the owner up by gpu_id at import: a GPU that this process does not see fails it"},
    {Quirk::kDescriptorPerCreate, "descriptor_per_create", version(7, 14), version(7, 15),
     "every hipMemCreate keeps a descriptor; at the limit it says OutOfMemory (rocm-systems#10604)"},
    {Quirk::kDescriptorPerImport, "descriptor_per_import", version(7, 14), kNoEnd,
     "the rewritten ROCr keeps a duplicate as long as the imported handle lives"},
    {Quirk::kSharedExportDescriptor, "shared_export_descriptor", version(7, 14), version(7, 15),
     "a second export answers the same number (comment on rocm-systems#8440): it is duplicated at once and "
     "closed once, when the handle goes"},
    {Quirk::kRuntimeClosesExportDescriptor, "runtime_closes_export_descriptor", kNever, kNoEnd,
     "reports differ on who closes that shared number; only a probe can tell"},
    {Quirk::kMapFailsAtGrant, "map_fails_at_grant", kEver, version(7, 14),
     "hipMemMap answers hipSuccess even when the mapping failed; hipMemSetAccess is the first true verdict"},
    {Quirk::kMapWaitsForNullStream, "map_waits_for_null_stream", kEver, version(7, 11),
     "hipMemMap is enqueued on the device's null stream and can wait behind a long kernel (clr CHANGELOG)"},
    {Quirk::kTailGrantIsInvalid, "tail_grant_is_invalid", version(7, 0), version(7, 3),
     "a grant that does not begin at the reservation's first mapping is InvalidValue (rocm-systems#2667); "
     "granting [base, end of mapped) again works"},
    {Quirk::kOwnerGrantedFirstReadsWrongPages, "owner_granted_first_reads_wrong_pages", version(7, 14),
     version(7, 15), "without an error the owner reads wrong pages (rocm-systems#6471, fixed by #9908)"},
    {Quirk::kGrantsHost, "grants_host", version(7, 2), kNoEnd,
     "hipMemSetAccess takes the Host location (rocm-systems#1606, #1620)"},
    {Quirk::kGrantsHostOnImport, "grants_host_on_import", version(7, 2), version(7, 15),
     "InvalidValue in 7.15: no CPU mmap offset for imports (rocm-systems#11185)"},
    {Quirk::kKnowsHostNuma, "knows_host_numa", version(7, 15), kNoEnd, "HostNuma locations since ROCm 10.0"},
    {Quirk::kUnmapSynchronises, "unmap_synchronises", version(7, 14), kNoEnd,
     "hipMemUnmap waits for all streams of the owner and of every device with access"},
    {Quirk::kUnmapOfManyLeaks, "unmap_of_many_leaks", kEver, version(7, 0),
     "one hipMemUnmap over several mappings leaves use counts behind (ROCR-Runtime#285)"},
    {Quirk::kUnknownUnmapCrashes, "unknown_unmap_crashes", kEver, version(7, 0),
     "hipMemUnmap and hipMemAddressFree dereference NULL on an address they do not know"},
    {Quirk::kReservationPinsMemory, "reservation_pins_memory", version(7, 2), version(7, 3),
     "VRAM does not come back while the addresses stay reserved (vllm#37533)"},
    {Quirk::kReleaseMayKeepMemory, "release_may_keep_memory", version(6, 4), version(6, 5),
     "hipMemRelease of 6.4.0 and 6.4.1 gives no VRAM back (ROCm/hip#3781); 6.4.2 does"},
    {Quirk::kReserveIgnoresAlignment, "reserve_ignores_alignment", kEver, kNoEnd,
     "hipMemAddressReserve does not forward its alignment on Linux (rocdevice.cpp)"},
    {Quirk::kRecommendedGranularityTooSmall, "recommended_granularity_too_small", kEver, version(7, 11),
     "corrected in 7.11 to 7.13; mappings of 4 KiB fault on RDNA4 (rocm-systems#9360)"},
    {Quirk::kImportQueryCrashes, "import_query_crashes", version(7, 14), version(7, 16),
     "hsa_amd_pointer_info crashes on an imported mapping, and HIP itself calls it (rocm-systems#11449)"},
    {Quirk::kHsaTellsQueriedAddressAsBase, "hsa_tells_queried_address_as_base", version(7, 15), kNoEnd,
     "ROCr 1.21 answers the address asked as base (openucx/ucx#12140)"},
    {Quirk::kRetainTakesReference, "retain_takes_reference", version(7, 12), kNoEnd,
     "before 7.12 releasing what hipMemRetainAllocationHandle gave destroys the creator's handle"},
    {Quirk::kRetainCrashesOnMalloc, "retain_crashes_on_malloc", kEver, version(7, 14),
     "hipMemRetainAllocationHandle of a hipMalloc pointer crashes (clr CHANGELOG)"},
    {Quirk::kAddressRangeExport, "address_range_export", version(7, 0), kNoEnd,
     "hipMemGetHandleForAddressRange exists since 7.0"},
    {Quirk::kAddressRangeOffsetUnknown, "address_range_offset_unknown", version(7, 0), kNoEnd,
     "it exports the whole buffer object and tells no offset (ROCm/mori#509, rocm-systems#3557)"},
    {Quirk::kNullOutCrashes, "null_out_crashes", kEver, version(7, 13),
     "hipMemGetAddressRange writes through NULL (clr CHANGELOG)"},
    {Quirk::kMemoryTypesOfFive, "memory_types_of_five", kEver, version(6, 0),
     "hipMemoryType was renumbered in 6.0"},
    {Quirk::kExternalTakesDescriptor, "external_takes_descriptor", kNever, kNoEnd,
     "CUDA owns the descriptor of an imported external memory; AMD's runtimes leave it to the caller"},
};
static_assert(sizeof kRows / sizeof *kRows == static_cast<std::size_t>(Quirk::kCount));

constexpr KnownBad kKnownBad[] = {
    {kEver, version(5, 3),
     "HIP 6.2 or newer is needed. This one has stubs only: they answer success and do nothing"},
    {version(5, 3), version(6, 1), "HIP 6.2 or newer is needed; virtual memory works on Windows only"},
    {version(6, 1), version(6, 2), "HIP 6.2 or newer is needed; this one exports no descriptors"},
};

constexpr KernelRow kKernelRows[] = {
    {"kernel_too_old", 5'006, kEver, kNoEnd, false, true,
     "virtual memory of GPUs wants Linux 5.6 or newer (rocSHMEM)", "boot a kernel of 6.8 or newer"},
    {"kernel_before_6_8", 6'008, kEver, kNoEnd, false, false,
     "mapping GPU memory is slower and less reliable before Linux 6.8 (RCCL#4000, #11216; rocSHMEM#3762)",
     "boot a kernel of 6.8 or newer where mappings fail or are slow"},
    {"amdgpu_keeps_dma_bufs", 0, version(7, 1), version(7, 2), true, true,
     "the amdgpu branches 7.1.* leave dangling dma-buf references: GPU memory that was shared stays taken, "
     "even "
     "over a reload of the driver (rocm-systems#8263). The version in sysfs does not tell the branch; the "
     "HIP "
     "runtime of 7.1 comes with it",
     "install the amdgpu driver of ROCm 7.2; until then only a reboot gives such memory back"},
};

constexpr bool holds(int from, int until, int runtime_version) {
  return runtime_version >= from && (until == kNoEnd || runtime_version < until);
}

}  // namespace

std::span<const KernelRow> kernel_rows() { return kKernelRows; }

bool holds(const KernelRow& row, std::string_view release, std::string_view amdgpu, int runtime_version) {
  int major = 0;
  int minor = 0;
  const char* const end = release.data() + release.size();
  const auto [dot, first] = std::from_chars(release.data(), end, major);
  if (first != std::errc() || dot == end || *dot != '.') return false;
  if (std::from_chars(dot + 1, end, minor).ec != std::errc()) return false;
  if (row.release_until != 0 && major * 1'000 + minor >= row.release_until) return false;
  if (row.built_apart && (amdgpu.empty() || amdgpu == "in-tree")) return false;
  return holds(row.runtime_from, row.runtime_until, runtime_version);
}

std::span<const QuirkRow> quirk_rows() { return kRows; }

const KnownBad* known_bad(int runtime_version) {
  for (const KnownBad& bad : kKnownBad)
    if (holds(bad.from, bad.until, runtime_version)) return &bad;
  return nullptr;
}

Quirks::Quirks(int runtime_version) {
  for (const QuirkRow& row : kRows)
    on_[static_cast<std::size_t>(row.quirk)] = holds(row.from, row.until, runtime_version);
}

void Quirks::overrule(Quirk quirk, bool value) {
  on_[static_cast<std::size_t>(quirk)] = value;
  seen_[static_cast<std::size_t>(quirk)] = true;
}

}  // namespace hb::client::hip
