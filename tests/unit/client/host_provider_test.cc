// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/host.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "hipbroker/hipbroker.h"
#include "support/memfd.h"
#include "wire/unique_fd.h"

namespace hb::test {
namespace {

using client::AllocateRequest;
using client::ImportedRange;
using client::RangeRequest;

std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:") != std::string::npos;
  return count;
}

class HostMemory : public testing::Test {
 protected:
  void SetUp() override { before_ = mappings(); }
  void TearDown() override { EXPECT_EQ(mappings(), before_) << "mappings left"; }
  std::unique_ptr<client::Allocation> allocate(std::uint64_t bytes, std::uint64_t chunk_bytes,
                                               bool sealed = false) {
    auto made = host_.allocate({bytes, chunk_bytes, sealed});
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }
  client::HostProvider host_;
  std::size_t before_ = 0;
};

ImportedRange::Part part_of(const client::Allocation& memory, std::size_t index, std::uint64_t at) {
  ImportedRange::Part part;
  part.object = memory.chunk(index);
  part.at = at;
  part.chunk = index;
  part.object_bytes = part.object.offset + part.object.bytes;
  return part;
}

TEST_F(HostMemory, IsOneRangeOfSealedChunks) {
  const auto memory = allocate(10 * kPage + 1, 4 * kPage);
  EXPECT_EQ(memory->bytes(), 11 * kPage);
  ASSERT_EQ(memory->chunk_count(), 3u);
  EXPECT_EQ(memory->chunk(2).bytes, 3 * kPage);
  std::memset(memory->ptr(), 7, memory->bytes());
  for (std::size_t i = 0; i < 3; ++i) {
    const int fd = memory->chunk(i).fd.get();
    EXPECT_EQ(::fcntl(fd, F_GET_SEALS) & 0x1f, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW);
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    struct stat st {};
    ASSERT_EQ(::fstat(fd, &st), 0);
    EXPECT_EQ(st.st_mode & 07777u, 0444u);
    char byte = 0;
    EXPECT_EQ(::pread(fd, &byte, 1, 0), 1);
    EXPECT_EQ(byte, 7);
  }
}

TEST_F(HostMemory, SealedMeansThatOnlyTheMakersMappingWrites) {
  const auto memory = allocate(kPage, 0, true);
  static_cast<char*>(memory->ptr())[0] = 5;
  const int fd = memory->chunk(0).fd.get();
  EXPECT_EQ(::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  EXPECT_EQ(::pwrite(fd, "x", 1, 0), -1);
  void* reader = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(reader, MAP_FAILED);
  EXPECT_EQ(*static_cast<char*>(reader), 5);
  EXPECT_EQ(::mprotect(reader, kPage, PROT_READ | PROT_WRITE), -1);
  ::munmap(reader, kPage);
}

TEST_F(HostMemory, RefusesWhatItCannotMakeBeforeMakingAnything) {
  const auto none = host_.allocate({0, 0, false});
  EXPECT_EQ(none.error().status, HB_INVALID);
  EXPECT_EQ(host_.allocate({kPage, 100, false}).error().status, HB_INVALID);
  EXPECT_EQ(host_.allocate({UINT64_MAX, 0, false}).error().status, HB_RANGE);
  const auto many = host_.allocate({kPage * 50'000'000, kPage, false});
  EXPECT_EQ(many.error().status, HB_NO_FDS);
  EXPECT_EQ(many.error().used, 50'000'000u);
}

TEST_F(HostMemory, MapsChunksNextToEachOther) {
  const auto memory = allocate(3 * kPage, kPage);
  for (std::size_t i = 0; i < 3; ++i)
    static_cast<char*>(memory->ptr())[i * kPage] = static_cast<char>('a' + i);
  auto range = host_.begin_import({3 * kPage, 0, nullptr, true, HB_KIND_MEMFD});
  ASSERT_TRUE(range);
  for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE((*range)->map(part_of(*memory, i, i * kPage)));
  auto* bytes = static_cast<char*>((*range)->ptr());
  EXPECT_EQ(bytes[0], 'a');
  EXPECT_EQ(bytes[2 * kPage], 'c');
  bytes[kPage] = 'z';
  EXPECT_EQ(static_cast<char*>(memory->ptr())[kPage], 'z');
}

TEST_F(HostMemory, TakesTheWishedAddressOrNone) {
  const auto memory = allocate(2 * kPage, kPage);
  void* const free_space = ::mmap(nullptr, 4 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto taken = host_.begin_import({2 * kPage, 0, free_space, false, HB_KIND_MEMFD});
  ASSERT_TRUE(taken);
  EXPECT_EQ((*taken)->map(part_of(*memory, 0, 0)).error().status, HB_ADDRESS);
  ::munmap(free_space, 4 * kPage);
  auto range = host_.begin_import({2 * kPage, 0, free_space, false, HB_KIND_MEMFD});
  ASSERT_TRUE((*range)->map(part_of(*memory, 0, 0)));
  EXPECT_EQ((*range)->ptr(), free_space);
  EXPECT_EQ(host_.begin_import({kPage, 5, free_space, false, HB_KIND_MEMFD}).error().status, HB_RANGE);
}

TEST_F(HostMemory, MapsWhatBeginsInsideAPage) {
  const auto memory = allocate(2 * kPage, kPage);
  std::memcpy(static_cast<char*>(memory->ptr()) + kPage - 3, "abcdef", 6);
  auto range = host_.begin_import({6, kPage - 3, nullptr, false, HB_KIND_MEMFD});
  ImportedRange::Part first = part_of(*memory, 0, 0);
  first.object.offset = kPage - 3;
  first.object.bytes = 3;
  ImportedRange::Part second = part_of(*memory, 1, 3);
  second.object.bytes = 3;
  ASSERT_TRUE((*range)->map(first));
  ASSERT_TRUE((*range)->map(second));
  EXPECT_EQ(std::memcmp((*range)->ptr(), "abcdef", 6), 0);
}

TEST_F(HostMemory, RefusesChunksThatDoNotMeetAtAPage) {
  const auto memory = allocate(2 * kPage, kPage);
  auto range = host_.begin_import({200, 0, nullptr, false, HB_KIND_MEMFD});
  ImportedRange::Part first = part_of(*memory, 0, 0);
  first.object.bytes = 100;
  ImportedRange::Part second = part_of(*memory, 1, 100);
  second.object.bytes = 100;
  ASSERT_TRUE((*range)->map(first));
  const auto refused = (*range)->map(second);
  EXPECT_EQ(refused.error().status, HB_UNSUPPORTED);
  EXPECT_EQ(refused.error().chunk, 1);
}

TEST_F(HostMemory, BelievesNoDescriptor) {
  auto range = host_.begin_import({2 * kPage, 0, nullptr, false, HB_KIND_MEMFD});
  const UniqueFd loose = plain_memfd(2 * kPage);
  ImportedRange::Part part;
  part.object = {loose, 0, 2 * kPage};
  part.object_bytes = 2 * kPage;
  EXPECT_EQ((*range)->map(part).error().status, HB_BAD_HANDLE);
  const UniqueFd small = sealed_memfd(kPage, 1);
  part.object.fd = small;
  const auto error = (*range)->map(part).error();
  EXPECT_EQ(error.status, HB_RANGE);
  EXPECT_EQ(error.limit, kPage);
  const UniqueFd readable = reopen(small.get(), O_RDONLY);
  auto writable = host_.begin_import({kPage, 0, nullptr, true, HB_KIND_MEMFD});
  part.object = {readable, 0, kPage};
  part.object_bytes = kPage;
  EXPECT_EQ((*writable)->map(part).error().status, HB_READ_ONLY);
}

}  // namespace
}  // namespace hb::test
