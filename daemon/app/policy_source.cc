// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/policy_source.h"

#include <unistd.h>

#include <cerrno>

namespace hb::app {
namespace {

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

tl::expected<policy::Loaded, conf::Errors> PolicySource::read() const {
  // Anything but its absence is an error: a policy that cannot be read must not mean the built-in one.
  if (!named && ::access(file.c_str(), F_OK) != 0 && errno == ENOENT) {
    return policy::Loaded{policy::Policy::built_in(), {}};
  }
  return policy::read_policy(file);
}

std::vector<std::string> describe(const policy::Loaded& loaded) {
  const policy::Policy& policy = loaded.policy;
  std::vector<std::string> lines;
  lines.push_back(policy.file().empty() ? "no policy file: built-in policy"
                                        : policy.file() + ": ok, " + counted(policy.rules().size(), "rule") +
                                              ", " + counted(policy.overrides(), "quota override"));
  lines.insert(lines.end(), loaded.warnings.begin(), loaded.warnings.end());
  return lines;
}

}  // namespace hb::app
