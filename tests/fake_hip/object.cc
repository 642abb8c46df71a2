// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "object.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "accounting.h"
#include "fd_vault.h"

namespace hb::fakehip {
namespace {

constexpr const char* kPrefix = "/memfd:fakehip.";
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

int cpu_protection(int flags) {
  return flags == kProtReadWrite ? PROT_READ | PROT_WRITE : flags == kProtRead ? PROT_READ : PROT_NONE;
}

}  // namespace

std::shared_ptr<BufferObject> BufferObject::create(FdVault& vault, std::uint32_t machine, int line,
                                                   std::size_t size, UniqueFd* keep) {
  static std::uint64_t next = 1;
  const std::uint64_t number = next++;
  UniqueFd fd(::memfd_create(("fakehip." + std::to_string(line) + "." + std::to_string(number)).c_str(),
                             MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd && fd.get() < 3) fd = fd.duplicate();
  struct stat status = {};
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0 || !account(fd.get(), machine, line, size) ||
      ::fstat(fd.get(), &status) != 0)
    return nullptr;
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
  if (at == MAP_FAILED) return nullptr;
  std::shared_ptr<BufferObject> object(new BufferObject);
  object->bytes = static_cast<std::byte*>(at);
  object->size = size;
  object->line = line;
  object->number = number;
  object->inode = status.st_ino;
  if (keep != nullptr) {
    *keep = std::move(fd);
  } else if (vault.put(number, std::move(fd))) {
    object->vault_ = &vault;
  } else {
    return nullptr;
  }
  return object;
}

std::shared_ptr<BufferObject> BufferObject::open(int fd, std::size_t device_count) {
  char target[256] = {};
  struct stat status = {};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  if (::readlink(link.c_str(), target, sizeof target - 1) < 0 || ::fstat(fd, &status) != 0) return nullptr;
  errno = EINVAL;
  if (std::strncmp(target, kPrefix, std::strlen(kPrefix)) != 0) return nullptr;
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) return nullptr;
  const int line = std::atoi(target + std::strlen(kPrefix));
  if (line != kHostLine && (line < 0 || static_cast<std::size_t>(line) >= device_count)) {
    errno = ENODEV;
    return nullptr;
  }
  const std::size_t size = static_cast<std::size_t>(status.st_size);
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (at == MAP_FAILED) return nullptr;
  std::shared_ptr<BufferObject> object(new BufferObject);
  object->bytes = static_cast<std::byte*>(at);
  object->size = size;
  object->line = line;
  object->inode = status.st_ino;
  return object;
}

BufferObject::~BufferObject() {
  if (bytes != nullptr) ::munmap(bytes, size);
  if (vault_ != nullptr) vault_->drop(number);
}

UniqueFd BufferObject::descriptor() const {
  if (vault_ != nullptr) return vault_->get(number);
  errno = EOPNOTSUPP;
  return {};
}

bool BufferObject::show_to_cpu(void* at, std::size_t offset, std::size_t length, int flags) const {
  if (flags == kProtNone)
    return ::mmap(at, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) !=
           MAP_FAILED;
  // An old size of 0 duplicates a shared mapping: no descriptor is needed, imports keep none.
  if (::mremap(bytes + offset, 0, length, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED) return false;
  return ::mprotect(at, length, cpu_protection(flags)) == 0;
}

bool BufferObject::same_file(int fd) const {
  struct stat status = {};
  char target[64] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  return ::fstat(fd, &status) == 0 && status.st_ino == inode &&
         ::readlink(link.c_str(), target, sizeof target - 1) > 0 &&
         std::strncmp(target, kPrefix, std::strlen(kPrefix)) == 0;
}

}  // namespace hb::fakehip
