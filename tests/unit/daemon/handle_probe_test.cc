// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/handle_probe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "support/memfd.h"
#include "support/temp_dir.h"

namespace hb::test {
namespace {

tl::expected<core::HandleFacts, os::ProbeRefusal> probe(const UniqueFd& fd,
                                                        const std::vector<os::DriverRule>& allowed = {}) {
  return os::probe_handle(fd, allowed);
}

void expect_refused(const UniqueFd& fd, const std::string& reason, bool may_block) {
  ASSERT_TRUE(fd) << reason;
  const auto probed = probe(fd);
  ASSERT_FALSE(probed) << reason;
  EXPECT_NE(probed.error().reason.find(reason), std::string::npos) << probed.error().reason;
  EXPECT_EQ(probed.error().may_block, may_block) << probed.error().reason;
}

// Every combination of the five seals: admitted exactly when the three demanded ones are there, and every one
// that is missing is named.
TEST(HandleProbe, EverySealCombination) {
  constexpr std::array<std::pair<int, const char*>, 3> kDemanded{
      {{F_SEAL_SHRINK, "F_SEAL_SHRINK"}, {F_SEAL_GROW, "F_SEAL_GROW"}, {F_SEAL_SEAL, "F_SEAL_SEAL"}}};
  constexpr std::array<int, 5> kSeals{F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE,
                                      F_SEAL_FUTURE_WRITE};
  for (unsigned set = 0; set < 32; ++set) {
    int seals = 0;
    for (std::size_t i = 0; i < kSeals.size(); ++i) {
      if ((set >> i & 1) != 0) seals |= kSeals[i];
    }
    const UniqueFd memory = plain_memfd(3 * kPage);
    ASSERT_EQ(::fcntl(memory.get(), F_ADD_SEALS, seals), 0);
    const auto probed = probe(memory);
    const bool complete = (seals & kDaemonSeals) == kDaemonSeals;
    ASSERT_EQ(probed.has_value(), complete) << "seals " << seals;
    if (complete) {
      const bool sealed = (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0;
      EXPECT_EQ(probed->kind, core::HandleKind::kMemfd);
      EXPECT_EQ(probed->sealed, sealed);
      EXPECT_EQ(probed->writable, !sealed);
      EXPECT_TRUE(probed->size_known && probed->identity_known);
      EXPECT_EQ(probed->size, 3 * kPage);
      continue;
    }
    for (const auto& [bit, name] : kDemanded) {
      EXPECT_EQ(probed.error().reason.find(name) == std::string::npos, (seals & bit) != 0)
          << "seals " << seals << ": " << probed.error().reason;
    }
    EXPECT_FALSE(probed.error().may_block);
  }
}

TEST(HandleProbe, ReadOnlyDescriptorIsNotWritableAndHasTheSameIdentity) {
  const UniqueFd memory = sealed_memfd(kPage, 1);
  const UniqueFd again = reopen(memory.get(), O_RDONLY | O_CLOEXEC);
  const UniqueFd other = sealed_memfd(kPage, 1);
  const auto first = probe(memory);
  const auto second = probe(again);
  const auto third = probe(other);
  ASSERT_TRUE(first && second && third);
  EXPECT_TRUE(first->writable);
  EXPECT_FALSE(second->writable);
  EXPECT_EQ(first->inode, second->inode);
  EXPECT_EQ(first->device, second->device);
  EXPECT_NE(first->inode, third->inode);
}

TEST(HandleProbe, MemoryThatCannotBeSealed) {
  expect_refused(plain_memfd(kPage, MFD_CLOEXEC), "MFD_ALLOW_SEALING", false);
  const UniqueFd memory = sealed_memfd(kPage, 1);
  expect_refused(reopen(memory.get(), O_WRONLY | O_CLOEXEC), "writing only", false);
  expect_refused(reopen(memory.get(), O_PATH | O_CLOEXEC), "O_PATH", true);
}

TEST(HandleProbe, HugePagesAreRefused) {
  const UniqueFd memory(::memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
  if (!memory) {
    // A kernel without huge pages makes no such memfd: then none can arrive either.
    ASSERT_TRUE(errno == ENOSYS || errno == EINVAL || errno == ENODEV || errno == ENOENT) << errno;
    return;
  }
  ASSERT_EQ(::fcntl(memory.get(), F_ADD_SEALS, kDaemonSeals), 0);
  expect_refused(memory, "hugetlbfs", false);
}

// readlink shows "/dmabuf:" for it, as for a dma-buf.
TEST(HandleProbe, TmpfsFileThatLooksLikeADmaBuf) {
  const std::string path = "/dev/shm/dmabuf:" + std::to_string(::getpid());
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  ASSERT_TRUE(file);
  ::unlink(path.c_str());
  ASSERT_EQ(::ftruncate(file.get(), kPage), 0);
  expect_refused(file, "F_SEAL_SHRINK, F_SEAL_GROW missing", false);
}

TEST(HandleProbe, FileOfADiskThatLooksLikeADmaBuf) {
  const TempDir directory;
  const std::string path = directory / "dmabuf:";
  expect_refused(UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)), "a file", true);
}

TEST(HandleProbe, WhatIsNoMemory) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd read(ends[0]);
  const UniqueFd write(ends[1]);
  expect_refused(read, "a pipe", true);
  expect_refused(write, "writing only", true);
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd left(ends[0]);
  const UniqueFd right(ends[1]);
  expect_refused(left, "a socket", true);
  expect_refused(UniqueFd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), "a directory", true);
  expect_refused(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)), "the character device 1:3", true);
  expect_refused(UniqueFd(::eventfd(0, EFD_CLOEXEC)), "an anonymous file \"[eventfd]\"", true);
}

TEST(HandleProbe, DriverHandlesByConfigurationOnly) {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd zero(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  os::DriverRule device;
  device.major = 1;
  device.minor = 3;
  os::DriverRule anonymous;
  anonymous.kind = os::DriverRule::Kind::kAnonymous;
  anonymous.name = "[eventfd]";
  const auto admitted = probe(null, {device});
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->kind, core::HandleKind::kDriver);
  EXPECT_FALSE(admitted->size_known);
  EXPECT_FALSE(admitted->identity_known);
  EXPECT_TRUE(admitted->writable);
  EXPECT_FALSE(probe(zero, {device}));
  EXPECT_TRUE(probe(event, {device, anonymous}));
  EXPECT_FALSE(probe(event, {device}));
}

TEST(HandleProbe, ReopenFactsShowModeAndOwner) {
  const UniqueFd memory = sealed_memfd(kPage, 1);
  ASSERT_EQ(::fchmod(memory.get(), 0444), 0);
  const auto facts = os::reopen_facts(memory);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->mode, 0444u);
  EXPECT_EQ(facts->owner_uid, ::geteuid());
}

}  // namespace
}  // namespace hb::test
