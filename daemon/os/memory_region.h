// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Mapped memory that outlives the process: a memfd that a service manager keeps, or a file on a filesystem
// that is memory. Every page of it exists before it is touched: where memory runs out, grow() says so, and no
// store ends in SIGBUS.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "wire/expected.h"
#include "wire/unique_fd.h"

namespace hb::os {

class MemoryRegion {
 public:
  struct Opened;

  // An empty (all zero) memfd. It can grow, and nobody can make it smaller. `name` shows in /proc/PID/maps.
  [[nodiscard]] static tl::expected<MemoryRegion, std::string> make(const char* name, std::size_t bytes);
  // One that make() made in another process. The error says what it is instead. Its size is what it is now;
  // of `least` bytes at least.
  [[nodiscard]] static tl::expected<MemoryRegion, std::string> adopt(UniqueFd memory, std::size_t least);
  // The file `name` in `directory`, mode 0600 and the process's own; made with `bytes` zeros where there is
  // none. Only on tmpfs or ramfs: what is in it must never reach a disk.
  [[nodiscard]] static tl::expected<Opened, std::string> open_file(const std::string& directory,
                                                                   const std::string& name,
                                                                   std::size_t bytes);

  MemoryRegion() = default;
  MemoryRegion(MemoryRegion&& other) noexcept;
  MemoryRegion& operator=(MemoryRegion&& other) noexcept;
  MemoryRegion(const MemoryRegion&) = delete;
  MemoryRegion& operator=(const MemoryRegion&) = delete;
  ~MemoryRegion();  // unmaps; what it held stays with whoever else holds the memory

  [[nodiscard]] explicit operator bool() const { return address_ != nullptr; }
  // To `bytes` or more; new bytes are 0. Addresses change. On an error all is as before.
  [[nodiscard]] tl::expected<void, std::string> grow(std::size_t bytes);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<std::byte> bytes() { return {address_, size_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {address_, size_}; }
  [[nodiscard]] BorrowedFd descriptor() const { return memory_; }

 private:
  [[nodiscard]] static tl::expected<MemoryRegion, std::string> map(UniqueFd memory, std::size_t bytes,
                                                                   std::string what);
  UniqueFd memory_;
  std::byte* address_ = nullptr;
  std::size_t size_ = 0;
  std::string what_;  // for errors: which memory it is
};

struct MemoryRegion::Opened {
  MemoryRegion region;
  bool made = false;  // there was none, or an empty one
};

}  // namespace hb::os
