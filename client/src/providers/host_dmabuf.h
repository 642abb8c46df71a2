// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Host memory as real dma-bufs: the kernel's udmabuf device makes one of the pages of a memfd.
#pragma once

#include <cstdint>
#include <string>

#include "error.h"
#include "wire/unique_fd.h"

namespace hb::client {

class DmabufMaker {
 public:
  // HB_UNSUPPORTED: this kernel has no /dev/udmabuf. HB_DENIED: it may not be opened.
  [[nodiscard]] static Result<DmabufMaker> open();
  // HB_RANGE with the limit of the kernel for one dma-buf.
  [[nodiscard]] Result<void> check_size(std::uint64_t bytes) const;
  // All of a memfd that is sealed against shrinking and, as the kernel demands, not against writing. It keeps
  // the pages; the memfd may be closed.
  [[nodiscard]] Result<UniqueFd> make(const UniqueFd& memfd, std::uint64_t bytes, const std::string& doing,
                                      std::int64_t chunk) const;

 private:
  explicit DmabufMaker(UniqueFd device) : device_(std::move(device)) {}
  UniqueFd device_;
};

// What devices wrote to it so far is what the CPU reads through a mapping from here on.
[[nodiscard]] Result<void> sync_for_cpu(BorrowedFd dmabuf, bool writable);

}  // namespace hb::client
