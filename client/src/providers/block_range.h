// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Addresses that are reserved once, in blocks of one size, each with memory of its own or with none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "error.h"
#include "providers/placement.h"
#include "wire/unique_fd.h"

namespace hb::client {

// Different blocks may be mapped, unmapped and exported by different threads at once. One block: by one.
class BlockRange {
 public:
  virtual ~BlockRange() = default;  // unmaps and gives back everything

  [[nodiscard]] virtual char* base() const = 0;
  [[nodiscard]] virtual std::uint64_t block_bytes() const = 0;
  [[nodiscard]] virtual std::size_t block_count() const = 0;

  // HB_NO_FDS unless this process has room for what so many more mapped blocks cost.
  [[nodiscard]] virtual Result<void> check_room(std::uint64_t blocks, const std::string& doing) const = 0;
  // New memory, and access for everybody who was to have it. After an error the block is as before.
  [[nodiscard]] virtual Result<void> map_block(std::size_t index) = 0;
  // Gives its memory back. False: nothing can be mapped there any more.
  [[nodiscard]] virtual bool unmap_block(std::size_t index) noexcept = 0;

  // Of a mapped block. Kept open as long as it is mapped; none where export_block() makes them.
  [[nodiscard]] virtual BorrowedFd descriptor(std::size_t index) const = 0;
  [[nodiscard]] virtual Result<UniqueFd> export_block(std::size_t index) = 0;
  [[nodiscard]] virtual std::uint32_t handle_kind() const = 0;  // as Allocation's
  [[nodiscard]] virtual const DeviceId& device() const = 0;
  [[nodiscard]] virtual int ordinal() const = 0;
  [[nodiscard]] virtual std::vector<PeerGrant> peers() const = 0;
  // Whether the CPU may use it; known with the first block that was mapped, false before.
  [[nodiscard]] virtual bool host_granted() const = 0;
  // Whether memory that is unmapped returns to the system while the addresses stay.
  [[nodiscard]] virtual bool gives_back() const = 0;

  // In a forked child: what is here is the parent's.
  virtual void forget() noexcept = 0;
};

}  // namespace hb::client
