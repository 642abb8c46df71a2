// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The buffer that packets are received into, in memory that outlives the process. A packet that was taken out
// of its socket by a daemon that then ended is nowhere else: the next one finds it here.
//
// That counts for one-way frames, which nobody waits for and nobody sends again. What brought descriptors was
// lost with them, and every other request is sent again by its client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "os/memory_region.h"
#include "wire/limits.h"

namespace hb::restart {

class Inbox {
 public:
  static constexpr std::size_t kBufferAt = 64;
  static constexpr std::size_t kBytes = kBufferAt + limits::kFrameBytes;

  Inbox();  // in memory that ends with the process
  // Of kBytes at least.
  explicit Inbox(os::MemoryRegion region) : region_(std::move(region)) {}

  // A whole frame.
  [[nodiscard]] std::span<std::byte> buffer() { return memory().subspan(kBufferAt, limits::kFrameBytes); }
  // Around one packet: what comes next is of that session; it was carried out. Neither makes a system call.
  void expect(std::uint64_t session);
  void done();

  struct Left {
    std::uint64_t session = 0;
    std::span<const std::byte> frame;  // as long as its header says
  };
  // What a daemon that ended had not carried out, perhaps.
  [[nodiscard]] std::optional<Left> left();

 private:
  [[nodiscard]] std::span<std::byte> memory() {
    return region_ ? region_.bytes().first(kBytes) : std::span<std::byte>(own_);
  }

  os::MemoryRegion region_;
  std::vector<std::byte> own_;
};

}  // namespace hb::restart
