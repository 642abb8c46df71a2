// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What differs between runtime versions, as data: quirks.cc holds one line for each. No other file of the
// fake compares versions.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace hb::fakehip {

enum class Quirk : unsigned char {
  kFdByPointer,
  kLateMapErrors,
  kMapOnNullStream,
  kTailGrantFails,
  kGrantHost,
  kGrantHostOnImport,
  kHostNuma,
  kFdPerCreate,
  kSharedExportFd,
  kRuntimeClosesExportFd,
  kLazyImport,
  kImportByNumber,
  kImportNeedsVisibleOwner,
  kOwnerFirstWrongPages,
  kRetainCounts,
  kRetainMallocCrashes,
  kUnknownUnmapCrashes,
  kUnknownFreeCrashes,
  kUnmapWaits,
  kUnmapSpanLeaks,
  kImportQueryCrashes,
  kPointerInfoQueriedBase,
  kGranularity2M,
  kAddressRangeExport,
  kNullOutCrashes,
  kUncachedType,
  kUnregisteredIsSuccess,
  kMisalignedIsOutOfMemory,
  kReservationPinsMemory,
  kPoolIpcHandle,
  kIpcCapableAttribute,
  kDmaBufAttributes,
  kTrueImportProperties,
  // switches: off in every version
  kReserveElsewhere,
  kReserveSmallAlign,
  kNoVmm,
  kNoLargeBar,
  kNoPeers,
  kVmmDeviceAttributeUnknown,
  kLostDevice,
  kFaultAborts,
  kPartitionInFunction,
  kHostGrantFails,
  kGrantFailsOnce,
  kCorruptImports,
  kExternalTakesFd,
  kReuseAddresses,
  kPeersSeeJunk,
  kPeerAccessAborts,
  kCount,
};

struct QuirkRow {
  Quirk quirk;
  const char* name;
  int from;   // first version that has it, major * 100 + minor; 0: none
  int until;  // first version that has it no more; 0: never ends
  const char* what;
};

class Quirks {
 public:
  // "7.1", "7.14", "7.1.25424"; an empty text takes `fallback`. False: not understood, nothing changed.
  bool choose_version(std::string_view text, std::string_view fallback);
  // "name=value" for any row. False: no such name.
  bool set(std::string_view name, int value);
  [[nodiscard]] bool on(Quirk quirk) const { return value_[static_cast<std::size_t>(quirk)] != 0; }
  [[nodiscard]] int value(Quirk quirk) const { return value_[static_cast<std::size_t>(quirk)]; }
  [[nodiscard]] int runtime_version() const { return runtime_version_; }  // 70100000 for 7.1.0

 private:
  std::array<int, static_cast<std::size_t>(Quirk::kCount)> value_{};
  int runtime_version_ = 0;
};

}  // namespace hb::fakehip
