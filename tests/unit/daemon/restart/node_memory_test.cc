// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "restart/node_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hb::test {
namespace {

using restart::NodeIdentity;
using restart::NodeMemory;

const NodeIdentity kOne{{1, 2, 3}, {4, 5, 6}};
const NodeIdentity kOther{{7, 8, 9}, {10, 11, 12}};

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

os::MemoryRegion region_of(std::span<const std::byte> memory) {
  auto region = os::MemoryRegion::make("hbtest-node", NodeMemory::kBytes);
  EXPECT_TRUE(region) << region.error();
  std::copy(memory.begin(), memory.end(), region->bytes().begin());
  return std::move(*region);
}

NodeMemory open_copy(std::span<const std::byte> memory, const NodeIdentity& fresh) {
  auto node = NodeMemory::open(region_of(memory), fresh);
  EXPECT_TRUE(node) << node.error();
  return std::move(*node);
}

TEST(NodeMemory, TheFirstStartMakesItAndTheNextAdoptIt) {
  const NodeMemory first = open_copy({}, kOne);
  EXPECT_EQ(first.origin(), NodeMemory::Origin::kMade);
  EXPECT_EQ(first.identity(), kOne);
  EXPECT_EQ(first.epoch(), 1u);
  EXPECT_TRUE(first.kept().empty());
  const NodeMemory second = open_copy(first.memory(), kOther);
  EXPECT_EQ(second.origin(), NodeMemory::Origin::kAdopted);
  EXPECT_EQ(second.identity(), kOne);
  EXPECT_EQ(second.epoch(), 2u);
  EXPECT_EQ(open_copy(second.memory(), kOther).epoch(), 3u);
}

TEST(NodeMemory, AnyFlippedBitOfTheIdentityMakesItAnewAndSaysSo) {
  const NodeMemory first = open_copy({}, kOne);
  for (std::size_t bit = 0; bit < 56 * 8; ++bit) {
    std::vector<std::byte> memory(first.memory().begin(), first.memory().end());
    memory[bit / 8] ^= std::byte{1} << (bit % 8);
    NodeMemory broken = open_copy(memory, kOther);
    ASSERT_EQ(broken.origin(), NodeMemory::Origin::kBroken) << bit;
    EXPECT_NE(broken.why().find("the node's memory "), std::string::npos) << broken.why();
    EXPECT_EQ(broken.identity(), kOther);
    EXPECT_EQ(broken.epoch(), 1u);
    EXPECT_EQ(open_copy(broken.memory(), kOne).origin(), NodeMemory::Origin::kAdopted);
  }
  std::vector<std::byte> memory(first.memory().begin(), first.memory().end());
  memory[128] ^= std::byte{4};
  EXPECT_EQ(open_copy(memory, kOther).why(), "the node's memory is broken (epoch)");
}

TEST(NodeMemory, WhatIsKeptIsTheOldOrTheNewAtEveryStore) {
  NodeMemory node = open_copy({}, kOne);
  std::string old;
  for (const std::string& text :
       {std::string("a"), std::string(NodeMemory::kKeptBytes, 'b'), std::string(), std::string("c")}) {
    std::size_t states = 0;
    node.set_step([&] {
      ++states;
      const NodeMemory next = open_copy(node.memory(), kOther);
      EXPECT_EQ(next.identity(), kOne);
      const std::string kept = text_of(next.kept());
      EXPECT_TRUE(kept == old || kept == text) << kept;
    });
    ASSERT_TRUE(node.keep(bytes_of(text)));
    node.set_step({});
    EXPECT_GT(states, 4u);
    EXPECT_EQ(text_of(node.kept()), text);
    EXPECT_EQ(text_of(open_copy(node.memory(), kOther).kept()), text);
    old = text;
  }
  EXPECT_FALSE(node.keep(bytes_of(std::string(NodeMemory::kKeptBytes + 1, 'x'))));
  EXPECT_EQ(text_of(node.kept()), "c");
}

TEST(NodeMemory, WhereTheNewerHalfIsBrokenTheOlderCounts) {
  NodeMemory node = open_copy({}, kOne);
  ASSERT_TRUE(node.keep(bytes_of("older")));
  ASSERT_TRUE(node.keep(bytes_of("newer")));
  std::vector<std::byte> memory(node.memory().begin(), node.memory().end());
  const std::string newer = "newer";
  const auto at = std::search(memory.begin(), memory.end(), bytes_of(newer).begin(), bytes_of(newer).end());
  ASSERT_NE(at, memory.end());
  *at ^= std::byte{1};
  EXPECT_EQ(text_of(open_copy(memory, kOther).kept()), "older");
}

TEST(NodeMemory, TooSmallIsAnErrorWithBothNumbers) {
  auto region = os::MemoryRegion::make("hbtest-node", 100);
  ASSERT_TRUE(region);
  const auto node = NodeMemory::open(std::move(*region), kOne);
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error(), "the node's memory has 100 bytes, 4096 are needed");
}

}  // namespace
}  // namespace hb::test
