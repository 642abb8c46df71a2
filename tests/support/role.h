// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A test program started again as one of its own helper processes: `program --role=NAME ARG...`.
// main() runs the role instead of the tests; the exit status is the role's. A role that leaves descriptors
// open exits with kRoleLeaked.
#pragma once

#include <string>
#include <vector>

namespace hb::test {

inline constexpr int kRoleLeaked = 97;
inline constexpr int kRoleUnknown = 98;
// Where a role finds its end of the channel to the process that started it.
inline constexpr int kChannelFd = 3;

using RoleFunction = int (*)(const std::vector<std::string>& args);

struct RegisterRole {
  RegisterRole(const char* name, RoleFunction function);
};

// The exit status when argv asks for a role, else -1.
[[nodiscard]] int run_role_if_asked(int argc, char** argv);

}  // namespace hb::test

// HB_ROLE(name) { ... return 0; }   `args` are the words behind the role.
#define HB_ROLE(name)                                                            \
  static int hb_role_##name(const std::vector<std::string>& args);               \
  static const hb::test::RegisterRole hb_register_##name(#name, hb_role_##name); \
  static int hb_role_##name([[maybe_unused]] const std::vector<std::string>& args)
