// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/runtime_state.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "support/temp_dir.h"

namespace hb::test {
namespace {

using app::load_runtime_state;
using app::RuntimeState;
using app::save_runtime_state;
using core::Resource;

void write(const std::string& file, const std::string& text) { std::ofstream(file) << text; }
std::string read(const std::string& file) {
  std::ostringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}
mode_t mode_of(const std::string& file) {
  struct stat status {};
  return ::lstat(file.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

RuntimeState sample() {
  RuntimeState state;
  state.scopes.push_back({"job7",
                          {1001, 0},
                          {{Resource::kExports, 5}, {Resource::kBytes, 200ull << 30}},
                          {{Resource::kSessions, UINT64_MAX}}});
  state.scopes.push_back({"pod-1.a_b", {}, {}, {}});
  state.overrides.push_back({"job7", 1001, {}, {{Resource::kExports, 8}}});
  state.overrides.push_back({"main", {}, 44, {{Resource::kLeases, 0}}});
  state.overrides.push_back({"job7", {}, {}, {{Resource::kBytes, 1}}});
  return state;
}

TEST(RuntimeState, IsBesideTheAdminSocket) {
  EXPECT_EQ(app::runtime_state_file("/run/hipbroker/admin/admin.sock"), "/run/hipbroker/admin/state.toml");
}

TEST(RuntimeState, ComesBackAsItWasSaved) {
  const TempDir dir;
  const std::string file = dir / "state.toml";
  ASSERT_TRUE(save_runtime_state(file, sample()));
  EXPECT_EQ(mode_of(file), 0600u);
  EXPECT_FALSE(::access((file + ".new").c_str(), F_OK) == 0);
  const auto loaded = load_runtime_state(file);
  EXPECT_TRUE(loaded.errors.empty()) << loaded.errors.front();
  EXPECT_EQ(loaded.state, sample()) << read(file);
}

// What was recorded of a scope goes by its id: the next daemon gives it the same, and nobody else.
TEST(RuntimeState, ScopesKeepTheirIds) {
  const TempDir dir;
  const std::string file = dir / "state.toml";
  RuntimeState state = sample();
  state.scopes[0].id = 3;
  state.scopes[1].id = 9;
  state.last_scope = 12;
  ASSERT_TRUE(save_runtime_state(file, state));
  EXPECT_EQ(load_runtime_state(file).state, state) << read(file);
  write(file, "[[scope]]\nid = 4\nname = \"a\"\n[[scope]]\nid = 4\nname = \"b\"\n");
  EXPECT_FALSE(load_runtime_state(file).errors.empty());
}

TEST(RuntimeState, NoFileIsAnEmptyOne) {
  const TempDir dir;
  const auto loaded = load_runtime_state(dir / "state.toml");
  EXPECT_TRUE(loaded.errors.empty());
  EXPECT_EQ(loaded.state, RuntimeState{});
}

TEST(RuntimeState, ABrokenOneIsToldOfWithPositionsAndKept) {
  const TempDir dir;
  const std::string file = dir / "state.toml";
  const std::string text =
      "[[scope]]\nname = \"ok\"\n\n[[scope]]\nname = \"../up\"\nuids = [-1]\ntotal = { apples = 3 }\n"
      "[[scope]]\nname = \"ok\"\n[[quota]]\nscope = \"main\"\nlimits = { bytes = \"all\" }\n";
  write(file, text);
  const auto loaded = load_runtime_state(file);
  ASSERT_EQ(loaded.errors.size(), 6u);
  EXPECT_EQ(loaded.errors[0].find(file + ":5:8: scope name"), 0u) << loaded.errors[0];
  EXPECT_EQ(loaded.errors[1].find(file + ":6:9: uids is no number"), 0u) << loaded.errors[1];
  EXPECT_EQ(loaded.errors[2].find(file + ":7:11: \"apples\" is no resource"), 0u) << loaded.errors[2];
  EXPECT_EQ(loaded.errors[3].find(file + ":8:1: scope \"ok\" is here twice"), 0u) << loaded.errors[3];
  EXPECT_EQ(loaded.errors[4].find(file + ":12:20: bytes is neither"), 0u) << loaded.errors[4];
  EXPECT_NE(loaded.errors[5].find("kept as " + file + ".broken"), std::string::npos) << loaded.errors[5];
  EXPECT_EQ(loaded.state, RuntimeState{}) << "half a state would drop limits without a word";
  EXPECT_EQ(read(file + ".broken"), text);
  EXPECT_NE(::access(file.c_str(), F_OK), 0);
}

TEST(RuntimeState, ACutOneIsToldOf) {
  const TempDir dir;
  const std::string file = dir / "state.toml";
  ASSERT_TRUE(save_runtime_state(file, sample()));
  write(file, read(file).substr(0, read(file).find("bytes = ") + 6));
  const auto loaded = load_runtime_state(file);
  ASSERT_FALSE(loaded.errors.empty());
  EXPECT_EQ(loaded.errors[0].find(file + ":"), 0u) << loaded.errors[0];
}

TEST(RuntimeState, ALinkOrADirectoryIsNotRead) {
  const TempDir dir;
  const std::string file = dir / "state.toml";
  write(dir / "other.toml", "");
  ASSERT_EQ(::symlink("other.toml", file.c_str()), 0);
  EXPECT_EQ(load_runtime_state(file).errors.size(), 2u);
  ASSERT_EQ(::mkdir(file.c_str(), 0700), 0);
  EXPECT_EQ(load_runtime_state(file).errors.size(), 2u);
}

TEST(RuntimeState, WhatCannotBeSavedLeavesTheOldOne) {
  const TempDir dir;
  const std::string file = dir / "state.toml";
  ASSERT_TRUE(save_runtime_state(file, sample()));
  ASSERT_EQ(::mkdir((file + ".new").c_str(), 0700), 0);
  const auto saved = save_runtime_state(file, {});
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().find("state.toml.new: unlink"), std::string::npos) << saved.error();
  EXPECT_EQ(load_runtime_state(file).state, sample());
}

}  // namespace
}  // namespace hb::test
