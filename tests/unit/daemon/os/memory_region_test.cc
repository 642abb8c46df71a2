// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/memory_region.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/memfd.h"
#include "support/temp_dir.h"

namespace hb::test {
namespace {

using os::MemoryRegion;

// tmpfs on every machine that this runs on; TempDir is below /tmp, which need not be.
class MemoryFile : public testing::Test {
 protected:
  MemoryFile() { std::filesystem::create_directory(dir_); }
  ~MemoryFile() override { std::filesystem::remove_all(dir_); }
  const std::string dir_ = "/dev/shm/hbtest-region-" + std::to_string(::getpid());
};

TEST(MemoryRegion, GrowsAndIsAdoptedWithWhatItHolds) {
  auto made = MemoryRegion::make("hbtest", 8192);
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(made->size(), 8192u);
  made->bytes()[5] = std::byte{7};
  ASSERT_TRUE(made->grow(1 << 20));
  ASSERT_TRUE(made->grow(10)) << "never smaller";
  EXPECT_EQ(made->size(), 1u << 20);
  EXPECT_EQ(made->bytes()[5], std::byte{7});
  EXPECT_EQ(made->bytes()[(1 << 20) - 1], std::byte{0});
  made->bytes()[(1 << 20) - 1] = std::byte{9};
  auto adopted = MemoryRegion::adopt(UniqueFd(::dup(made->descriptor().get())), 8192);
  ASSERT_TRUE(adopted) << adopted.error();
  EXPECT_EQ(adopted->size(), 1u << 20);
  EXPECT_EQ(adopted->bytes()[(1 << 20) - 1], std::byte{9});
  *made = MemoryRegion();
  adopted->bytes()[0] = std::byte{1};
  ASSERT_TRUE(adopted->grow(2 << 20));
}

TEST(MemoryRegion, EveryPageIsThereBeforeItIsTouched) {
  auto made = MemoryRegion::make("hbtest", 1 << 20);
  ASSERT_TRUE(made);
  struct stat status {};
  ASSERT_EQ(::fstat(made->descriptor().get(), &status), 0);
  EXPECT_EQ(status.st_blocks * 512, 1 << 20);
}

TEST(MemoryRegion, NobodyMakesItSmaller) {
  auto made = MemoryRegion::make("hbtest", 8192);
  ASSERT_TRUE(made);
  EXPECT_NE(::ftruncate(made->descriptor().get(), 4096), 0);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(::fcntl(made->descriptor().get(), F_ADD_SEALS, F_SEAL_GROW), 0);
  EXPECT_TRUE(made->grow(16'384));
}

TEST(MemoryRegion, WhatIsNotOfMakeIsNotAdopted) {
  const auto refusal = [](UniqueFd fd, std::size_t least = 4096) {
    auto adopted = MemoryRegion::adopt(std::move(fd), least);
    return adopted ? std::string("adopted") : adopted.error();
  };
  EXPECT_NE(refusal(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC))).find("no memfd"), std::string::npos);
  EXPECT_NE(refusal(plain_memfd(8192)).find("F_SEAL_SHRINK is not set"), std::string::npos);
  EXPECT_NE(refusal(sealed_memfd(8192, 1, F_SEAL_SHRINK | F_SEAL_WRITE)).find("sealed against writing"),
            std::string::npos);
  EXPECT_NE(
      refusal(reopen(sealed_memfd(8192, 1, F_SEAL_SHRINK).get(), O_RDONLY)).find("not open for writing"),
      std::string::npos);
  EXPECT_NE(refusal(sealed_memfd(4096, 1, F_SEAL_SHRINK), 8192).find("it has 4096 bytes, at least 8192"),
            std::string::npos);
  EXPECT_NE(refusal(sealed_memfd(0, 1, F_SEAL_SHRINK), 0).find("0 bytes"), std::string::npos);
}

TEST_F(MemoryFile, AFileOnTmpfsHoldsWhatWasWritten) {
  auto first = MemoryRegion::open_file(dir_, "records", 8192);
  ASSERT_TRUE(first) << first.error();
  EXPECT_TRUE(first->made);
  first->region.bytes()[100] = std::byte{3};
  ASSERT_TRUE(first->region.grow(65'536));
  struct stat status {};
  ASSERT_EQ(::stat((dir_ + "/records").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  auto second = MemoryRegion::open_file(dir_, "records", 8192);
  ASSERT_TRUE(second) << second.error();
  EXPECT_FALSE(second->made);
  EXPECT_EQ(second->region.size(), 65'536u);
  EXPECT_EQ(second->region.bytes()[100], std::byte{3});
}

TEST_F(MemoryFile, ALinkOrAFileOfOthersIsRefused) {
  ASSERT_EQ(::symlink("/dev/null", (dir_ + "/link").c_str()), 0);
  auto link = MemoryRegion::open_file(dir_, "link", 8192);
  ASSERT_FALSE(link);
  EXPECT_NE(link.error().find("ELOOP"), std::string::npos) << link.error();
  write_file(dir_ + "/open", "x");
  auto open = MemoryRegion::open_file(dir_, "open", 8192);
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().find("mode 0600"), std::string::npos) << open.error();
  ASSERT_EQ(::mkfifo((dir_ + "/fifo").c_str(), 0600), 0);
  EXPECT_FALSE(MemoryRegion::open_file(dir_, "fifo", 8192));
}

TEST(MemoryRegion, ADirectoryOnADiskIsRefusedAndNothingIsMadeThere) {
  // /proc/self is no disk, and no memory to write to either; a build directory may lie on tmpfs.
  auto refused = MemoryRegion::open_file("/proc/self", "records", 8192);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("not below /run or on another tmpfs"), std::string::npos) << refused.error();
}

}  // namespace
}  // namespace hb::test
