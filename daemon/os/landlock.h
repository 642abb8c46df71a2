// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Landlock: which files the process may still open, whatever their owner and mode say. Descriptors that are
// open stay, and received ones too: a rule is asked when a path is opened, made or removed.
#pragma once

#include <string>
#include <vector>

#include "wire/expected.h"

namespace hb::os {

struct FileView {
  std::vector<std::string> read;   // directories with all below them, or files
  std::vector<std::string> write;  // directories below which files, sockets and directories come and go
};

// A rule is about the directory that lies at a path now: what is made there later under the same name is
// another. Paths that do not exist are left out. The value is the kernel's Landlock version, the error why
// there is none.
[[nodiscard]] tl::expected<int, std::string> restrict_files(const FileView& view);

}  // namespace hb::os
