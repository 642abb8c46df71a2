// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "target.h"

#include <gtest/gtest.h>

#include "connection.h"
#include "exit_codes.h"

namespace hb::cli {
namespace {

TEST(CliTarget, ANameIsTheCallersOwn) {
  const Target target = parse_target("kv/0", {}, {});
  EXPECT_EQ(target.name, "kv/0");
  EXPECT_EQ(target.owner_uid, HB_OWN_UID);
  EXPECT_EQ(target.export_id, 0u);
}

TEST(CliTarget, UidColonNameIsAnothers) {
  const Target target = parse_target("1001:kv:0", {}, {});
  EXPECT_EQ(target.name, "kv:0");
  EXPECT_EQ(target.owner_uid, 1001u);
}

TEST(CliTarget, WhatOnlyLooksLikeAUidStaysAName) {
  for (const char* text : {"1001", ":kv", "1001:", "99999999999:kv", "-1:kv", "uid:kv"}) {
    const Target target = parse_target(text, {}, {});
    EXPECT_EQ(target.name, text);
    EXPECT_EQ(target.owner_uid, HB_OWN_UID);
  }
}

TEST(CliTarget, WithAnOwnerTheNameIsTakenAsItStands) {
  const Target target = parse_target("1001:kv", 7u, {});
  EXPECT_EQ(target.name, "1001:kv");
  EXPECT_EQ(target.owner_uid, 7u);
}

TEST(CliTarget, AnIdStandsAlone) {
  EXPECT_EQ(parse_target("", {}, 42u).export_id, 42u);
  EXPECT_EQ(parse_target("", {}, 42u).name_or_null(), nullptr);
  for (const auto& [name, owner, id] : {std::tuple{"kv", std::optional<std::uint32_t>(), 1u},
                                        std::tuple{"", std::optional<std::uint32_t>(7), 1u},
                                        std::tuple{"", std::optional<std::uint32_t>(), 0u}}) {
    try {
      (void)parse_target(name, owner, id);
      ADD_FAILURE() << "taken: '" << name << "', id " << id;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.exit_code(), kUsage);
    }
  }
}

TEST(CliTarget, TheTextOfAKeyNamesItsExport) {
  hb_key key{};
  key.bytes[0] = 1;   // version 1
  key.bytes[20] = 9;  // export id 9
  char text[HB_KEY_TEXT_BYTES];
  hb_key_to_text(&key, text);
  EXPECT_EQ(parse_target(text, {}, {}).export_id, 9u);
}

}  // namespace
}  // namespace hb::cli
