// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "wire/expected.h"

namespace hb::os {

// Whom a daemon that root started becomes.
struct User {
  std::string name;  // as it was asked for
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // gid included
};

// By name or by number. A number that no account has is its own gid and is in no other group.
[[nodiscard]] tl::expected<User, std::string> find_user(const std::string& name);

// Real, effective and saved ids of the whole process, for ever. Needs root.
[[nodiscard]] tl::expected<void, std::string> become_user(const User& user);

// Makes the directory where it is missing, as the user's own; those above it as the caller's, 0755. One that
// exists is left as it is.
[[nodiscard]] tl::expected<void, std::string> make_directory_of(const User& user, const std::string& path,
                                                                mode_t mode);

}  // namespace hb::os
