// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/handle_probe.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

#include "wire/sys_error.h"
#include "wire/unique_fd.h"

namespace hb::os {
namespace {

constexpr unsigned long kDmaBufMagic = 0x444d4142;  // DMA_BUF_MAGIC

tl::unexpected<ProbeRefusal> refuse(std::string reason, bool may_block) {
  return tl::unexpected(ProbeRefusal{std::move(reason), may_block});
}

std::string missing_seals(int seals) {
  constexpr std::array<std::pair<int, const char*>, 3> kDemanded{
      {{F_SEAL_SHRINK, "F_SEAL_SHRINK"}, {F_SEAL_GROW, "F_SEAL_GROW"}, {F_SEAL_SEAL, "F_SEAL_SEAL"}}};
  std::string missing;
  for (const auto& [bit, name] : kDemanded) {
    if ((seals & bit) != 0) continue;
    missing += missing.empty() ? "" : ", ";
    missing += name;
  }
  return missing;
}

tl::expected<core::HandleFacts, ProbeRefusal> probe_shmem(int fd, int access_mode, int seals) {
  struct stat status {};
  struct statfs file_system {};
  if (::fstat(fd, &status) != 0) return refuse(SysError::last("fstat").text(), false);
  if (::fstatfs(fd, &file_system) != 0) return refuse(SysError::last("fstatfs").text(), false);
  if (static_cast<unsigned long>(file_system.f_type) == HUGETLBFS_MAGIC) {
    return refuse("huge-page memory (hugetlbfs): a reader without huge pages left would die of SIGBUS",
                  false);
  }
  if (!S_ISREG(status.st_mode)) return refuse("on tmpfs, but not a regular file", false);
  if (const std::string missing = missing_seals(seals); !missing.empty()) {
    // Files of a tmpfs, and memfds made without MFD_ALLOW_SEALING, have F_SEAL_SEAL alone and can never get
    // the others.
    const bool hopeless = (seals & F_SEAL_SEAL) != 0;
    return refuse("memory whose size is not sealed, " + missing + " missing; " +
                      (hopeless ? "make a memfd with MFD_ALLOW_SEALING and seal it before sharing"
                                : "add the seals with fcntl(F_ADD_SEALS) before sharing"),
                  false);
  }
  core::HandleFacts facts;
  facts.kind = core::HandleKind::kMemfd;
  facts.sealed = (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0;
  facts.writable = access_mode == O_RDWR && !facts.sealed;
  facts.size_known = true;
  facts.size = static_cast<std::uint64_t>(status.st_size);
  facts.identity_known = true;
  facts.device = status.st_dev;
  facts.inode = status.st_ino;
  return facts;
}

// The only proof of a dma-buf: its driver writes this line. readlink's "/dmabuf:" can be forged by a file's
// name; a name set by DMA_BUF_SET_NAME stands behind "name:" on a line of its own.
tl::expected<bool, SysError> fdinfo_says_dma_buf(int fd) {
  const std::string path = "/proc/self/fdinfo/" + std::to_string(fd);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return tl::unexpected(SysError::last("open(/proc/self/fdinfo)"));
  std::array<char, 4096> buffer{};
  const ssize_t bytes = ::read(file.get(), buffer.data(), buffer.size());
  if (bytes < 0) return tl::unexpected(SysError::last("read(/proc/self/fdinfo)"));
  const std::string_view text(buffer.data(), static_cast<std::size_t>(bytes));
  return text.starts_with("exp_name:") || text.find("\nexp_name:") != std::string_view::npos;
}

tl::expected<core::HandleFacts, ProbeRefusal> probe_dma_buf(int fd, int access_mode) {
  struct stat status {};
  struct statfs file_system {};
  if (::fstat(fd, &status) != 0) return refuse(SysError::last("fstat of a dma-buf").text(), false);
  if (::fstatfs(fd, &file_system) != 0) return refuse(SysError::last("fstatfs of a dma-buf").text(), false);
  const off_t size = ::lseek(fd, 0, SEEK_END);
  if (size < 0) return refuse(SysError::last("lseek of a dma-buf").text(), false);
  core::HandleFacts facts;
  facts.kind = core::HandleKind::kDmaBuf;
  facts.writable = access_mode == O_RDWR;
  facts.size_known = true;
  facts.size = static_cast<std::uint64_t>(size);
  // Before Linux 5.3 all dma-bufs shared the one inode of anonymous files.
  facts.identity_known = static_cast<unsigned long>(file_system.f_type) == kDmaBufMagic;
  facts.device = status.st_dev;
  facts.inode = status.st_ino;
  return facts;
}

// What it is, in words. `link` is what readlink says: not proof, but any path of a file begins with '/' or
// "(unreachable)", so "anon_inode:" cannot be a file's name.
std::string describe(const struct statx& status, std::string_view link) {
  if (S_ISSOCK(status.stx_mode)) return "a socket";
  if (S_ISFIFO(status.stx_mode)) return "a pipe";
  if (S_ISDIR(status.stx_mode)) return "a directory";
  if (S_ISBLK(status.stx_mode)) return "a block device";
  if (S_ISCHR(status.stx_mode)) {
    return "the character device " + std::to_string(status.stx_rdev_major) + ":" +
           std::to_string(status.stx_rdev_minor);
  }
  if (link.starts_with("anon_inode:")) return "an anonymous file \"" + std::string(link.substr(11)) + "\"";
  if (S_ISREG(status.stx_mode)) return "a file of a file system";
  return "of a kind the broker does not know";
}

bool allowed_driver(const std::vector<DriverRule>& allowed, const struct statx& status,
                    std::string_view link) {
  for (const DriverRule& rule : allowed) {
    if (rule.kind == DriverRule::Kind::kCharDevice && S_ISCHR(status.stx_mode) &&
        status.stx_rdev_major == rule.major && status.stx_rdev_minor == rule.minor) {
      return true;
    }
    if (rule.kind == DriverRule::Kind::kAnonymous && link.starts_with("anon_inode:") &&
        link.substr(11) == rule.name) {
      return true;
    }
  }
  return false;
}

}  // namespace

tl::expected<core::HandleFacts, ProbeRefusal> probe_handle(const UniqueFd& descriptor,
                                                           const std::vector<DriverRule>& allowed) {
  const int fd = descriptor.get();
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return refuse(SysError::last("fcntl(F_GETFL)").text(), true);
  if ((flags & O_PATH) != 0) return refuse("opened with O_PATH: it names a file and cannot be mapped", true);
  const int access_mode = flags & O_ACCMODE;
  const int seals = ::fcntl(fd, F_GET_SEALS);
  const bool shmem = seals >= 0;
  if (access_mode == O_WRONLY) {
    return refuse("opened for writing only: a mapping needs O_RDONLY or O_RDWR", !shmem);
  }
  if (shmem) return probe_shmem(fd, access_mode, seals);

  std::array<char, 256> link{};
  const std::string link_path = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t link_bytes = ::readlink(link_path.c_str(), link.data(), link.size());
  const std::string_view link_text(link.data(), link_bytes > 0 ? static_cast<std::size_t>(link_bytes) : 0);
  // fdinfo is read only of what may be a dma-buf: that of an epoll descriptor takes the lock that an
  // epoll_ctl() on a hung FUSE file holds for ever. The name is no proof: a file can be called so, but then
  // fdinfo is a file's, which asks nobody.
  if (link_text.starts_with("/dmabuf:")) {
    const auto dma_buf = fdinfo_says_dma_buf(fd);
    if (!dma_buf) return refuse("what it is cannot be told: " + dma_buf.error().text(), true);
    if (*dma_buf) return probe_dma_buf(fd, access_mode);
  }

  struct statx status {};
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MODE, &status) != 0) {
    return refuse("what it is cannot be told: " + SysError::last("statx").text(), true);
  }
  if (!allowed_driver(allowed, status, link_text)) {
    return refuse(describe(status, link_text) +
                      "; the broker keeps sealed memfds and dma-bufs, and a driver's own "
                      "handles where [handles] allow_driver names them",
                  true);
  }
  core::HandleFacts facts;
  facts.kind = core::HandleKind::kDriver;
  facts.writable = access_mode == O_RDWR;
  return facts;
}

tl::expected<ReopenFacts, std::string> reopen_facts(const UniqueFd& memfd) {
  struct stat status {};
  if (::fstat(memfd.get(), &status) != 0) return tl::unexpected(SysError::last("fstat").text());
  return ReopenFacts{status.st_uid, status.st_mode & 07777u};
}

}  // namespace hb::os
