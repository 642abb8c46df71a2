// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/harness/series.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hb::bench {

double quantile_of(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const std::size_t index =
      std::min(values.size() - 1, static_cast<std::size_t>(q * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index), values.end());
  return values[index];
}

void Series::end_round() {
  medians_.push_back(round_.empty() ? std::numeric_limits<double>::quiet_NaN() : quantile_of(round_, 0.5));
  all_.insert(all_.end(), round_.begin(), round_.end());
  round_.clear();
}

double Series::quantile(double q) const { return quantile_of(all_, q); }

double paired_ratio(const Series& series, const Series& reference) {
  std::vector<double> ratios;
  const std::size_t rounds = std::min(series.round_medians().size(), reference.round_medians().size());
  for (std::size_t i = 0; i < rounds; ++i) {
    const double ratio = series.round_medians()[i] / reference.round_medians()[i];
    if (std::isfinite(ratio)) ratios.push_back(ratio);
  }
  return quantile_of(std::move(ratios), 0.5);
}

}  // namespace hb::bench
