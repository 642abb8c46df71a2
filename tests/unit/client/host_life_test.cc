// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Host memory that grows, gets another chunk in the place of one, and sleeps.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstring>
#include <fstream>

#include "hipbroker/hipbroker.h"
#include "providers/host.h"
#include "support/fd_census.h"
#include "support/memfd.h"
#include "wire/unique_fd.h"

namespace hb::test {
namespace {

using client::Allocation;
using client::ImportedRange;
using client::RangeRequest;

// Mappings of files that are not program text.
std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:") != std::string::npos;
  return count;
}

// What lies at an address: "rw-s", "---p", "" for nothing.
std::string rights_at(const void* at) {
  std::ifstream maps("/proc/self/maps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(at);
  for (std::string line; std::getline(maps, line);) {
    unsigned long low = 0;
    unsigned long high = 0;
    char rights[5];
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &low, &high, rights) == 3 && low <= wanted && wanted < high)
      return rights;
  }
  return "";
}

class HostLife : public testing::Test {
 protected:
  void SetUp() override { before_ = mappings(); }
  void TearDown() override {
    EXPECT_EQ(mappings(), before_) << "mappings left";
    EXPECT_EQ(client::host_teardown_failures(), 0u);
  }
  std::unique_ptr<Allocation> allocate(std::uint64_t bytes, std::uint64_t chunk_bytes, std::uint64_t reserve,
                                       bool sealed = false) {
    client::AllocateRequest request;
    request.bytes = bytes;
    request.chunk_bytes = chunk_bytes;
    request.reserve_bytes = reserve;
    request.sealed = sealed;
    auto made = host_.allocate(request);
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }
  std::unique_ptr<ImportedRange> import(std::uint64_t bytes, std::uint64_t reserve, bool writable = false) {
    RangeRequest request;
    request.bytes = bytes;
    request.writable = writable;
    request.handle_kind = HB_KIND_MEMFD;
    request.reserve_bytes = reserve;
    auto begun = host_.begin_import(request);
    EXPECT_TRUE(begun) << begun.error().message;
    return std::move(*begun);
  }
  client::HostProvider host_;
  std::size_t before_ = 0;
};

ImportedRange::Part part_of(const Allocation& memory, std::size_t index, std::uint64_t at) {
  ImportedRange::Part part;
  part.object = memory.chunk(index);
  part.at = at;
  part.chunk = at / kPage;
  part.object_bytes = part.object.offset + part.object.bytes;
  return part;
}

char* bytes_of(const Allocation& memory) { return static_cast<char*>(memory.ptr()); }

TEST_F(HostLife, MemoryGrowsInPlaceAsFarAsItsAddressesGo) {
  const std::size_t fds = count_fds();
  const auto memory = allocate(3 * kPage, 2 * kPage, 6 * kPage);
  char* const base = bytes_of(*memory);
  EXPECT_EQ(memory->reserved_bytes(), 7 * kPage);  // whole chunks behind the short one
  EXPECT_EQ(memory->chunk_bytes(), 2 * kPage);
  base[2 * kPage] = 'x';
  ASSERT_TRUE(memory->grow(1));
  ASSERT_TRUE(memory->grow(2 * kPage));
  EXPECT_EQ(memory->ptr(), base);
  EXPECT_EQ(memory->bytes(), 7 * kPage);
  EXPECT_EQ(memory->chunk_count(), 4u);
  EXPECT_EQ(count_fds(), fds + 4);
  EXPECT_EQ(memory->chunk_bytes(), 0u);  // the short one is in the middle now
  base[7 * kPage - 1] = 'y';
  char byte = 0;
  EXPECT_EQ(::pread(memory->chunk(3).fd.get(), &byte, 1, 2 * kPage - 1), 1);
  EXPECT_EQ(byte, 'y');
  EXPECT_EQ(base[2 * kPage], 'x');
  const auto more = memory->grow(kPage);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().status, HB_RANGE);
  EXPECT_EQ(more.error().used, 8 * kPage);
  EXPECT_EQ(more.error().limit, 7 * kPage);
  EXPECT_NE(more.error().message.find("reserve_bytes"), std::string::npos) << more.error().message;
  EXPECT_EQ(memory->grow(0).error().status, HB_INVALID);
  EXPECT_EQ(memory->grow(UINT64_MAX).error().status, HB_RANGE);
  EXPECT_EQ(allocate(kPage, 0, 0)->grow(1).error().status, HB_RANGE);
}

TEST_F(HostLife, AGrowthWithoutDescriptorsAddsNothing) {
  const auto memory = allocate(kPage, kPage, 1000 * kPage);
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit few{64, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto refused = memory->grow(900 * kPage);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, HB_NO_FDS);
  EXPECT_EQ(refused.error().used, 900u);
  EXPECT_EQ(memory->bytes(), kPage);
}

