// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/helper_path.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "hipbroker/hipbroker.h"
#include "support/temp_dir.h"

namespace hb::test {
namespace {

namespace hc = hb::client::hip;

bool has(const std::vector<std::string>& places, const std::string& wanted) {
  return std::find(places.begin(), places.end(), wanted) != places.end();
}

// Both as they are, and in the normal form of the path.
std::vector<std::string> normal(std::vector<std::string> places) {
  for (std::string& place : places) place = std::filesystem::path(place).lexically_normal();
  return places;
}

TEST(HipHelperPath, AMovedInstallationAndABuildTreeAreFoundByTheLibrarysOwnFile) {
  const auto places = normal(hc::helper_places_beside("/moved/lib/libhipbroker.so.0"));
  EXPECT_TRUE(has(places, "/moved/lib/hipbroker-probe"));
  // lib or lib/<triplet>: libexec is where it is in the installation this was configured for.
  EXPECT_TRUE(std::any_of(places.begin(), places.end(), [](const std::string& place) {
    return place.ends_with("libexec/hipbroker/hipbroker-probe") &&
           (place.starts_with("/moved/") || place.starts_with("/libexec"));
  }));
  // The configured place comes last, so that a second installation does not lend its helper to this one.
  EXPECT_EQ(places.back().front(), '/');
  EXPECT_TRUE(places.back().ends_with("/hipbroker/hipbroker-probe"));
  EXPECT_FALSE(places.back().starts_with("/moved"));
  EXPECT_EQ(hc::helper_places_beside("").size(), 1u);
}

TEST(HipHelperPath, ALinkToTheLibraryIsFollowedToItsTree) {
  const TempDir dir;
  std::filesystem::create_directories(dir / "tree/lib");
  std::filesystem::create_directories(dir / "links");
  write_file(dir / "tree/lib/libhipbroker.so.0", "");
  std::filesystem::create_symlink(dir / "tree/lib/libhipbroker.so.0", dir / "links/libhipbroker.so.0");
  const auto places = normal(hc::helper_places_beside(dir / "links/libhipbroker.so.0"));
  EXPECT_TRUE(has(places, dir / "links/hipbroker-probe"));
  EXPECT_TRUE(has(places, dir / "tree/lib/hipbroker-probe"));
}

TEST(HipHelperPath, TheVariableIsTheOnlyPlaceAndTheErrorNamesIt) {
  const TempDir dir;
  const std::string helper = dir / "probe";
  ::setenv("HIPBROKER_PROBE_HELPER", helper.c_str(), 1);
  EXPECT_EQ(hc::helper_places(), std::vector<std::string>{helper});
  const auto missing = hc::find_helper();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().status, HB_UNSUPPORTED);
  EXPECT_NE(missing.error().message.find(helper + ": ENOENT"), std::string::npos) << missing.error().message;

  write_file(helper, "#!/bin/sh\n");
  const auto not_executable = hc::find_helper();
  ASSERT_FALSE(not_executable);
  EXPECT_NE(not_executable.error().message.find("EACCES"), std::string::npos);
  ASSERT_EQ(::chmod(helper.c_str(), 0755), 0);
  EXPECT_EQ(hc::find_helper().value_or(""), helper);
  ::unsetenv("HIPBROKER_PROBE_HELPER");
}

TEST(HipHelperPath, WithoutTheVariableTheErrorNamesEveryPlace) {
  ::unsetenv("HIPBROKER_PROBE_HELPER");
  const auto found = hc::find_helper();
  if (found) {  // an installation on this machine
    EXPECT_TRUE(found->ends_with("hipbroker-probe"));
    return;
  }
  for (const std::string& place : hc::helper_places())
    EXPECT_NE(found.error().message.find(place), std::string::npos) << place << "\n" << found.error().message;
}

}  // namespace
}  // namespace hb::test
