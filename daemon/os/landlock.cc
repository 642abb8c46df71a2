// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "wire/name.h"
#include "wire/sys_error.h"
#include "wire/unique_fd.h"

namespace hb::os {
namespace {

// Debian 12's headers end at version 2.
constexpr std::uint64_t kTruncate = std::uint64_t{1} << 14;     // version 3
constexpr std::uint64_t kIoctlDevice = std::uint64_t{1} << 15;  // version 5
constexpr std::uint64_t kScopeSignal = std::uint64_t{1} << 1;   // version 6
struct RulesetAttributes {
  std::uint64_t files = 0;
  std::uint64_t net = 0;
  std::uint64_t scoped = 0;
};

constexpr std::uint64_t kReading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWriting = kReading | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                   LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                   LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                                   LANDLOCK_ACCESS_FS_REFER | kTruncate;
constexpr std::uint64_t kOfFile = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;

std::uint64_t known_to(int version) {
  std::uint64_t rights = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                         LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                         LANDLOCK_ACCESS_FS_MAKE_SYM | (kWriting & ~LANDLOCK_ACCESS_FS_REFER & ~kTruncate);
  if (version >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kIoctlDevice;
  return rights;
}

tl::expected<void, std::string> allow(int ruleset, const std::string& path, std::uint64_t rights) {
  const std::string shown = "\"" + escape_for_display(path) + "\": ";
  const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place) {
    if (errno == ENOENT) return {};
    return tl::unexpected(shown + SysError::last("open").text());
  }
  struct stat status {};
  if (::fstat(place.get(), &status) != 0) return tl::unexpected(shown + SysError::last("fstat").text());
  landlock_path_beneath_attr rule{};
  rule.allowed_access = S_ISDIR(status.st_mode) ? rights : rights & kOfFile;
  rule.parent_fd = place.get();
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
    return tl::unexpected(shown + SysError::last("landlock_add_rule").text());
  }
  return {};
}

}  // namespace

tl::expected<int, std::string> restrict_files(const FileView& view) {
  const auto version =
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
  if (version < 1) {
    const SysError error = SysError::last("landlock_create_ruleset");
    const char* why = error.code == ENOSYS       ? "; it came with Linux 5.13"
                      : error.code == EOPNOTSUPP ? "; it is built in and not switched on (lsm=landlock,...)"
                                                 : "";
    return tl::unexpected(error.text() + why);
  }
  RulesetAttributes attributes;
  attributes.files = known_to(version);
  // Nothing outside is ever signalled.
  if (version >= 6) attributes.scoped = kScopeSignal;
  // A kernel knows the structure up to the field that its version brought.
  const std::size_t size = version >= 6 ? sizeof attributes : sizeof attributes.files;
  const UniqueFd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0u)));
  if (!ruleset) return tl::unexpected(SysError::last("landlock_create_ruleset").text());
  for (const std::string& path : view.read) {
    if (auto allowed = allow(ruleset.get(), path, kReading & attributes.files); !allowed) {
      return tl::unexpected(allowed.error());
    }
  }
  for (const std::string& path : view.write) {
    if (auto allowed = allow(ruleset.get(), path, kWriting & attributes.files); !allowed) {
      return tl::unexpected(allowed.error());
    }
  }
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return tl::unexpected(SysError::last("landlock_restrict_self").text());
  }
  return version;
}

}  // namespace hb::os
