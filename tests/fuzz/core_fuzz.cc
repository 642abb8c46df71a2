// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Any history of commands, eight bytes each, through the core and the naive model of tests/model side by
// side.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "model/world.h"

namespace {

// Checks look at every table after each step: longer histories find no more, only later.
constexpr std::size_t kMostCommands = 400;

void require(const std::string& wrong) {
  if (wrong.empty()) return;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hb::test::World world;
  for (std::size_t i = 0; i < std::min(size / 8, kMostCommands); ++i) {
    hb::test::Command command;
    std::copy_n(data + i * 8, 8, command.bytes.begin());
    require(world.step(command));
  }
  require(world.finish());
  return 0;
}
