// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/validity_page.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/memfd.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

constexpr std::size_t kBytes = limits::kSessionLeases * sizeof(std::uint32_t);

TEST(ValidityPage, TheReaderSeesWhatIsStored) {
  auto made = os::ValidityPage::make();
  ASSERT_TRUE(made);
  void* address = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, made->descriptor.get(), 0);
  ASSERT_NE(address, MAP_FAILED);
  const auto* words = static_cast<const volatile std::uint32_t*>(address);
  EXPECT_EQ(words[5], 0u);
  made->page.store(5, 77);
  made->page.store(limits::kSessionLeases - 1, 78);
  EXPECT_EQ(words[5], 77u);
  EXPECT_EQ(words[limits::kSessionLeases - 1], 78u);
  made->page.store(limits::kSessionLeases, 79);  // outside: nothing happens
  made->page.clear(6);
  EXPECT_EQ(words[5], 0u);
  EXPECT_EQ(words[limits::kSessionLeases - 1], 78u);
  // The daemon closes its descriptor once it is sent; both mappings stay.
  made->descriptor.reset();
  made->page.store(5, 80);
  EXPECT_EQ(words[5], 80u);
  ::munmap(address, kBytes);
}

TEST(ValidityPage, TheReaderCannotWriteOrResize) {
  const auto made = os::ValidityPage::make();
  ASSERT_TRUE(made);
  const int fd = made->descriptor.get();
  EXPECT_EQ(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  const std::uint32_t word = 1;
  EXPECT_LT(::pwrite(fd, &word, sizeof word, 0), 0);
  EXPECT_NE(::ftruncate(fd, 0), 0);
  EXPECT_NE(::ftruncate(fd, static_cast<off_t>(2 * kBytes)), 0);
  EXPECT_NE(::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
  void* readable = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(readable, MAP_FAILED);
  EXPECT_NE(::mprotect(readable, kBytes, PROT_READ | PROT_WRITE), 0);
  ::munmap(readable, kBytes);
  // Another open file of the same memory is bound by the same seals.
  const UniqueFd again = reopen(fd, O_RDWR | O_CLOEXEC);
  ASSERT_TRUE(again);
  EXPECT_EQ(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0), MAP_FAILED);
}

// One that outlives its daemon: the next one maps it for writing, a reader still cannot.
TEST(ValidityPage, IsAdoptedByAnotherProcess) {
  auto made = os::ValidityPage::make(os::ValidityPage::Lives::kBeyondIt);
  ASSERT_TRUE(made);
  ASSERT_TRUE(made->memory);
  void* readable = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, made->descriptor.get(), 0);
  ASSERT_NE(readable, MAP_FAILED);
  const auto* words = static_cast<const volatile std::uint32_t*>(readable);
  made->page.store(3, 7);
  made->page = os::ValidityPage();
  auto page = os::ValidityPage::adopt(made->memory);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->load(3), 7u);
  page->store(3, 8);
  EXPECT_EQ(words[3], 8u);
  const int fd = made->descriptor.get();
  EXPECT_EQ(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  EXPECT_NE(::mprotect(readable, kBytes, PROT_READ | PROT_WRITE), 0);
  EXPECT_NE(::ftruncate(fd, 0), 0);
  EXPECT_NE(::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
  struct stat status {};
  ASSERT_EQ(::fstat(fd, &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0400u) << "another uid opens it again for reading at most";
  ::munmap(readable, kBytes);
  EXPECT_FALSE(os::ValidityPage::adopt(sealed_memfd(kPage, 1))) << "of another size";
}

TEST(ValidityPage, MovedFromIsEmpty) {
  auto made = os::ValidityPage::make();
  ASSERT_TRUE(made);
  os::ValidityPage page = std::move(made->page);
  EXPECT_TRUE(page);
  EXPECT_FALSE(made->page);
  page.store(1, 2);
  EXPECT_EQ(page.load(1), 2u);
  page = os::ValidityPage();
  EXPECT_FALSE(page);
  page.store(1, 2);  // nothing to write to
}

}  // namespace
}  // namespace hb::test
