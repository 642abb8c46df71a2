// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/host_dmabuf.h"

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstdio>

namespace hb::client {
namespace {

constexpr const char* kDevice = "/dev/udmabuf";
constexpr const char* kLimit = "/sys/module/udmabuf/parameters/size_limit_mb";
constexpr std::uint64_t kDefaultLimitMb = 64;  // of the kernel, where it does not tell

std::uint64_t limit_bytes() {
  unsigned long long mb = kDefaultLimitMb;
  if (std::FILE* file = std::fopen(kLimit, "re")) {
    if (std::fscanf(file, "%llu", &mb) != 1) mb = kDefaultLimitMb;
    std::fclose(file);
  }
  return mb << 20;
}

}  // namespace

Result<DmabufMaker> DmabufMaker::open() {
  UniqueFd device(::open(kDevice, O_RDWR | O_CLOEXEC));
  if (device) return DmabufMaker(std::move(device));
  const SysError cause = SysError::last("open");
  const bool none = cause.code == ENOENT || cause.code == ENODEV || cause.code == ENXIO;
  const hb_status status = none                                           ? HB_UNSUPPORTED
                           : cause.code == EACCES || cause.code == EPERM  ? HB_DENIED
                           : cause.code == EMFILE || cause.code == ENFILE ? HB_NO_FDS
                                                                          : HB_SYSTEM;
  Error error = system_error(cause, kDevice, status);
  if (none) error.message += "; this kernel makes no dma-bufs of host memory (CONFIG_UDMABUF)";
  if (status == HB_DENIED) error.message += "; its group, often kvm, may open it";
  return fail(std::move(error));
}

Result<void> DmabufMaker::check_size(std::uint64_t bytes) const {
  const std::uint64_t limit = limit_bytes();
  if (bytes <= limit) return {};
  return fail(limit_error(HB_RANGE, "size_limit_mb", bytes, limit,
                          "a chunk of " + std::to_string(bytes) +
                              " bytes; the kernel makes a dma-buf of at most " + std::to_string(limit) +
                              " (" + kLimit +
                              "): ask for smaller chunk_bytes, or raise udmabuf.size_limit_mb"));
}

Result<UniqueFd> DmabufMaker::make(const UniqueFd& memfd, std::uint64_t bytes, const std::string& doing,
                                   std::int64_t chunk) const {
  udmabuf_create create{};
  create.memfd = static_cast<std::uint32_t>(memfd.get());
  create.flags = UDMABUF_FLAGS_CLOEXEC;
  create.size = bytes;
  int number = -1;
  do {
    number = ::ioctl(device_.get(), UDMABUF_CREATE, &create);
  } while (number < 0 && errno == EINTR);
  UniqueFd made(number);
  if (made && made.get() < 3) made = made.duplicate();
  if (made) return made;
  const SysError cause = SysError::last("ioctl(UDMABUF_CREATE)");
  const hb_status status = cause.code == EMFILE || cause.code == ENFILE ? HB_NO_FDS
                           : cause.code == ENOMEM                       ? HB_NO_MEMORY
                                                                        : HB_SYSTEM;
  Error error = system_error(cause, doing, status);
  error.chunk = chunk;
  return fail(std::move(error));
}

Result<void> sync_for_cpu(BorrowedFd dmabuf, bool writable) {
  const std::uint64_t access = writable ? DMA_BUF_SYNC_RW : DMA_BUF_SYNC_READ;
  for (const std::uint64_t end : {DMA_BUF_SYNC_START, DMA_BUF_SYNC_END}) {
    dma_buf_sync sync{access | end};
    int done = 0;
    do {
      done = ::ioctl(dmabuf.get(), DMA_BUF_IOCTL_SYNC, &sync);
    } while (done != 0 && (errno == EINTR || errno == EAGAIN));
    if (done != 0) return fail(system_error(SysError::last("ioctl(DMA_BUF_IOCTL_SYNC)"), "a dma-buf"));
  }
  return {};
}

}  // namespace hb::client
