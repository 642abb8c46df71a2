// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/validity_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "wire/limits.h"

namespace hb::os {
namespace {

constexpr std::size_t kBytes = std::size_t{limits::kSessionLeases} * sizeof(std::uint32_t);

}  // namespace

tl::expected<ValidityPage::Made, SysError> ValidityPage::make() {
  UniqueFd memory(::memfd_create("hipbroker-validity", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return tl::unexpected(SysError::last("memfd_create"));
  if (::ftruncate(memory.get(), static_cast<off_t>(kBytes)) != 0) {
    return tl::unexpected(SysError::last("ftruncate"));
  }
  void* address = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (address == MAP_FAILED) return tl::unexpected(SysError::last("mmap"));
  Made made;
  made.page.words_ = static_cast<std::uint32_t*>(address);
  // After the mapping: F_SEAL_FUTURE_WRITE leaves the writable mapping that exists and allows no other.
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
  if (::fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) {
    return tl::unexpected(SysError::last("fcntl(F_ADD_SEALS)"));
  }
  made.descriptor = std::move(memory);
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
