// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Row by row of providers/hip/quirks.cc: with what the client does about it all goes well; without, what the
// row warns of happens. "Without" is the row overruled, or, where the client has one way for every version,
// the calls of somebody who does not know the fact.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "hipbroker/hipbroker.h"
#include "unit/hip/quirk_acts.h"

namespace hb::test {
namespace {

using hc::Quirk;
enum class End { kClean, kComplaint, kAbort };

struct Proof {
  Quirk quirk;
  const char* version;
  Env env;
  Act act;                // what a program does
  std::string heeded;     // what it sees then, or a part of it
  std::string ignored;    // and what, where the row is ignored
  End end = End::kClean;  // of that process: the fake's verdict
  Act unaware = {};       // instead of `act` with the row overruled
};

const std::vector<Proof>& proofs() {
  constexpr auto kPrefer = hc::HostAccess::kPrefer;
  constexpr auto kRequire = hc::HostAccess::kRequire;
  static const std::vector<Proof> table{
      {Quirk::kDescriptorByPointer, "7.0", {}, cycle(), "ok", "", End::kAbort},
      {Quirk::kDescriptorByPointer,
       "7.1",
       {},
       cycle(),
       "ok",
       "hipMemImportFromShareableHandle",
       End::kComplaint},
      {Quirk::kKeepDescriptorUntilGranted,
       "7.14",
       {{"FAKE_HIP_SWITCHES", "import_by_number=1"}},
       cycle(),
       "ok",
       "hipErrorInvalidValue",
       End::kClean,
       closes_too_early},
      {Quirk::kImportChecksAtGrant,
       "7.14",
       {},
       stranger,
       "not of the type this runtime imports",
       std::to_string(HB_SYSTEM) + " chunk 0: hipMemSetAccess"},
      {Quirk::kImportNeedsVisibleOwner,
       "7.2",
       {{"ROCR_VISIBLE_DEVICES", "0,1"}},
       hidden_owner,
       "add the GPU to ROCR_VISIBLE_DEVICES",
       "ok"},
      {Quirk::kImportNeedsVisibleOwner,
       "7.14",
       {{"ROCR_VISIBLE_DEVICES", "0,1"}},
       hidden_owner,
       "ok",
       "add the GPU to ROCR_VISIBLE_DEVICES"},
      {Quirk::kDescriptorPerCreate,
       "7.14",
       {},
       many_with_few_descriptors,
       "not tried: " + std::to_string(HB_NO_FDS),
       "tried: "},
      {Quirk::kDescriptorPerCreate, "7.15", {}, many_with_few_descriptors, "tried: ok", "not tried: "},
      {Quirk::kDescriptorPerImport,
       "7.15",
       {},
       many_imports_with_few_descriptors,
       "this HIP runtime keeps one descriptor for each chunk",
       "ok"},
      {Quirk::kDescriptorPerImport,
       "7.2",
       {},
       many_imports_with_few_descriptors,
       "ok",
       std::to_string(HB_NO_FDS)},
      {Quirk::kSharedExportDescriptor, "7.14", {}, two_exports, "size " + std::to_string(kChunk), "size -1"},
      {Quirk::kRuntimeClosesExportDescriptor,
       "7.14",
       {},
       two_exports,
       "size " + std::to_string(kChunk),
       "size " + std::to_string(kChunk),
       End::kComplaint},
      {Quirk::kMapFailsAtGrant,
       "7.2",
       {{"FAKE_HIP_FAIL", "hipMemMap:1:1:late"}},
       allocating(1),
       "chunk 0: hipMemSetAccess: hipErrorInvalidValue (1)",
       "mapped, and then hipErrorInvalidValue",
       End::kClean,
       believes_the_map},
      {Quirk::kTailGrantIsInvalid,
       "7.1",
       {},
       allocating(2),
       "ok",
       "chunk 1: hipMemSetAccess: hipErrorInvalidValue (1)"},
      {Quirk::kOwnerGrantedFirstReadsWrongPages,
       "7.14",
       {},
       peer_reads,
       "the owner's byte",
       "another byte",
       End::kClean,
       owner_first},
      {Quirk::kGrantsHost, "7.2", {}, allocating(1, kPrefer), "for the CPU too", "for the CPU not"},
      {Quirk::kGrantsHost,
       "7.1",
       {},
       allocating(1, kRequire),
       "HIP 7.2 or newer can",
       "hipMemSetAccess: hipErrorInvalidValue (1)"},
      {Quirk::kGrantsHostOnImport, "7.14", {}, cycle(kPrefer), "for the CPU too", "for the CPU not"},
      {Quirk::kGrantsHostOnImport,
       "7.15",
       {},
       cycle(kRequire),
       "into memory of another process",
       "hipMemSetAccess: hipErrorInvalidValue (1)"},
      {Quirk::kUnmapSynchronises, "7.14", {}, unmap_behind_a_stream, "lock free", "lock held"},
      {Quirk::kUnmapOfManyLeaks,
       "6.2",
       {},
       allocating(2),
       "ok",
       "unmapped",
       End::kComplaint,
       one_unmap_for_two},
      {Quirk::kUnknownUnmapCrashes,
       "6.2",
       {{"FAKE_HIP_FAIL", "hipMemUnmap:1"}},
       allocating(1),
       "ok",
       "",
       End::kAbort,
       unmaps_again},
      {Quirk::kReservationPinsMemory,
       "7.2",
       {},
       frees,
       "0 bytes left",
       std::to_string(kChunk) + " bytes left",
       End::kClean,
       keeps_the_addresses},
      {Quirk::kReserveIgnoresAlignment,
       "7.2",
       {{"FAKE_HIP_SWITCHES", "reserve_small_align=1"}},
       base_of_memory,
       "aligned",
       "crooked",
       End::kClean,
       believes_the_alignment},
      {Quirk::kRecommendedGranularityTooSmall,
       "6.2",
       {},
       granularity,
       std::to_string(kChunk) + " bytes",
       "4096 bytes",
       End::kClean,
       believes_the_granularity},
      {Quirk::kImportQueryCrashes, "7.14", {}, cycle(), "ok", "", End::kAbort, asks_about_an_import},
  };
  return table;
}

// Rows on which nothing of what the acts here do depends, or that have their test elsewhere.
const std::map<Quirk, const char*>& not_shown() {
  static const std::map<Quirk, const char*> table{
      {Quirk::kMapWaitsForNullStream, "the runtime's own use of its stream: no call of ours avoids it"},
      {Quirk::kKnowsHostNuma, "memory there is refused by name, whoever knows it"},
      {Quirk::kReleaseMayKeepMemory, "nothing can be done but to say so"},
      {Quirk::kHsaTellsQueriedAddressAsBase, "HSA is not asked: HIP tells where memory begins"},
      {Quirk::kRetainTakesReference, "tests/integration/hip/foreign_pointer_test.cc"},
      {Quirk::kRetainCrashesOnMalloc, "only mappings are retained: foreign_pointer_test.cc"},
      {Quirk::kAddressRangeExport, "tests/integration/hip/foreign_pointer_test.cc"},
      {Quirk::kAddressRangeOffsetUnknown, "only whole allocations are exported so: foreign_pointer_test.cc"},
      {Quirk::kNullOutCrashes, "no NULL is passed"},
      {Quirk::kExternalTakesDescriptor, "tests/unit/hip/external_test.cc"},
      {Quirk::kMemoryTypesOfFive, "what has it is refused: 6.2 is needed"},
  };
  return table;
}

class QuirkProof : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const Proof& proof() const { return proofs()[GetParam()]; }
  [[nodiscard]] Env env() const {
    Env out = proof().env;
    out["FAKE_HIP_VERSION"] = proof().version;
    return out;
  }
};

const char* name_of(Quirk quirk) {
  for (const hc::QuirkRow& row : hc::quirk_rows())
    if (row.quirk == quirk) return row.name;
  return "?";
}

INSTANTIATE_TEST_SUITE_P(Hip, QuirkProof, testing::Range(std::size_t{0}, proofs().size()),
                         [](const auto& one) {
                           const Proof& proof = proofs()[one.param];
                           std::string name = std::string(name_of(proof.quirk)) + "_v" + proof.version;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST_P(QuirkProof, HeededAllGoesWell) {
  expect_clean(env(), [&](const Hip& hip) {
    const std::string seen = proof().act(hip, context_of());
    EXPECT_NE(seen.find(proof().heeded), std::string::npos) << seen;
  });
}

TEST_P(QuirkProof, IgnoredWhatItWarnsOfHappens) {
  const ChildResult result = run_child(env(), [&](const Hip& hip) {
    auto context = std::make_shared<hc::Context>(*context_of());
    context->quirks.overrule(proof().quirk, !context->quirks.on(proof().quirk));
    const std::string seen = (proof().unaware ? proof().unaware : proof().act)(hip, context);
    EXPECT_NE(seen.find(proof().ignored), std::string::npos) << seen;
    if (HasFailure()) ::_exit(1);  // the fake's complaint would be taken for the one awaited
  });
  switch (proof().end) {
    case End::kClean:
      EXPECT_EQ(result.exit_code, 0) << result.errors;
      break;
    case End::kComplaint:
      EXPECT_EQ(result.exit_code, fh::kComplaintExit) << result.errors;
      break;
    case End::kAbort:
      EXPECT_EQ(result.signal, SIGABRT) << result.errors;
      EXPECT_NE(result.errors.find("the real runtime crashes here"), std::string::npos) << result.errors;
  }
}

TEST(HipQuirkProof, EveryRowHasOneOrSaysWhyNot) {
  std::set<Quirk> shown;
  for (const Proof& proof : proofs()) shown.insert(proof.quirk);
  for (const hc::QuirkRow& row : hc::quirk_rows())
    EXPECT_NE(shown.contains(row.quirk), not_shown().contains(row.quirk)) << row.name;
}

}  // namespace
}  // namespace hb::test
