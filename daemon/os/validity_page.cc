// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/validity_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <utility>

#include "wire/limits.h"

namespace hb::os {
namespace {

constexpr std::size_t kBytes = std::size_t{limits::kSessionLeases} * sizeof(std::uint32_t);

}  // namespace

tl::expected<ValidityPage, SysError> ValidityPage::map(BorrowedFd memory) {
  void* address = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (address == MAP_FAILED) return tl::unexpected(SysError::last("mmap"));
  ValidityPage page;
  page.words_ = static_cast<std::uint32_t*>(address);
  return page;
}

tl::expected<ValidityPage, SysError> ValidityPage::adopt(BorrowedFd memory) {
  struct stat status {};
  if (::fstat(memory.get(), &status) != 0) return tl::unexpected(SysError::last("fstat"));
  if (static_cast<std::size_t>(status.st_size) != kBytes) return tl::unexpected(SysError{"fstat", EINVAL});
  return map(memory);
}

tl::expected<ValidityPage::Made, SysError> ValidityPage::make(Lives lives) {
  UniqueFd memory(::memfd_create("hipbroker-validity", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return tl::unexpected(SysError::last("memfd_create"));
  if (::ftruncate(memory.get(), static_cast<off_t>(kBytes)) != 0) {
    return tl::unexpected(SysError::last("ftruncate"));
  }
  auto page = map(memory);
  if (!page) return tl::unexpected(page.error());
  Made made;
  made.page = std::move(*page);
  // After the mapping: F_SEAL_FUTURE_WRITE leaves the writable mapping that exists and allows no other, not
  // even that of the next daemon. Where there is to be one, the reader gets a descriptor that cannot be
  // written, and a file that its uid cannot open again. The daemon's own uid and root can: they would deceive
  // nobody but the one session that reads these words.
  int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (lives == Lives::kWithProcess) seals |= F_SEAL_FUTURE_WRITE;
  if (::fcntl(memory.get(), F_ADD_SEALS, seals) != 0) {
    return tl::unexpected(SysError::last("fcntl(F_ADD_SEALS)"));
  }
  if (lives == Lives::kWithProcess) {
    made.descriptor = std::move(memory);
    return made;
  }
  if (::fchmod(memory.get(), 0400) != 0) return tl::unexpected(SysError::last("fchmod"));
  const std::string path = "/proc/self/fd/" + std::to_string(memory.get());
  made.descriptor = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!made.descriptor) return tl::unexpected(SysError::last("open(/proc/self/fd)"));
  made.memory = std::move(memory);
  return made;
}

ValidityPage::ValidityPage(ValidityPage&& other) noexcept : words_(std::exchange(other.words_, nullptr)) {}

ValidityPage& ValidityPage::operator=(ValidityPage&& other) noexcept {
  if (this != &other) {
    if (words_ != nullptr) ::munmap(words_, kBytes);
    words_ = std::exchange(other.words_, nullptr);
  }
  return *this;
}

ValidityPage::~ValidityPage() {
  if (words_ != nullptr) ::munmap(words_, kBytes);
}

void ValidityPage::store(std::uint32_t slot, std::uint32_t value) {
  if (words_ == nullptr || slot >= limits::kSessionLeases) return;
  std::atomic_ref<std::uint32_t>(words_[slot]).store(value, std::memory_order_release);
}

std::uint32_t ValidityPage::load(std::uint32_t slot) const {
  if (words_ == nullptr || slot >= limits::kSessionLeases) return 0;
  return std::atomic_ref<std::uint32_t>(words_[slot]).load(std::memory_order_relaxed);
}

void ValidityPage::clear(std::uint32_t slots) {
  for (std::uint32_t slot = 0; slot < slots; ++slot) store(slot, 0);
}

}  // namespace hb::os
