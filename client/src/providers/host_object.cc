// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/host_object.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "providers/host_pages.h"

namespace hb::client {
namespace {

constexpr unsigned kMfdNoexecSeal = 0x0008;  // since Linux 6.3; Debian 12's headers do not have it

}  // namespace

Result<UniqueFd> make_host_object(void* at, std::uint64_t bytes, bool sealed, const std::string& doing,
                                  std::int64_t chunk) {
  const auto failed = [&](const char* operation) {
    const SysError cause = SysError::last(operation);
    const hb_status status = cause.code == EMFILE || cause.code == ENFILE   ? HB_NO_FDS
                             : cause.code == ENOMEM || cause.code == ENOSPC ? HB_NO_MEMORY
                                                                            : HB_SYSTEM;
    Error error = system_error(cause, doing, status);
    error.chunk = chunk;
    return fail(std::move(error));
  };
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  UniqueFd fd(::memfd_create("hipbroker", kFlags | kMfdNoexecSeal));
  if (!fd && errno == EINVAL) fd = UniqueFd(::memfd_create("hipbroker", kFlags));
  if (fd && fd.get() < 3) fd = fd.duplicate();
  if (!fd) return failed("memfd_create");
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return failed("ftruncate");
  // Mode 0444 is what makes a reader's read-only descriptor hold: memfds are made 0777, and anyone
  // could open theirs again for writing through /proc.
  if (::fchmod(fd.get(), 0444) != 0) return failed("fchmod");
  if (::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd.get(), 0) == MAP_FAILED)
    return fail(map_error(SysError::last("mmap"), doing, chunk));
  // After the mapping: F_SEAL_FUTURE_WRITE lets exactly the mappings that exist go on writing.
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (sealed ? F_SEAL_FUTURE_WRITE : 0);
  if (::fcntl(fd.get(), F_ADD_SEALS, seals) == 0) return fd;
  auto refused = failed("fcntl(F_ADD_SEALS)");
  hold_only(static_cast<char*>(at), bytes);
  return refused;
}

}  // namespace hb::client
