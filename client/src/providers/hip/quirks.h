// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How runtime versions differ, as data. quirks.cc holds one row for each difference with the fact it comes
// from; no other file compares versions. What a probe saw on this machine overrules the table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hb::client::hip {

enum class Quirk : std::uint8_t {
  kDescriptorByPointer,
  kKeepDescriptorUntilGranted,
  kImportChecksAtGrant,
  kImportNeedsVisibleOwner,
  kDescriptorPerCreate,
  kDescriptorPerImport,
  kSharedExportDescriptor,
  kRuntimeClosesExportDescriptor,
  kMapFailsAtGrant,
  kMapWaitsForNullStream,
  kTailGrantIsInvalid,
  kOwnerGrantedFirstReadsWrongPages,
  kGrantsHost,
  kGrantsHostOnImport,
  kKnowsHostNuma,
  kUnmapSynchronises,
  kUnmapOfManyLeaks,
  kUnknownUnmapCrashes,
  kReservationPinsMemory,
  kReleaseMayKeepMemory,
  kReserveIgnoresAlignment,
  kRecommendedGranularityTooSmall,
  kImportQueryCrashes,
  kHsaTellsQueriedAddressAsBase,
  kRetainTakesReference,
  kRetainCrashesOnMalloc,
  kAddressRangeExport,
  kAddressRangeOffsetUnknown,
  kNullOutCrashes,
  kMemoryTypesOfFive,
  kExternalTakesDescriptor,
  kCount,
};

struct QuirkRow {
  Quirk quirk;
  const char* name;
  int from;            // first runtime version that has it; 0: since ever
  int until;           // first that has it no more; 0: not ended
  const char* source;  // what is known, and from where
};

// Versions in which nothing can work, whatever a probe would say.
struct KnownBad {
  int from;
  int until;
  const char* reason;
};

// What is known of kernels and of amdgpu: nothing here works around it, a person has to know.
struct KernelRow {
  const char* name;
  int release_until;  // kernel releases below it, major * 1000 + minor; 0: every one
  int runtime_from;   // and only beside runtimes from here
  int runtime_until;  // to below here; 0: any
  bool built_apart;   // and only with an amdgpu that did not come with the kernel
  bool matters;       // false: advice
  const char* source;
  const char* advice;
};
[[nodiscard]] std::span<const KernelRow> kernel_rows();
// `release` is uname's, "6.8.0-45-generic"; `amdgpu` is topology.h's amdgpu_version(). False where the
// release is not understood.
[[nodiscard]] bool holds(const KernelRow& row, std::string_view release, std::string_view amdgpu,
                         int runtime_version);

[[nodiscard]] std::span<const QuirkRow> quirk_rows();
// nullptr: not known to be bad.
[[nodiscard]] const KnownBad* known_bad(int runtime_version);

class Quirks {
 public:
  explicit Quirks(int runtime_version);

  [[nodiscard]] bool on(Quirk quirk) const { return on_[static_cast<std::size_t>(quirk)]; }
  // Seen on this machine: true whatever the table says.
  void overrule(Quirk quirk, bool value);
  [[nodiscard]] bool was_overruled(Quirk quirk) const { return seen_[static_cast<std::size_t>(quirk)]; }

 private:
  static constexpr std::size_t kSize = static_cast<std::size_t>(Quirk::kCount);
  std::array<bool, kSize> on_{};
  std::array<bool, kSize> seen_{};
};

}  // namespace hb::client::hip
