// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/harness/series.h"

namespace hb::bench {

// Something that is timed. All cases are set up, then run one after another, round by round.
class Case {
 public:
  Case(std::string name, int samples) : name_(std::move(name)), samples_(samples) {}
  virtual ~Case() = default;
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  virtual void set_up() {}
  virtual void run(int samples) = 0;
  virtual void tear_down() {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int samples() const { return samples_; }  // of one round, before scaling
  [[nodiscard]] const std::vector<std::unique_ptr<Series>>& series() const { return series_; }

 protected:
  Series& make_series(std::string name, std::string unit, double divisor, std::string reference = {}) {
    series_.push_back(
        std::make_unique<Series>(std::move(name), std::move(unit), divisor, std::move(reference)));
    return *series_.back();
  }

 private:
  std::string name_;
  int samples_;
  std::vector<std::unique_ptr<Series>> series_;
};

using CaseList = std::vector<std::unique_ptr<Case>>;

}  // namespace hb::bench
