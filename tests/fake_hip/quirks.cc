// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "quirks.h"

#include <charconv>

namespace hb::fakehip {
namespace {

constexpr int kFirst = 1;  // since ever
constexpr int kOff = 0;

constexpr QuirkRow kRows[] = {
    {Quirk::kFdByPointer, "fd_by_pointer", kFirst, 701, "import reads the descriptor through osHandle"},
    {Quirk::kLateMapErrors, "late_map_errors", kFirst, 714, "hipMemMap succeeds, the grant tells the error"},
    {Quirk::kMapOnNullStream, "map_on_null_stream", kFirst, 711, "hipMemMap waits behind the null stream"},
    {Quirk::kTailGrantFails, "tail_grant_fails", 700, 703,
     "a grant not from the first mapping is InvalidValue"},
    {Quirk::kGrantHost, "grant_host", 702, 0, "hipMemSetAccess and hipMemCreate know the Host location"},
    {Quirk::kGrantHostOnImport, "host_on_import", 702, 715, "Host may be granted on imported memory"},
    {Quirk::kHostNuma, "host_numa", 715, 0, "hipMemCreate knows HostNuma"},
    {Quirk::kFdPerCreate, "fd_per_create", 714, 715, "every handle keeps a descriptor"},
    {Quirk::kSharedExportFd, "shared_export_fd", 714, 715, "a second export answers the same number"},
    {Quirk::kRuntimeClosesExportFd, "runtime_closes_export_fd", kOff, 0,
     "the shared number goes with the handle"},
    {Quirk::kLazyImport, "lazy_import", 714, 0,
     "import keeps a duplicate of any descriptor, the grant tells"},
    {Quirk::kImportByNumber, "import_by_number", kOff, 0,
     "early 7.14: the caller's number is read at the grant"},
    {Quirk::kImportNeedsVisibleOwner, "import_needs_visible_owner", kFirst, 714,
     "hidden owner: import fails"},
    {Quirk::kOwnerFirstWrongPages, "owner_first_wrong_pages", 714, 715,
     "owner granted before a peer reads junk"},
    {Quirk::kRetainCounts, "retain_counts", 712, 0, "hipMemRetainAllocationHandle takes a reference"},
    {Quirk::kRetainMallocCrashes, "retain_malloc_crashes", kFirst, 714, "retain on hipMalloc memory crashes"},
    {Quirk::kUnknownUnmapCrashes, "unknown_unmap_crashes", kFirst, 700, "hipMemUnmap of an unknown address"},
    {Quirk::kUnknownFreeCrashes, "unknown_free_crashes", kFirst, 700,
     "hipMemAddressFree of an unknown address"},
    {Quirk::kUnmapWaits, "unmap_waits", 714, 0,
     "hipMemUnmap waits for all streams of all devices with access"},
    {Quirk::kUnmapSpanLeaks, "unmap_span_leaks", kFirst, 700, "one hipMemUnmap over several mappings leaks"},
    {Quirk::kImportQueryCrashes, "import_query_crashes", 714, 716, "pointer queries on imports crash"},
    {Quirk::kPointerInfoQueriedBase, "pointer_info_queried_base", 715, 0,
     "HSA says the address asked is the base"},
    {Quirk::kGranularity2M, "granularity_2m", 711, 0, "recommended granularity is 2 MiB, else 4 KiB"},
    {Quirk::kAddressRangeExport, "address_range_export", 700, 0, "hipMemGetHandleForAddressRange works"},
    {Quirk::kNullOutCrashes, "null_out_crashes", kFirst, 713, "hipMemGetAddressRange writes through NULL"},
    {Quirk::kUncachedType, "uncached_type", 700, 0, "hipMemCreate takes the Uncached type"},
    {Quirk::kUnregisteredIsSuccess, "unregistered_is_success", 700, 0,
     "attributes of a host pointer succeed"},
    {Quirk::kMisalignedIsOutOfMemory, "misaligned_is_oom", kFirst, 711, "odd reserve size is OutOfMemory"},
    {Quirk::kReservationPinsMemory, "reservation_pins_memory", 702, 703,
     "VRAM is back after the address free"},
    {Quirk::kPoolIpcHandle, "pool_ipc_handle", kFirst, 714, "hipIpcGetMemHandle takes pool memory, badly"},
    {Quirk::kIpcCapableAttribute, "ipc_capable_attribute", 711, 0, "pointer attribute 10 is answered"},
    {Quirk::kDmaBufAttributes, "dmabuf_attributes", 712, 0, "device attributes 93..96 are known"},
    {Quirk::kTrueImportProperties, "true_import_properties", kOff, 0, "imports tell their real owner"},
    {Quirk::kReserveElsewhere, "reserve_elsewhere", kOff, 0, "a wished address is not given"},
    {Quirk::kReserveSmallAlign, "reserve_small_align", kOff, 0, "reservations are aligned to 4 KiB only"},
    {Quirk::kNoVmm, "no_vmm", kOff, 0, "attribute 89 is 0 and hipMemCreate is NotSupported"},
    {Quirk::kNoLargeBar, "no_large_bar", kOff, 0, "attribute 10011 is 0, the CPU reaches no device memory"},
    {Quirk::kNoPeers, "no_peers", kOff, 0, "no device reaches another"},
    {Quirk::kVmmDeviceAttributeUnknown, "vmm_attribute_unknown", kOff, 0, "attribute 89 is NotSupported"},
    {Quirk::kLostDevice, "lost_device", kOff, 0, "HIP ordinal + 1: calls on that device fail for ever"},
    {Quirk::kFaultAborts, "fault_aborts", kOff, 0, "a copy without access kills, as a GPU page fault does"},
    {Quirk::kPartitionInFunction, "partition_in_function", kOff, 0,
     "bus ids carry the partition as function"},
    {Quirk::kHostGrantFails, "host_grant_fails", kOff, 0, "Host grants are InvalidValue on any memory"},
    {Quirk::kGrantFailsOnce, "grant_fails_once", kOff, 0, "the next n device grants are OutOfMemory"},
    {Quirk::kCorruptImports, "corrupt_imports", kOff, 0, "imported memory shows other bytes to every device"},
    {Quirk::kExternalTakesFd, "external_takes_fd", kOff, 0, "hipImportExternalMemory owns the descriptor"},
    {Quirk::kReuseAddresses, "reuse_addresses", kOff, 0,
     "a reservation lies where the last freed one of its size lay"},
    {Quirk::kPeersSeeJunk, "peers_see_junk", kOff, 0, "a GPU works on other bytes than those of its peer"},
    {Quirk::kPeerAccessAborts, "peer_access_aborts", kOff, 0,
     "HIP ordinal + 1: a peer that touches memory of that device kills the process"},
};
static_assert(sizeof kRows / sizeof *kRows == static_cast<std::size_t>(Quirk::kCount));

bool number(std::string_view& text, int& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || out < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

bool Quirks::choose_version(std::string_view text, std::string_view fallback) {
  if (text.empty()) text = fallback;
  int major = 0;
  int minor = 0;
  int patch = 0;
  if (!number(text, major) || text.empty() || text[0] != '.') return false;
  text.remove_prefix(1);
  if (!number(text, minor)) return false;
  if (!text.empty()) {
    if (text[0] != '.') return false;
    text.remove_prefix(1);
    if (!number(text, patch) || !text.empty()) return false;
  }
  if (major < 6 || minor > 99 || patch > 99'999) return false;
  const int version = major * 100 + minor;
  for (const QuirkRow& row : kRows)
    value_[static_cast<std::size_t>(row.quirk)] =
        row.from != kOff && version >= row.from && (row.until == 0 || version < row.until) ? 1 : 0;
  runtime_version_ = major * 10'000'000 + minor * 100'000 + patch;
  return true;
}

bool Quirks::set(std::string_view name, int value) {
  for (const QuirkRow& row : kRows)
    if (name == row.name) {
      value_[static_cast<std::size_t>(row.quirk)] = value;
      return true;
    }
  return false;
}

}  // namespace hb::fakehip
