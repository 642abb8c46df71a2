// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/activation.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include <cstdlib>
#include <cstring>

#include "wire/name.h"

namespace hb::os {

tl::expected<ActivatedSockets, std::string> take_activated_sockets() {
  char** names = nullptr;
  const int count = ::sd_listen_fds_with_names(1, &names);
  if (count < 0) {
    return tl::unexpected(std::string("sd_listen_fds_with_names: ") + ::strerrordesc_np(-count) +
                          "; $LISTEN_FDS is not usable");
  }
  ActivatedSockets sockets;
  std::string error;
  for (int i = 0; i < count; ++i) {
    UniqueFd fd(SD_LISTEN_FDS_START + i);
    const std::string name = names != nullptr && names[i] != nullptr ? names[i] : "";
    UniqueFd* target = name == "broker" ? &sockets.broker : name == "admin" ? &sockets.admin : nullptr;
    const std::string label =
        "activated descriptor " + std::to_string(fd.get()) + " \"" + escape_for_display(name) + "\"";
    if (target == nullptr) {
      error = label + ": expected FileDescriptorName=broker or FileDescriptorName=admin";
    } else if (*target) {
      error = label + ": a second one of this name";
    } else if (::sd_is_socket_unix(fd.get(), SOCK_SEQPACKET, 1, nullptr, 0) <= 0) {
      error = label + ": not a listening SOCK_SEQPACKET unix socket (ListenSequentialPacket=)";
    } else if (::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK) != 0) {
      error = label + ": fcntl(O_NONBLOCK) failed";
    } else {
      *target = std::move(fd);
    }
  }
  for (int i = 0; names != nullptr && names[i] != nullptr; ++i) std::free(names[i]);
  std::free(names);
  if (!error.empty()) return tl::unexpected(error);
  return sockets;
}

}  // namespace hb::os
