// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A case in a program of its own. It reads "RUN n" on its standard input and answers n lines of nanoseconds
// and "END [key=value ...]"; "RUN 0" only asks whether it is ready; it ends at "QUIT" or end of input. Lines
// that start with '#' are passed on to standard error.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/case.h"
#include "bench/harness/child.h"
#include "wire/unique_fd.h"

namespace hb::bench {

class Coprocess : public Case {
 public:
  struct Metric {
    std::string key;     // of the END line
    std::string suffix;  // of the series' name
    std::string unit;
    double divisor = 1;
  };
  struct Spec {
    std::string name{};
    int samples = 600;
    std::string reference{};  // series of the floor
    std::string unit = "us";
    double divisor = 1e3;
    bool has_samples = true;  // false: the END line's metrics are all there is
    std::vector<Metric> metrics{};
    std::vector<std::string> command{};
  };
  explicit Coprocess(const Spec& spec);
  void set_up() override;
  void run(int samples) override;
  void tear_down() override;

 private:
  std::string read_line();

  std::vector<std::string> command_;
  Series* samples_series_ = nullptr;
  std::map<std::string, Series*, std::less<>> metrics_;
  Child child_;
  UniqueFd to_, from_;
  std::string buffered_;
  std::size_t next_ = 0;  // where the unread part of buffered_ starts
};

}  // namespace hb::bench
