// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/run_ctl.h"
#include "support/temp_dir.h"

namespace hb::test {

// hipbroker-selftest as a stranger runs it, and its lines by step.
struct SelfTest {
  Ran ran;
  std::map<std::string, std::string> verdicts;  // "PASS", "FAIL", "NOT HERE"
  std::map<std::string, std::string> reasons;

  [[nodiscard]] std::string all(const std::string& verdict) const {  // names, one after the other
    std::string out;
    for (const auto& [name, what] : verdicts)
      if (what == verdict) out += (out.empty() ? "" : " ") + name;
    return out;
  }
};

using Variables = std::vector<std::pair<std::string, std::string>>;

// `folder`: where its cache and temporary files go, so that nothing of one test is known to another.
[[nodiscard]] inline SelfTest run_selftest(const TempDir& folder, const Variables& env,
                                           const std::vector<std::string>& arguments = {}) {
  ProcessOptions options;
  options.env = {{"XDG_CACHE_HOME", folder.path()},
                 {"TMPDIR", folder.path()},
                 {"HIPBROKER_SYSFS_ROOT", "/nonexistent"},
                 {"HIPBROKER_PROBE", ""},
                 {"HIPBROKER_PROBE_HELPER", ""},
                 {"HIP_VISIBLE_DEVICES", ""},
                 {"ROCR_VISIBLE_DEVICES", ""},
                 {"CUDA_VISIBLE_DEVICES", ""}};
  for (const auto& variable : env) options.env.push_back(variable);
  std::vector<std::string> argv{HB_TEST_SELFTEST};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  SelfTest out;
  out.ran = run_program(argv, options);
  std::istringstream lines(out.ran.out);
  for (std::string line; std::getline(lines, line);)
    for (const std::string verdict : {"PASS", "FAIL", "NOT HERE"}) {
      if (!line.starts_with(verdict + " ")) continue;
      std::istringstream words(line.substr(verdict.size()));
      std::string name;
      words >> name;
      std::string reason;
      std::getline(words >> std::ws, reason);
      out.verdicts[name] = verdict;
      out.reasons[name] = reason;
    }
  return out;
}

// What a run leaves in the folder it was given, besides the remembered answers of the probe.
[[nodiscard]] inline std::size_t left_in(const TempDir& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (entry.path().filename() != "hipbroker") ++count;
  return count;
}

}  // namespace hb::test
