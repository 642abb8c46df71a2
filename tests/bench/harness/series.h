// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One figure of the benchmark: its samples, round by round.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hb::bench {

class Series {
 public:
  // `unit` is what a person reads ("us"); samples are divided by `divisor` to become it.
  Series(std::string name, std::string unit, double divisor, std::string reference)
      : name_(std::move(name)), unit_(std::move(unit)), reference_(std::move(reference)), divisor_(divisor) {}

  void add(double sample) { round_.push_back(sample / divisor_); }
  void end_round();
  void discard_round() { round_.clear(); }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& unit() const { return unit_; }
  // Name of the floor's series that this one is divided by; empty = none.
  [[nodiscard]] const std::string& reference() const { return reference_; }
  [[nodiscard]] std::size_t count() const { return all_.size(); }
  [[nodiscard]] double quantile(double q) const;  // over all rounds; 0 without samples
  // The median of each round; NaN where a round had none, so that rounds of two series stay paired.
  [[nodiscard]] const std::vector<double>& round_medians() const { return medians_; }

 private:
  std::string name_, unit_, reference_;
  double divisor_;
  std::vector<double> round_, all_, medians_;
};

[[nodiscard]] double quantile_of(std::vector<double> values, double q);  // 0 when empty

// Median of the per-round ratios: a slow spell of the machine hits both sides of one round. 0 = none.
[[nodiscard]] double paired_ratio(const Series& series, const Series& reference);

}  // namespace hb::bench
