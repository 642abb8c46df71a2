// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/role.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <map>

#include "support/fd_census.h"

namespace hb::test {
namespace {

std::map<std::string, RoleFunction>& roles() {
  static std::map<std::string, RoleFunction> table;
  return table;
}

}  // namespace

RegisterRole::RegisterRole(const char* name, RoleFunction function) { roles()[name] = function; }

int run_role_if_asked(int argc, char** argv) {
  constexpr const char* kPrefix = "--role=";
  if (argc < 2 || std::strncmp(argv[1], kPrefix, std::strlen(kPrefix)) != 0) return -1;
  const std::string name = argv[1] + std::strlen(kPrefix);
  const auto found = roles().find(name);
  if (found == roles().end()) {
    std::fprintf(stderr, "no role \"%s\" in %s\n", name.c_str(), argv[0]);
    return kRoleUnknown;
  }
  const std::vector<std::string> before = open_fds();
  int status = 0;
  try {
    status = found->second({argv + 2, argv + argc});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "role %s: %s\n", name.c_str(), e.what());
    return 96;
  }
  const std::string difference = fd_difference(before, open_fds());
  if (!difference.empty()) {
    std::fprintf(stderr, "descriptor census of role %s:%s\n", name.c_str(), difference.c_str());
    return kRoleLeaked;
  }
  return status;
}

}  // namespace hb::test