TEST_F(HostLife, AsleepMeansGivenBackAndAwakeZeroedAtTheSameAddress) {
  const std::size_t fds = count_fds();
  const auto memory = allocate(2 * kPage, kPage, 3 * kPage, true);
  char* const base = bytes_of(*memory);
  base[kPage] = 'x';
  for (int nap = 0; nap < 2; ++nap) {
    memory->sleep();
    memory->sleep();  // it does already
    EXPECT_TRUE(memory->asleep());
    EXPECT_FALSE(memory->host_granted());
    EXPECT_EQ(mappings(), before_);
    EXPECT_EQ(count_fds(), fds);
    EXPECT_EQ(rights_at(base), "---p");
    EXPECT_EQ(rights_at(base + 3 * kPage - 1), "---p");
    EXPECT_EQ(memory->bytes(), 2 * kPage);
    EXPECT_EQ(memory->chunk(1).fd.get(), -1);
    EXPECT_EQ(memory->grow(1).error().status, HB_SUSPENDED);
    ASSERT_TRUE(memory->wake());
    ASSERT_TRUE(memory->wake());  // it is already
    EXPECT_FALSE(memory->asleep());
    EXPECT_EQ(memory->ptr(), base);
    EXPECT_EQ(base[kPage], 0);
    EXPECT_EQ(count_fds(), fds + 2);
    EXPECT_NE(::fcntl(memory->chunk(1).fd.get(), F_GET_SEALS) & 0x10, 0);  // F_SEAL_FUTURE_WRITE
    base[kPage] = 'y';
  }
  EXPECT_TRUE(memory->grow(1));
}

TEST_F(HostLife, AWakingThatFailsHalfWayLeavesItAsleep) {
  const std::size_t fds = count_fds();
  const auto memory = allocate(kPage, 0, 5 * kPage);
  ASSERT_TRUE(memory->grow(4 * kPage));
  memory->sleep();
  // The second chunk is too long a file now.
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{2 * kPage, limit.rlim_max};
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto refused = memory->wake();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  ::signal(SIGXFSZ, before);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().chunk, 1);
  EXPECT_EQ(refused.error().operation, "ftruncate");
  EXPECT_TRUE(memory->asleep());
  EXPECT_EQ(mappings(), before_);
  EXPECT_EQ(count_fds(), fds);
  EXPECT_EQ(rights_at(memory->ptr()), "---p");
  ASSERT_TRUE(memory->wake());
  bytes_of(*memory)[5 * kPage - 1] = 'x';
}

TEST_F(HostLife, AnImportGrowsAndAFailureLeavesWhatItHad) {
  const auto memory = allocate(2 * kPage, kPage, 4 * kPage);
  const auto range = import(2 * kPage, 4 * kPage);
  EXPECT_EQ(range->mapped().start, nullptr);
  for (std::size_t i = 0; i < 2; ++i) ASSERT_TRUE(range->map(part_of(*memory, i, i * kPage)));
  auto* const at = static_cast<char*>(range->ptr());
  EXPECT_EQ(range->mapped().bytes, 4 * kPage);
  bytes_of(*memory)[kPage] = 'b';
  // Neither one that is not sealed, nor one that the reader may not write, nor one too short.
  ASSERT_TRUE(memory->grow(2 * kPage));
  const UniqueFd loose = plain_memfd(kPage);
  auto wrong = part_of(*memory, 2, 2 * kPage);
  wrong.object.fd = loose;
  EXPECT_EQ(range->map(wrong).error().status, HB_BAD_HANDLE);
  wrong = part_of(*memory, 2, 2 * kPage);
  wrong.object_bytes = 2 * kPage;
  EXPECT_EQ(range->map(wrong).error().status, HB_RANGE);
  EXPECT_EQ(at[kPage], 'b');
  EXPECT_EQ(rights_at(at + 2 * kPage), "---p");
  // In the place where they should have gone:
  for (std::size_t i = 2; i < 4; ++i) ASSERT_TRUE(range->map(part_of(*memory, i, i * kPage)));
  EXPECT_EQ(range->ptr(), at);
  bytes_of(*memory)[3 * kPage] = 'd';
  EXPECT_EQ(at[3 * kPage], 'd');
  const auto over = range->map(part_of(*memory, 0, 4 * kPage));
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().status, HB_RANGE);
  EXPECT_EQ(over.error().limit, 4 * kPage);
  range->cut(2 * kPage);
  EXPECT_EQ(at[kPage], 'b');
  EXPECT_EQ(rights_at(at + 2 * kPage), "---p");
  EXPECT_EQ(rights_at(at + 4 * kPage - 1), "---p");
  ASSERT_TRUE(range->map(part_of(*memory, 2, 2 * kPage)));
}

