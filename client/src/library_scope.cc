// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "library_scope.h"

namespace hb::client {
namespace {

// Reached without a call into the loader, which would allocate at the first use on a thread: inside of
// malloc.
[[gnu::tls_model("initial-exec")]] constinit thread_local int t_depth = 0;

}  // namespace

LibraryScope::LibraryScope() noexcept { ++t_depth; }
LibraryScope::~LibraryScope() { --t_depth; }
bool LibraryScope::entered() noexcept { return t_depth != 0; }

OutsideLibrary::OutsideLibrary() noexcept : depth_(t_depth) { t_depth = 0; }
OutsideLibrary::~OutsideLibrary() { t_depth = depth_; }

}  // namespace hb::client
