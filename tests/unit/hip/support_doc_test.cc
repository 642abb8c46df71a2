// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// docs/hip-support.md says what quirks.cc does.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <sstream>
#include <string>
#include <vector>

#include "providers/hip/quirks.h"
#include "support/temp_dir.h"

namespace hb::test {
namespace {

namespace hc = hb::client::hip;
using hc::Quirk;

std::string version_text(int version) {
  return std::to_string(version / 10'000'000) + "." + std::to_string(version / 100'000 % 100);
}

std::string range_text(int from, int until) {
  if (from == INT_MAX) return "none by version";
  if (from == 0) return until == 0 ? "all" : "before " + version_text(until);
  return until == 0 ? "from " + version_text(from) : version_text(from) + " to before " + version_text(until);
}

const std::vector<std::string>& lines() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out;
    std::istringstream in(read_file(HIP_SUPPORT_DOC));
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }();
  return all;
}

std::size_t lines_that_begin(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(lines().begin(), lines().end(),
                                                [&](const std::string& l) { return l.starts_with(text); }));
}

TEST(HipSupportPage, HasEveryRowWithItsVersions) {
  for (const hc::QuirkRow& row : hc::quirk_rows()) {
    const std::string wanted =
        std::string("| `") + row.name + "` | " + range_text(row.from, row.until) + " | ";
    EXPECT_EQ(lines_that_begin(wanted), 1u) << "docs/hip-support.md needs one line that begins " << wanted;
  }
  for (const hc::KernelRow& row : hc::kernel_rows())
    EXPECT_EQ(lines_that_begin(std::string("| `") + row.name + "` | "), 1u) << row.name;
}

TEST(HipSupportPage, HasNoOtherRows) {
  EXPECT_EQ(lines_that_begin("| `"), hc::quirk_rows().size() + hc::kernel_rows().size());
}

TEST(HipSupportPage, NamesWhatIsRefused) {
  for (int version = 50'000'000; version < 60'200'000; version += 100'000) {
    const hc::KnownBad* bad = hc::known_bad(version);
    if (bad == nullptr) continue;
    EXPECT_EQ(lines_that_begin("| " + range_text(bad->from, bad->until) + " | "), 1u)
        << range_text(bad->from, bad->until);
  }
}

TEST(HipSupportPage, TheMatrixFollowsTheTable) {
  const auto row = [](const std::string& name, Quirk quirk, bool yes_when) {
    std::string wanted = "| " + name + " |";
    for (const int version : {60'200'000, 70'000'000, 70'100'000, 70'200'000, 71'400'000, 71'500'000})
      wanted += hc::Quirks(version).on(quirk) == yes_when ? " yes |" : " no |";
    EXPECT_EQ(lines_that_begin(wanted), 1u) << wanted;
  };
  row("the CPU reads own memory", Quirk::kGrantsHost, true);
  row("the CPU reads imported memory", Quirk::kGrantsHostOnImport, true);
  row("frameworks may ask about imported pointers", Quirk::kImportQueryCrashes, false);
  row("an importer may be without the owner's GPU", Quirk::kImportNeedsVisibleOwner, false);
  row("export of ranges by pointer exists", Quirk::kAddressRangeExport, true);
  row("a descriptor for every chunk created", Quirk::kDescriptorPerCreate, true);
  row("a descriptor for every chunk imported", Quirk::kDescriptorPerImport, true);
  row("memory of hipMemMap: exported by pointer", Quirk::kRetainTakesReference, true);
  row("hipMalloc memory, without libhsa-runtime64", Quirk::kAddressRangeExport, true);
  row("kind of the program's own memory told, without a word from it", Quirk::kImportQueryCrashes, false);
  row("addresses are held while it sleeps", Quirk::kReservationPinsMemory, false);
  row("giving memory back waits for streams", Quirk::kUnmapSynchronises, true);
}

}  // namespace
}  // namespace hb::test
