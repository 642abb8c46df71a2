// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/handle_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "support/memfd.h"

namespace hb::test {
namespace {

using ipc::HandleStore;

TEST(HandleStore, AnEndedIdNeverFindsWhatCameAfter) {
  HandleStore store;
  core::HandleFacts first;
  store.add(sealed_memfd(kPage, 1), first);
  EXPECT_NE(store.get(first.id), nullptr);
  std::vector<UniqueFd> out;
  store.take(first.id, out);
  EXPECT_EQ(out.size(), 1u);
  EXPECT_EQ(store.get(first.id), nullptr);
  core::HandleFacts second;
  store.add(sealed_memfd(kPage, 2), second);
  EXPECT_NE(second.id, first.id);
  EXPECT_EQ(second.id.slot(), first.id.slot()) << "the slot is used again";
  EXPECT_EQ(store.get(first.id), nullptr);
  EXPECT_EQ(store.facts(first.id), nullptr);
  store.take(first.id, out);
  EXPECT_EQ(out.size(), 1u);
  EXPECT_EQ(store.get(core::HandleId{}), nullptr);
  EXPECT_EQ(store.get(core::HandleId::of(99, 1)), nullptr);
}

TEST(HandleStore, ThoseOfAnEarlierStoreKeepTheirIds) {
  HandleStore store;
  core::HandleFacts facts;
  facts.id = core::HandleId::of(3, 7);
  UniqueFd memory = sealed_memfd(kPage, 1);
  const int number = memory.get();
  ASSERT_TRUE(store.restore(memory, facts));
  UniqueFd other = sealed_memfd(kPage, 2);
  EXPECT_FALSE(store.restore(other, facts)) << "its place is taken";
  EXPECT_TRUE(other);
  store.finish_restoring();
  EXPECT_EQ(store.size(), 1u);
  ASSERT_NE(store.get(facts.id), nullptr);
  EXPECT_EQ(store.get(facts.id)->get(), number);
  for (std::uint32_t i = 0; i < 5; ++i) {
    core::HandleFacts next;
    store.add(sealed_memfd(kPage, 10 + i), next);
    EXPECT_NE(next.id.slot(), 3u);
    EXPECT_EQ(next.id.slot(), i < 3 ? i : i + 1);
  }
  std::vector<UniqueFd> out;
  store.take(facts.id, out);
  core::HandleFacts again;
  store.add(sealed_memfd(kPage, 20), again);
  EXPECT_EQ(again.id, core::HandleId::of(3, 8));
}

TEST(HandleStore, TheReopeningCannotBeMappedForWriting) {
  HandleStore store;
  core::HandleFacts facts;
  store.add(sealed_memfd(kPage, 1), facts);
  EXPECT_EQ(store.get_read_only(facts.id), nullptr);
  ASSERT_TRUE(store.reopen_read_only(facts.id));
  const UniqueFd* reopened = store.get_read_only(facts.id);
  ASSERT_NE(reopened, nullptr);
  const int fd = reopened->get();
  ASSERT_TRUE(store.reopen_read_only(facts.id));
  EXPECT_EQ(store.get_read_only(facts.id)->get(), fd) << "made once";
  EXPECT_EQ(::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  void* readable = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(readable, MAP_FAILED);
  ::munmap(readable, kPage);
  std::vector<UniqueFd> out;
  store.take(facts.id, out);
  EXPECT_EQ(out.size(), 2u);
  EXPECT_EQ(store.get_read_only(facts.id), nullptr);
  EXPECT_FALSE(store.reopen_read_only(facts.id));
}

}  // namespace
}  // namespace hb::test
