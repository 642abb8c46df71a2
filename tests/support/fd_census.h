// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hb::test {

// Open descriptors of a process with what they point at: "7 -> socket:[123]". Sorted.
[[nodiscard]] std::vector<std::string> open_fds(int pid = 0);
[[nodiscard]] std::size_t count_fds(int pid = 0);

// Empty when the two are equal, else one line for each that is new or gone.
[[nodiscard]] std::string fd_difference(const std::vector<std::string>& before,
                                        const std::vector<std::string>& after);

// Fails a test that ends with other descriptors than it began with.
class FdCensus : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo& info) override;
  void OnTestEnd(const testing::TestInfo& info) override;

 private:
  std::vector<std::string> before_;
};

}  // namespace hb::test
