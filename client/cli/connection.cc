// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "connection.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "exit_codes.h"
#include "text.h"

namespace hb::cli {
namespace {

struct Opened {
  hb_status status;
  hb_client* client;
  hb_error error;
};

Opened open_at(const char* socket, std::uint64_t deadline) {
  hb_client_options options = HB_CLIENT_OPTIONS_INIT;
  options.socket = socket;
  options.deadline_ns = deadline;
  Opened result{HB_OK, nullptr, HB_ERROR_INIT};
  result.status = hb_client_open(&options, &result.client, &result.error);
  return result;
}

// design rule 7: DIR/broker.sock is everybody's, DIR/admin/admin.sock the admin's.
std::string admin_socket_beside(const std::string& socket) {
  const std::size_t slash = socket.rfind('/');
  return (slash == std::string::npos ? std::string(".") : socket.substr(0, slash)) + "/admin/admin.sock";
}

const char* way_out(hb_status status) {
  switch (status) {
    case HB_NO_DAEMON:
      return kStartADaemon;
    case HB_TIMEOUT:
      return "--timeout SECONDS waits longer";
    case HB_NOT_FOUND:
      return "`hipbrokerctl ls` shows what you may see; another uid's name is UID:NAME";
    case HB_DENIED:
      return "the owner's access list gives the right to read and write, the admin socket that to look and "
             "to revoke";
    default:
      return nullptr;
  }
}

}  // namespace

std::uint64_t deadline_of(double seconds) {
  constexpr double kLongestSeconds = 1e9;  // beyond it nobody waits, and nanoseconds would overflow
  if (!(seconds < kLongestSeconds)) return HB_NO_DEADLINE;
  return hb_deadline_in(static_cast<std::uint64_t>(std::llround(std::max(seconds, 0.0) * 1e9)));
}

Failure failure_of(hb_status status, const hb_error& error) {
  std::string text = one_line(error.message);
  if (text.empty()) text = one_line(hb_status_text(status));
  const std::string cause = text;
  if (const char* hint = way_out(status); hint != nullptr) text += fmt::format("; {}", hint);
  return {exit_code_of(status), fmt::format("{} ({})", text, hb_status_name(status)), cause};
}

namespace {

// As hipbroker.h says of hb_client_options.socket.
std::vector<std::string> sockets_of(const Options& options) {
  if (!options.socket.empty()) return {options.socket};
  const char* named = std::getenv("HIPBROKER_SOCKET");
  if (named != nullptr && *named != '\0') return {named};
  std::vector<std::string> paths{"/run/hipbroker/broker.sock"};
  const char* dir = std::getenv("XDG_RUNTIME_DIR");
  if (dir != nullptr && *dir == '/') paths.push_back(std::string(dir) + "/hipbroker/broker.sock");
  return paths;
}

}  // namespace

Connection Connection::open(const Options& options) {
  const std::uint64_t deadline = deadline_of(options.timeout_s);
  // The admin does not go through the other socket: who has used that up must not keep the admin out.
  if (options.view == View::kAdmin) {
    for (const std::string& socket : sockets_of(options)) {
      const Opened admin = open_at(admin_socket_beside(socket).c_str(), deadline);
      if (admin.status == HB_NO_DAEMON) continue;
      if (admin.status != HB_OK) break;
      Connection connection(admin.client, deadline);
      hb_error error = HB_ERROR_INIT;
      check(hb_client_get_info(connection.client(), &connection.info_, &error), error);
      if (connection.info_.admin != 0) return connection;
      break;
    }
  }
  Opened opened = open_at(options.socket.empty() ? nullptr : options.socket.c_str(), deadline);
  // Drained: who looks after the node may look all the same.
  if (opened.status == HB_BUSY && options.view == View::kWidest) {
    for (const std::string& socket : sockets_of(options)) {
      const Opened admin = open_at(admin_socket_beside(socket).c_str(), deadline);
      if (admin.status != HB_OK) continue;
      Connection connection(admin.client, deadline);
      hb_error error = HB_ERROR_INIT;
      check(hb_client_get_info(connection.client(), &connection.info_, &error), error);
      return connection;
    }
  }
  check(opened.status, opened.error);
  Connection connection(opened.client, deadline);
  check(hb_client_get_info(connection.client(), &connection.info_, &opened.error), opened.error);
  if (options.view == View::kOwn || connection.info_.admin != 0) return connection;

  // The library decides where the daemon is; the admin's socket is looked for only beside what it found.
  const std::string path = admin_socket_beside(connection.info_.socket);
  const Opened admin = open_at(path.c_str(), deadline);
  if (admin.status != HB_OK) {
    if (options.view == View::kAdmin)
      throw Failure(exit_code_of(admin.status),
                    fmt::format("{}; --admin needs root or the daemon's own uid ({})",
                                one_line(admin.error.message), hb_status_name(admin.status)));
    return connection;
  }
  Connection wide(admin.client, deadline);
  hb_error error = HB_ERROR_INIT;
  check(hb_client_get_info(wide.client(), &wide.info_, &error), error);
  if (wide.info_.admin == 0) {
    if (options.view == View::kAdmin)
      throw Failure(kRefused,
                    fmt::format("{} gives no admin rights; start the daemon with an admin socket", path));
    return connection;
  }
  return wide;
}

}  // namespace hb::cli
