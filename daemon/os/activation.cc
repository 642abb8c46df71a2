// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/activation.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "wire/name.h"

namespace hb::os {
namespace {

// Not of a descriptor that could be anything: these calls cannot block on a socket, nor fail on another.
bool listens(const UniqueFd& fd) {
  int on = 0;
  socklen_t size = sizeof on;
  return ::getsockopt(fd.get(), SOL_SOCKET, SO_ACCEPTCONN, &on, &size) == 0 && on != 0;
}

tl::expected<void, std::string> take_listener(UniqueFd fd, UniqueFd& target, const std::string& label) {
  if (target) return tl::unexpected(label + ": a second one of this name");
  if (::sd_is_socket_unix(fd.get(), SOCK_SEQPACKET, 1, nullptr, 0) <= 0) {
    return tl::unexpected(label + ": not a listening SOCK_SEQPACKET unix socket (ListenSequentialPacket=)");
  }
  if (::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK) != 0) {
    return tl::unexpected(label + ": fcntl(O_NONBLOCK) failed");
  }
  target = std::move(fd);
  return {};
}

}  // namespace

tl::expected<Inherited, std::string> take_inherited(const IsStoredName& is_stored) {
  char** names = nullptr;
  const int count = ::sd_listen_fds_with_names(1, &names);
  if (count < 0) {
    return tl::unexpected(std::string("sd_listen_fds_with_names: ") + ::strerrordesc_np(-count) +
                          "; $LISTEN_FDS is not usable");
  }
  Inherited inherited;
  std::string error;
  for (int i = 0; i < count; ++i) {
    UniqueFd fd(SD_LISTEN_FDS_START + i);
    std::string name = names != nullptr && names[i] != nullptr ? names[i] : "";
    const std::string label =
        "activated descriptor " + std::to_string(fd.get()) + " \"" + escape_for_display(name) + "\"";
    if (name == "broker" || name == "admin") {
      UniqueFd& target = name == "broker" ? inherited.broker : inherited.admin;
      if (auto taken = take_listener(std::move(fd), target, label); !taken) error = std::move(taken.error());
    } else if (is_stored && is_stored(name)) {
      inherited.stored[name].push_back(std::move(fd));
    } else if (listens(fd)) {
      // Nobody stores one: it is of a .socket unit, whose clients would wait for ever.
      error = label + ": expected FileDescriptorName=broker or FileDescriptorName=admin";
    } else {
      inherited.surplus.push_back({std::move(name), std::move(fd)});
    }
  }
  for (int i = 0; names != nullptr && names[i] != nullptr; ++i) std::free(names[i]);
  std::free(names);
  if (!error.empty()) return tl::unexpected(error);
  return inherited;
}

}  // namespace hb::os
