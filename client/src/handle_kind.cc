// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "handle_kind.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "hipbroker/hipbroker.h"

namespace hb::client {

std::uint32_t kind_of(BorrowedFd fd) {
  if (::fcntl(fd.get(), F_GET_SEALS) >= 0) return HB_KIND_MEMFD;
  const std::string number = std::to_string(fd.get());
  char link[16] = {};
  // Its fdinfo is read only of what may be a dma-buf: that of others can wait for locks of a hung file
  // system.
  if (::readlink(("/proc/self/fd/" + number).c_str(), link, sizeof link - 1) < 0 ||
      std::strncmp(link, "/dmabuf:", 8) != 0)
    return HB_KIND_DRIVER;
  char text[1024] = {};
  const UniqueFd info(::open(("/proc/self/fdinfo/" + number).c_str(), O_RDONLY | O_CLOEXEC));
  if (!info || ::read(info.get(), text, sizeof text - 1) <= 0) return HB_KIND_DRIVER;
  return std::strstr(text, "exp_name:") != nullptr ? HB_KIND_DMABUF : HB_KIND_DRIVER;
}

}  // namespace hb::client
