// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Is this thread inside of the library? A program's free and munmap hooks call hb_range_gone, and the library
// frees and unmaps, too, perhaps with a lock held: from inside, the hook has nothing to do.
#pragma once

namespace hb::client {

class LibraryScope {
 public:
  LibraryScope() noexcept;
  ~LibraryScope();
  LibraryScope(const LibraryScope&) = delete;
  LibraryScope& operator=(const LibraryScope&) = delete;

  // Whether the calling thread has one.
  [[nodiscard]] static bool entered() noexcept;
};

}  // namespace hb::client
