// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/run_as.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

#include "os/capabilities.h"
#include "wire/name.h"
#include "wire/sys_error.h"

namespace hb::os {
namespace {

constexpr std::size_t kMostAccountBytes = 1u << 20;

std::optional<uid_t> as_number(const std::string& text) {
  uid_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = code == std::errc() && end == text.data() + text.size();
  if (!whole || number == static_cast<uid_t>(-1)) return std::nullopt;  // -1 means "leave it" to the kernel
  return number;
}

std::vector<gid_t> groups_of(const passwd& account) {
  std::vector<gid_t> groups(32);
  for (;;) {
    int count = static_cast<int>(groups.size());
    const int result = ::getgrouplist(account.pw_name, account.pw_gid, groups.data(), &count);
    const bool fits = result >= 0;
    groups.resize(fits ? static_cast<std::size_t>(count)
                       : std::max(static_cast<std::size_t>(count), groups.size() * 2));
    if (fits) return groups;
  }
}

std::string shown(const std::string& path) { return "\"" + escape_for_display(path) + "\""; }

}  // namespace

tl::expected<User, std::string> find_user(const std::string& name) {
  const auto number = as_number(name);
  passwd account{};
  passwd* found = nullptr;
  std::vector<char> buffer(4096);
  int code = ERANGE;
  while (code == ERANGE && buffer.size() <= kMostAccountBytes) {
    code = number ? ::getpwuid_r(*number, &account, buffer.data(), buffer.size(), &found)
                  : ::getpwnam_r(name.c_str(), &account, buffer.data(), buffer.size(), &found);
    if (code == ERANGE) buffer.resize(buffer.size() * 2);
  }
  if (found != nullptr) return User{name, account.pw_uid, account.pw_gid, groups_of(account)};
  if (number) return User{name, *number, *number, {static_cast<gid_t>(*number)}};
  // Which of these means "not found" is left to the library by POSIX.
  const bool unknown = code == 0 || code == ENOENT || code == ESRCH || code == EBADF || code == EPERM;
  return tl::unexpected("user " + shown(name) +
                        (unknown ? " is unknown here: make it (useradd --system --no-create-home NAME), or "
                                   "name another, or give a number"
                                 : " cannot be looked up: " + SysError{"getpwnam_r", code}.text()));
}

tl::expected<void, std::string> become_user(const User& user) {
  const auto failed = [&user](const char* call) {
    return tl::unexpected("becoming user " + shown(user.name) + ": " + SysError::last(call).text() +
                          "; it takes root with CAP_SETUID and CAP_SETGID");
  };
  if (::setgroups(user.groups.size(), user.groups.data()) != 0) return failed("setgroups");
  if (const auto dropped = drop_bounding_set(); !dropped) {
    return tl::unexpected("becoming user " + shown(user.name) + ": " + dropped.error().text());
  }
  if (::setresgid(user.gid, user.gid, user.gid) != 0) return failed("setresgid");
  if (::setresuid(user.uid, user.uid, user.uid) != 0) return failed("setresuid");
  return {};
}

tl::expected<void, std::string> make_directory_of(const User& user, const std::string& path, mode_t mode) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    const bool last = end == std::string::npos;
    if (::mkdir(part.c_str(), last ? mode : 0755) == 0) {
      if (last && ::lchown(part.c_str(), user.uid, user.gid) != 0) {
        return tl::unexpected(shown(part) + ": " + SysError::last("chown").text());
      }
    } else if (errno != EEXIST) {
      return tl::unexpected(shown(part) + ": " + SysError::last("mkdir").text());
    }
    if (last) return {};
  }
}

}  // namespace hb::os
