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

// A handler of the program is called from inside: for that long the thread is outside.
class OutsideLibrary {
 public:
  OutsideLibrary() noexcept;
  ~OutsideLibrary();
  OutsideLibrary(const OutsideLibrary&) = delete;
  OutsideLibrary& operator=(const OutsideLibrary&) = delete;

 private:
  int depth_;
};

}  // namespace hb::client
