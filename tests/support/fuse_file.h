// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A file whose file system is this program's: a FUSE server that speaks /dev/fuse itself and stops answering
// when it is told to. From then on close, fstat, poll and exit of whoever holds the file wait, and no signal
// ends that.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "wire/unique_fd.h"

namespace hb::test {

class FuseFile {
 public:
  // Mounted where nobody else sees it. Throws when it cannot be: that needs root and /dev/fuse.
  explicit FuseFile(std::string name = "file");
  ~FuseFile();  // end()
  FuseFile(const FuseFile&) = delete;
  FuseFile& operator=(const FuseFile&) = delete;

  // Another open file, O_RDWR. To be closed before hang(), unless somebody else is to wait.
  [[nodiscard]] UniqueFd open();
  void hang() { hangs_ = true; }
  // The server goes: everything that waits comes back with an error.
  void end();

 private:
  void mount();
  void serve();

  const std::string name_;
  UniqueFd device_, stop_, root_;
  std::atomic<bool> hangs_{false};
  std::string failure_;
  std::thread server_;
};

}  // namespace hb::test
