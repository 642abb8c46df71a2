// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/memory_region.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "wire/name.h"
#include "wire/sys_error.h"

namespace hb::os {
namespace {

// Nobody makes it smaller under a mapping, and nobody adds a seal that would keep it from growing.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_SEAL;

tl::unexpected<std::string> failed(const std::string& what, const char* operation) {
  return tl::unexpected(what + ": " + SysError::last(operation).text());
}

// A hole would be filled at the first touch, and where there is no memory for it that is SIGBUS.
tl::expected<void, std::string> allocate(int memory, std::size_t from, std::size_t to,
                                         const std::string& what) {
  if (from >= to) return {};
  const auto offset = static_cast<off_t>(from);
  const auto bytes = static_cast<off_t>(to - from);
  int result = 0;
  do {
    result = ::fallocate(memory, 0, offset, bytes);
  } while (result != 0 && errno == EINTR);
  // ramfs has no such call; it has no limit either.
  if (result != 0 && errno == EOPNOTSUPP) result = ::ftruncate(memory, static_cast<off_t>(to));
  if (result == 0) return {};
  const SysError error = SysError::last("fallocate");
  return tl::unexpected(what + ": " + error.text() + " growing from " + std::to_string(from) + " to " +
                        std::to_string(to) +
                        " bytes; free memory, or raise the limit of its filesystem or "
                        "of the unit (MemoryMax=)");
}

}  // namespace

tl::expected<MemoryRegion, std::string> MemoryRegion::map(UniqueFd memory, std::size_t bytes,
                                                          std::string what) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (address == MAP_FAILED) return failed(what, "mmap");
  MemoryRegion region;
  region.memory_ = std::move(memory);
  region.address_ = static_cast<std::byte*>(address);
  region.size_ = bytes;
  region.what_ = std::move(what);
  return region;
}

tl::expected<MemoryRegion, std::string> MemoryRegion::make(const char* name, std::size_t bytes) {
  std::string what = "memory \"" + escape_for_display(name) + "\"";
  UniqueFd memory(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return failed(what, "memfd_create");
  if (auto allocated = allocate(memory.get(), 0, bytes, what); !allocated) {
    return tl::unexpected(std::move(allocated.error()));
  }
  if (::fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) return failed(what, "fcntl(F_ADD_SEALS)");
  return map(std::move(memory), bytes, std::move(what));
}

tl::expected<MemoryRegion, std::string> MemoryRegion::adopt(UniqueFd memory, std::size_t least) {
  std::string what = "inherited memory (descriptor " + std::to_string(memory.get()) + ")";
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0) return failed(what + ": no memfd", "fcntl(F_GET_SEALS)");
  if ((seals & F_SEAL_SHRINK) == 0) {
    return tl::unexpected(what + ": it can be made smaller under a mapping (F_SEAL_SHRINK is not set)");
  }
  if ((seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0) {
    return tl::unexpected(what + ": it is sealed against writing");
  }
  const int flags = ::fcntl(memory.get(), F_GETFL);
  if (flags < 0) return failed(what, "fcntl(F_GETFL)");
  if ((flags & O_ACCMODE) != O_RDWR) return tl::unexpected(what + ": it is not open for writing");
  struct stat status {};
  if (::fstat(memory.get(), &status) != 0) return failed(what, "fstat");
  if (!S_ISREG(status.st_mode)) return tl::unexpected(what + ": no regular file");
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes < least || bytes == 0) {
    return tl::unexpected(what + ": it has " + std::to_string(bytes) + " bytes, at least " +
                          std::to_string(least) + " are needed");
  }
  return map(std::move(memory), bytes, std::move(what));
}

tl::expected<MemoryRegion::Opened, std::string> MemoryRegion::open_file(const std::string& directory,
                                                                        const std::string& name,
                                                                        std::size_t bytes) {
  std::string what = "\"" + escape_for_display(directory + "/" + name) + "\"";
  const UniqueFd place(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!place) return failed(what, "open of its directory");
  struct statfs filesystem {};
  if (::fstatfs(place.get(), &filesystem) != 0) return failed(what, "fstatfs");
  if (filesystem.f_type != TMPFS_MAGIC && filesystem.f_type != RAMFS_MAGIC) {
    return tl::unexpected(
        "the admin socket is not below /run or on another tmpfs, and secrets never reach a disk (" + what +
        ")");
  }
  constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  UniqueFd memory(::openat(place.get(), name.c_str(), kFlags, 0600));
  if (!memory) return failed(what, "openat");
  struct stat status {};
  if (::fstat(memory.get(), &status) != 0) return failed(what, "fstat");
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1) {
    return tl::unexpected(what + ": no regular file of one name; remove it: it is then made anew");
  }
  if (status.st_uid != ::geteuid() || (status.st_mode & 0077) != 0) {
    return tl::unexpected(what + ": it must be uid " + std::to_string(::geteuid()) +
                          "'s alone (mode 0600), it is uid " + std::to_string(status.st_uid) +
                          "'s; remove it: it is then made anew");
  }
  Opened opened;
  opened.made = status.st_size == 0;
  auto size = static_cast<std::size_t>(status.st_size);
  if (opened.made) {
    if (auto allocated = allocate(memory.get(), 0, bytes, what); !allocated) {
      return tl::unexpected(std::move(allocated.error()));
    }
    size = bytes;
  }
  auto region = map(std::move(memory), size, std::move(what));
  if (!region) return tl::unexpected(std::move(region.error()));
  opened.region = std::move(*region);
  return opened;
}

tl::expected<void, std::string> MemoryRegion::grow(std::size_t bytes) {
  if (bytes <= size_) return {};
  if (address_ == nullptr) return tl::unexpected(std::string("no memory to grow"));
  if (auto allocated = allocate(memory_.get(), size_, bytes, what_); !allocated) return allocated;
  void* address = ::mremap(address_, size_, bytes, MREMAP_MAYMOVE);
  if (address == MAP_FAILED) return failed(what_, "mremap");
  address_ = static_cast<std::byte*>(address);
  size_ = bytes;
  return {};
}

MemoryRegion::MemoryRegion(MemoryRegion&& other) noexcept
    : memory_(std::move(other.memory_)),
      address_(std::exchange(other.address_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      what_(std::move(other.what_)) {}

MemoryRegion& MemoryRegion::operator=(MemoryRegion&& other) noexcept {
  if (this != &other) {
    if (address_ != nullptr) ::munmap(address_, size_);
    memory_ = std::move(other.memory_);
    address_ = std::exchange(other.address_, nullptr);
    size_ = std::exchange(other.size_, 0);
    what_ = std::move(other.what_);
  }
  return *this;
}

MemoryRegion::~MemoryRegion() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

}  // namespace hb::os
