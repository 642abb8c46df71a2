// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/probe_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "clock.h"

namespace hb::client::hip {
namespace {

constexpr std::string_view kFirstLine = "hipbroker probe 1\n";
constexpr std::string_view kBetween = "--\n";
constexpr long kLockPauseNs = 5'000'000;

std::string file_name(const std::string& key) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a; the whole key stands in the file
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char text[32];
  std::snprintf(text, sizeof text, "probe-%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::string read_text(const UniqueFd& directory, const std::string& name, std::int64_t& age_s) {
  const UniqueFd file(
      ::openat(directory.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::string out;
  struct stat st {};
  if (!file || ::fstat(file.get(), &st) != 0) return out;
  age_s = static_cast<std::int64_t>(::time(nullptr)) - st.st_mtim.tv_sec;
  char buffer[4096];
  for (ssize_t n = 0; out.size() < 65'536 && (n = ::read(file.get(), buffer, sizeof buffer)) > 0;)
    out.append(buffer, static_cast<std::size_t>(n));
  return out;
}

}  // namespace

ProbeCache::ProbeCache(UniqueFd directory, std::string path, std::string key)
    : directory_(std::move(directory)),
      path_(std::move(path)),
      key_(std::move(key)),
      name_(file_name(key_)) {}

Result<ProbeCache> ProbeCache::open(std::string key) {
  const char* home = ::secure_getenv("XDG_CACHE_HOME");
  const std::string path = home != nullptr && *home == '/' ? std::string(home) + "/hipbroker"
                                                           : "/tmp/hipbroker-" + std::to_string(::geteuid());
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(system_error(SysError::last("mkdir"), path));
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return fail(system_error(SysError::last("open"), path));
  struct stat st {};
  if (::fstat(directory.get(), &st) != 0) return fail(system_error(SysError::last("fstat"), path));
  if (st.st_uid != ::geteuid() || (st.st_mode & 077) != 0) {
    char mode[16];
    std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(st.st_mode & 07777));
    return fail(HB_UNTRUSTED, path + " belongs to uid " + std::to_string(st.st_uid) + " and has mode " +
                                  mode + "; answers are remembered only in a directory of uid " +
                                  std::to_string(::geteuid()) + " with mode 0700");
  }
  return ProbeCache(std::move(directory), path, std::move(key));
}

ProbeCache::~ProbeCache() {
  // Closing would not do: a child that another thread forked meanwhile has a copy, and keeps the lock with
  // it.
  if (lock_) ::flock(lock_.get(), LOCK_UN);
}

std::optional<ProbeCache::Remembered> ProbeCache::read() const {
  Remembered out;
  const std::string text = read_text(directory_, name_, out.age_s);
  const std::string head = std::string(kFirstLine) + key_ + std::string(kBetween);
  if (!text.starts_with(head) || !text.ends_with("end\n")) return std::nullopt;
  std::string_view rest(text);
  for (rest.remove_prefix(head.size()); !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1);
    static_cast<void>(out.findings.take_line(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  return out;
}

bool ProbeCache::lock(std::uint64_t deadline_ns) {
  const std::string name = name_ + ".lock";
  UniqueFd file(::openat(directory_.get(), name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return false;
  // flock() cannot wait with a deadline.
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || now_ns() >= deadline_ns) return false;
    const timespec pause{0, kLockPauseNs};
    ::nanosleep(&pause, nullptr);
  }
  lock_ = std::move(file);
  return true;
}

Result<void> ProbeCache::write(const Findings& findings) const {
  const std::string text = std::string(kFirstLine) + key_ + std::string(kBetween) + findings.text() + "end\n";
  const std::string name = name_ + "." + std::to_string(::getpid()) + ".new";
  UniqueFd file(
      ::openat(directory_.get(), name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail(system_error(SysError::last("openat"), path_ + "/" + name));
  const ssize_t written = ::write(file.get(), text.data(), text.size());
  const bool moved = written == static_cast<ssize_t>(text.size()) &&
                     ::renameat(directory_.get(), name.c_str(), directory_.get(), name_.c_str()) == 0;
  if (moved) return {};
  const SysError cause = SysError::last("write");
  ::unlinkat(directory_.get(), name.c_str(), 0);
  return fail(system_error(cause, path_ + "/" + name));
}

}  // namespace hb::client::hip