TEST_F(HostLife, AChunkThatMayNotBeWrittenLeavesAHeldAddress) {
  const auto memory = allocate(kPage, kPage, 0);
  const auto sealed = allocate(kPage, kPage, 0, true);
  const auto range = import(kPage, 2 * kPage, true);
  ASSERT_TRUE(range->map(part_of(*memory, 0, 0)));
  EXPECT_EQ(range->map(part_of(*sealed, 0, kPage)).error().status, HB_READ_ONLY);
  EXPECT_EQ(rights_at(static_cast<char*>(range->ptr()) + kPage), "---p");
  EXPECT_EQ(range->replace(part_of(*sealed, 0, 0)).error().status, HB_READ_ONLY);
  bytes_of(*memory)[0] = 'a';
  EXPECT_EQ(static_cast<char*>(range->ptr())[0], 'a');
}

TEST_F(HostLife, AChunkTakesThePlaceOfAnother) {
  const auto memory = allocate(3 * kPage, kPage, 0);
  const auto other = allocate(kPage, kPage, 0);
  const auto range = import(3 * kPage, 0);
  for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(range->map(part_of(*memory, i, i * kPage)));
  auto* const at = static_cast<char*>(range->ptr());
  for (std::size_t i = 0; i < 3; ++i) bytes_of(*memory)[i * kPage] = static_cast<char>('a' + i);
  bytes_of(*other)[0] = 'x';
  ASSERT_TRUE(range->replace(part_of(*other, 0, kPage)));
  EXPECT_EQ(std::string({at[0], at[kPage], at[2 * kPage]}), "axc");
  auto wrong = part_of(*other, 0, kPage / 2);
  EXPECT_EQ(range->replace(wrong).error().status, HB_INVALID);
  wrong = part_of(*other, 0, 0);
  wrong.object.bytes = kPage / 2;
  const auto shorter = range->replace(wrong);
  ASSERT_FALSE(shorter);
  EXPECT_EQ(shorter.error().status, HB_UNSUPPORTED);
  EXPECT_EQ(shorter.error().used, kPage / 2);
  const UniqueFd loose = plain_memfd(kPage);
  wrong = part_of(*other, 0, 0);
  wrong.object.fd = loose;
  EXPECT_EQ(range->replace(wrong).error().status, HB_BAD_HANDLE);
  EXPECT_EQ(at[0], 'a');
}

TEST_F(HostLife, AnImportSleepsAndIsMappedAgainAtItsAddress) {
  const auto memory = allocate(2 * kPage, kPage, 0);
  // One that fills its range in one mapping, too.
  for (const std::uint64_t reserve : {3 * kPage, 2 * kPage, kPage}) {
    const std::size_t chunks = reserve == kPage ? 1 : 2;
    const auto range = import(chunks * kPage, reserve);
    for (std::size_t i = 0; i < chunks; ++i) ASSERT_TRUE(range->map(part_of(*memory, i, i * kPage)));
    auto* const at = static_cast<char*>(range->ptr());
    range->sleep();
    EXPECT_EQ(mappings(), before_ + 2);  // the owner's
    EXPECT_EQ(range->ptr(), at);
    EXPECT_EQ(range->mapped().start, at);
    EXPECT_EQ(range->mapped().bytes, reserve);
    EXPECT_EQ(rights_at(at), "---p");
    EXPECT_EQ(range->map(part_of(*memory, 0, 0)).error().status, HB_SUSPENDED);
    ASSERT_TRUE(range->wake());
    for (std::size_t i = 0; i < chunks; ++i) ASSERT_TRUE(range->map(part_of(*memory, i, i * kPage)));
    EXPECT_EQ(rights_at(at), "r--s");
    bytes_of(*memory)[0] = static_cast<char>('a' + chunks);
    EXPECT_EQ(at[0], 'a' + static_cast<char>(chunks));
  }
}

TEST_F(HostLife, MoreAddressesThanAnyExportHasAreRefused) {
  client::AllocateRequest request;
  request.bytes = kPage;
  request.reserve_bytes = UINT64_MAX;
  EXPECT_EQ(host_.allocate(request).error().status, HB_RANGE);
  RangeRequest range;
  range.bytes = kPage;
  range.reserve_bytes = UINT64_MAX;
  EXPECT_EQ(host_.begin_import(range).error().status, HB_RANGE);
}

}  // namespace
}  // namespace hb::test
