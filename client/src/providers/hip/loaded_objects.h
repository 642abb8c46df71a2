// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the dynamic loader has in this process, read from the objects' own symbol tables. Nothing is opened:
// asking dlsym() would also answer for every library that merely depends on the runtime.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace hb::client::hip {

struct LoadedObject {
  std::string path;      // as the loader knows it; empty: the program itself
  std::string build_id;  // hexadecimal; empty when it has none
};

// The objects that themselves define every one of `symbols`.
[[nodiscard]] std::vector<LoadedObject> objects_defining(std::initializer_list<const char*> symbols);

// How often the loader has added an object: while it stays the same, so do the answers above.
[[nodiscard]] unsigned long long loader_additions();

}  // namespace hb::client::hip
