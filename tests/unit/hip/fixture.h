// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The client's HIP modules over the fake runtime, each test in a process of its own.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "providers/hip/vmm.h"
#include "unit/fake_hip/hip_child.h"

namespace hb::test {

namespace hc = hb::client::hip;

inline const std::vector<std::string>& all_versions() {
  static const std::vector<std::string> versions{"6.2", "7.0", "7.1", "7.2", "7.14", "7.15"};
  return versions;
}

class EveryVersion : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] Env env(Env more = {}) const {
    more["FAKE_HIP_VERSION"] = GetParam();
    return more;
  }
  [[nodiscard]] bool is(std::initializer_list<const char*> versions) const {
    for (const char* version : versions)
      if (GetParam() == version) return true;
    return false;
  }
};
#define HB_EVERY_VERSION(suite)                                                                     \
  INSTANTIATE_TEST_SUITE_P(Hip, suite, testing::ValuesIn(all_versions()), [](const auto& version) { \
    std::string name = "v" + version.param;                                                         \
    name[name.find('.')] = '_';                                                                     \
    return name;                                                                                    \
  })

// The process's runtime, its quirks by the table, its devices over `root`.
[[nodiscard]] hc::ContextPtr context_of(const std::string& root = "/nonexistent");

// Three words of the answer.
template <class T>
[[nodiscard]] std::string text_of(const client::Result<T>& result) {
  return result ? "ok" : std::to_string(result.error().status) + " " + result.error().message;
}

// Descriptors of every chunk, with what an importer is told of them.
[[nodiscard]] client::Result<std::vector<hc::ImportChunk>> export_all(const hc::Context& context,
                                                                      hc::MappedRange& range);
[[nodiscard]] hc::ImportSpec spec_for(const std::vector<hc::ImportChunk>& chunks, hc::Access access,
                                      hc::DeviceId owner);

struct Counts {
  long long handles, mappings, reservations, violations;
  std::size_t descriptors;
  bool operator==(const Counts&) const = default;
};
[[nodiscard]] Counts counts_of(const Hip& hip);
void PrintTo(const Counts& counts, std::ostream* out);

// This program started anew with these variables besides the environment, as --role=NAME ARG.
struct RoleResult {
  int exit_code = -1;
  std::string output;
};
[[nodiscard]] RoleResult run_role(const Env& env, const std::string& name, const std::string& argument = "");

}  // namespace hb::test
