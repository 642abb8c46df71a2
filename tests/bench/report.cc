// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/report.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/goals.h"
#include "bench/harness/check.h"

namespace hb::bench {
namespace {

struct Row {
  const Series* series = nullptr;
  double median = 0, p99 = 0, floor = 0, ratio = 0;
  const Goal* goal = nullptr;
};

std::vector<Row> rows_of(const CaseList& cases) {
  std::map<std::string, const Series*> by_name;
  for (const auto& one : cases) {
    for (const auto& series : one->series()) by_name[series->name()] = series.get();
  }
  std::vector<Row> rows;
  for (const auto& one : cases) {
    for (const auto& series : one->series()) {
      Row row;
      row.series = series.get();
      row.median = series->quantile(0.5);
      row.p99 = series->quantile(0.99);
      row.goal = find_goal(series->name());
      if (const auto floor = by_name.find(series->reference()); floor != by_name.end()) {
        row.floor = floor->second->quantile(0.5);
        row.ratio = paired_ratio(*series, *floor->second);
      }
      rows.push_back(row);
    }
  }
  return rows;
}

std::string number(double value) {
  char text[32];
  if (value == 0) return "-";
  std::snprintf(text, sizeof text, value >= 1000 ? "%.0f" : value >= 10 ? "%.1f" : "%.3f", value);
  return text;
}

}  // namespace

void print_table(const CaseList& cases, const RunInfo& info) {
  std::printf("kernel %s, %ld CPUs, %d rounds (machine otherwise idle before %d), %.0f s, steal %.2f %%\n",
              info.kernel.c_str(), info.cpus, info.rounds, info.quiet_rounds, info.seconds,
              info.steal_percent);
  std::printf("%-46s %-4s %9s %9s %9s %7s  %-14s\n", "case", "unit", "median", "p99", "floor", "ratio",
              "goal");
  for (const Row& row : rows_of(cases)) {
    std::string goal;
    if (row.goal != nullptr) {
      const bool judged = row.goal->of != Goal::Of::kRatio || row.ratio > 0;
      goal = goal_text(*row.goal);
      if (judged) goal += goal_met(*row.goal, row.median, row.p99, row.ratio) ? " met" : " MISSED";
    }
    const bool one_a_round = row.series->count() <= row.series->round_medians().size();
    std::printf("%-46s %-4s %9s %9s %9s %7s  %-14s\n", row.series->name().c_str(), row.series->unit().c_str(),
                number(row.median).c_str(), one_a_round ? "-" : number(row.p99).c_str(),
                number(row.floor).c_str(), number(row.ratio).c_str(), goal.c_str());
  }
}

void write_json(const CaseList& cases, const RunInfo& info, const std::string& path) {
  nlohmann::ordered_json out;
  out["kernel"] = info.kernel;
  out["cpus"] = info.cpus;
  out["rounds"] = info.rounds;
  out["quiet_rounds"] = info.quiet_rounds;
  out["seconds"] = info.seconds;
  out["steal_percent"] = info.steal_percent;
  for (const Row& row : rows_of(cases)) {
    nlohmann::ordered_json line{{"case", row.series->name()},
                                {"unit", row.series->unit()},
                                {"median", row.median},
                                {"p99", row.p99},
                                {"samples", row.series->count()}};
    for (const double median : row.series->round_medians()) {
      line["rounds"].push_back(std::isfinite(median) ? nlohmann::ordered_json(median) : nullptr);
    }
    if (row.ratio > 0) {
      line["floor"] = row.series->reference();
      line["floor_median"] = row.floor;
      line["ratio"] = row.ratio;
    }
    if (row.goal != nullptr) {
      line["goal"] = goal_text(*row.goal);
      line["met"] = goal_met(*row.goal, row.median, row.p99, row.ratio);
    }
    out["cases"].push_back(std::move(line));
  }
  std::ofstream file(path);
  file << out.dump(1) << '\n';
  file.close();
  if (!file) die("cannot write %s", path.c_str());
}

std::vector<std::string> empty_series(const CaseList& cases) {
  std::vector<std::string> names;
  for (const auto& one : cases) {
    for (const auto& series : one->series()) {
      const double median = series->quantile(0.5);
      if (!std::isfinite(median) || median <= 0) names.push_back(series->name());
    }
  }
  return names;
}

}  // namespace hb::bench
