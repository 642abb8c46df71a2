// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "connect.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdio>
#include <cstdlib>

#include "clock.h"
#include "socket_trust.h"

namespace hb::client {
namespace {

constexpr int kBacklogPollMs = 2;  // connect() to a full backlog gives EAGAIN and nothing to wait on

Result<Connection> connect_path(const std::string& path, const ConnectOptions& options,
                                const TrustContext& context, std::uint64_t deadline_ns) {
  auto target = open_trusted_socket(path, context);
  if (!target) return tl::unexpected(target.error());
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket && socket.get() < 3) socket = socket.duplicate();
  if (!socket) {
    const SysError cause = SysError::last("socket");
    return fail(system_error(cause, "\"" + path + "\"", cause.code == EMFILE ? HB_NO_FDS : HB_SYSTEM));
  }
  // Through the descriptor that was checked: whatever the name means by now, this is that socket.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", target->path.get());
  while (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const SysError cause = SysError::last("connect");
    if (cause.code == EINTR) continue;
    if (cause.code == EAGAIN) {
      if (now_ns() >= deadline_ns)
        return fail(HB_TIMEOUT, "\"" + path + "\": the daemon did not accept the connection in time");
      ::poll(nullptr, 0, kBacklogPollMs);
      continue;
    }
    const hb_status status = cause.code == ECONNREFUSED || cause.code == ENOENT ? HB_NO_DAEMON
                             : cause.code == EACCES                             ? HB_DENIED
                             : cause.code == EPROTOTYPE                         ? HB_PROTO
                                                                                : HB_SYSTEM;
    return fail(system_error(cause, "\"" + path + "\"", status));
  }
  if (auto peer = check_peer(socket.get(), path, context, target->delegate, options.trusted_uids); !peer)
    return tl::unexpected(peer.error());
  // Non-blocking was for the connect alone: a session without a deadline sleeps in recvmsg.
  if (::fcntl(socket.get(), F_SETFL, O_RDWR) != 0)
    return fail(system_error(SysError::last("fcntl"), "\"" + path + "\""));
  return Connection{std::move(socket), path};
}

}  // namespace

std::vector<std::string> socket_candidates(const ConnectOptions& options) {
  if (!options.socket.empty()) return {options.socket};
  if (const char* named = ::secure_getenv("HIPBROKER_SOCKET"); named != nullptr && *named != '\0')
    return {named};
  std::vector<std::string> paths{"/run/hipbroker/broker.sock"};
  if (const char* dir = ::secure_getenv("XDG_RUNTIME_DIR"); dir != nullptr && *dir == '/')
    paths.push_back(std::string(dir) + "/hipbroker/broker.sock");
  return paths;
}

Result<Connection> connect_daemon(const ConnectOptions& options, std::uint64_t deadline_ns) {
  const TrustContext context = TrustContext::of_process();
  std::string tried;
  Error last;
  for (const std::string& path : socket_candidates(options)) {
    auto connection = connect_path(path, options, context, deadline_ns);
    if (connection) return connection;
    if (connection.error().status != HB_NO_DAEMON) return connection;
    tried += (tried.empty() ? "" : "; ") + connection.error().message;
    last = std::move(connection.error());
  }
  last.message =
      "no daemon listens (" + tried + "). Start hipbrokerd, or name its socket in HIPBROKER_SOCKET";
  return fail(std::move(last));
}

}  // namespace hb::client
