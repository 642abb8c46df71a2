// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/issues.h"

#include <algorithm>
#include <optional>

namespace hb::client::hip {
namespace {

// Rows that a person is told of; the others are nobody's business but ours.
struct Advice {
  Quirk quirk;
  bool when;  // on or off is what is told
  Weight weight;
  const char* advice;
  const char* name = nullptr;  // where a row that is off is the trouble: its own words
  const char* text = nullptr;
};
constexpr Advice kAdvice[] = {
    {Quirk::kDescriptorByPointer, true, Weight::kHandled,
     "nothing: the library asks the runtime. A program that imports by itself passes the address of the "
     "descriptor here, and must choose by hipRuntimeGetVersion, not by its headers"},
    {Quirk::kImportNeedsVisibleOwner, true, Weight::kNote,
     "let importers see the owner's GPU: narrow HIP_VISIBLE_DEVICES instead of ROCR_VISIBLE_DEVICES, or "
     "update to "
     "7.14"},
    {Quirk::kDescriptorPerCreate, true, Weight::kTrouble,
     "raise RLIMIT_NOFILE (ulimit -n, LimitNOFILE=) beyond the number of chunks, or share in larger chunks; "
     "update "
     "to ROCm 10.0"},
    {Quirk::kDescriptorPerImport, true, Weight::kNote,
     "count one descriptor for every chunk imported when setting RLIMIT_NOFILE"},
    {Quirk::kSharedExportDescriptor, true, Weight::kHandled,
     "nothing: the library duplicates it. A program that exports by itself must close that number once"},
    {Quirk::kMapWaitsForNullStream, true, Weight::kNote,
     "do not import or allocate while a kernel that never ends runs in the null stream; update to 7.11"},
    {Quirk::kTailGrantIsInvalid, true, Weight::kHandled,
     "nothing: the library grants from the base again. A program that maps by itself must do so, too"},
    {Quirk::kOwnerGrantedFirstReadsWrongPages, true, Weight::kHandled,
     "nothing: the library grants peers first. A program that maps by itself must name its own GPU last"},
    {Quirk::kGrantsHost, false, Weight::kNote,
     "copy with hipMemcpyAsync instead of reading by the CPU; update to 7.2 for access of the CPU",
     "no_host_grant",
     "hipMemSetAccess does not let the CPU in to GPU memory; it does from 7.2 on (rocm-systems#1606, #1620)"},
    {Quirk::kGrantsHostOnImport, false, Weight::kNote,
     "copy imported memory with hipMemcpyAsync instead of reading it by the CPU. PyTorch of ROCm 7.2 and "
     "newer reads "
     "tensors of one element by the CPU where the BAR is large: do not call .item() on imported ones",
     "no_host_grant_on_import",
     "the CPU is not let in to imported memory: before 7.2 nowhere, in 7.15 for want of a CPU mmap offset "
     "(rocm-systems#11185)"},
    {Quirk::kUnmapSynchronises, true, Weight::kNote,
     "close imports and free memory while no kernel that never ends is running, or it waits for ever"},
    {Quirk::kUnmapOfManyLeaks, true, Weight::kHandled, "nothing: the library unmaps piece by piece"},
    {Quirk::kReservationPinsMemory, true, Weight::kHandled,
     "nothing: the library frees the addresses with the memory. A program that keeps its reservation keeps "
     "the "
     "memory"},
    {Quirk::kReleaseMayKeepMemory, true, Weight::kTrouble,
     "update to ROCm 6.4.2 or newer: on 6.4.0 and 6.4.1 freed memory is back only when the process has "
     "ended"},
    {Quirk::kRecommendedGranularityTooSmall, true, Weight::kHandled,
     "nothing: the library takes 2 MiB at least"},
    {Quirk::kImportQueryCrashes, true, Weight::kTrouble,
     "keep imported pointers away from code that asks the runtime about them (UCX, NIXL, "
     "hipPointerGetAttributes, "
     "hipIpcGetMemHandle); update to a runtime with rocm-systems#11449"},
    {Quirk::kHsaTellsQueriedAddressAsBase, true, Weight::kNote,
     "do not take hsa_amd_pointer_info's base for the start of an allocation"},
    {Quirk::kRetainTakesReference, false, Weight::kHandled,
     "nothing: the library never calls it. A program must not release what it gave",
     "retain_takes_no_reference",
     "before 7.12 releasing what hipMemRetainAllocationHandle gave destroys the creator's handle"},
    {Quirk::kRetainCrashesOnMalloc, true, Weight::kHandled,
     "nothing: the library never calls it. A program must not call it on hipMalloc memory"},
};

const QuirkRow& row_of(Quirk quirk) {
  const auto rows = quirk_rows();
  return *std::find_if(rows.begin(), rows.end(), [quirk](const QuirkRow& row) { return row.quirk == quirk; });
}

// What one GPU's trial says of it; none: not seen.
std::optional<bool> seen(Quirk quirk, const Findings& findings, int runtime_version) {
  Quirks quirks(runtime_version);
  findings.apply(quirks);
  if (!quirks.was_overruled(quirk)) return std::nullopt;
  return quirks.on(quirk);
}

}  // namespace

std::vector<Issue> issues_of(int runtime_version, std::span<const Findings> findings,
                             std::string_view release, std::string_view amdgpu) {
  std::vector<Issue> out;
  if (runtime_version != 0) {
    const Quirks table(runtime_version);
    for (const Advice& advice : kAdvice) {
      const bool tabled = table.on(advice.quirk) == advice.when;
      bool here = tabled;
      bool known = false;
      for (const Findings& one : findings) {
        const auto value = seen(advice.quirk, one, runtime_version);
        if (!value) continue;
        // One GPU that has it is enough.
        here = known ? here || *value == advice.when : *value == advice.when;
        known = true;
      }
      if (!here) continue;
      const QuirkRow& row = row_of(advice.quirk);
      out.push_back({advice.name != nullptr ? advice.name : row.name,
                     advice.text != nullptr ? advice.text : row.source, advice.advice, advice.weight, known,
                     tabled});
    }
  }
  for (const KernelRow& row : kernel_rows())
    if (holds(row, release, amdgpu, runtime_version))
      out.push_back(
          {row.name, row.source, row.advice, row.matters ? Weight::kTrouble : Weight::kNote, false, true});
  return out;
}

}  // namespace hb::client::hip
