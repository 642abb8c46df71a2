// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/socket_rule.h"

#include <sys/un.h>

#include <filesystem>

#include "wire/name.h"

namespace hb::app {
namespace {

constexpr std::size_t kMostBytes = sizeof(sockaddr_un::sun_path) - 1;

std::string in_quotes(std::string_view text) { return "\"" + escape_for_display(text) + "\""; }

}  // namespace

std::optional<std::string> fault_of_socket_path(std::string_view path) {
  const std::string shown = in_quotes(path);
  if (!path.starts_with('/')) return shown + ", expected an absolute path";
  // The kernel ends the path there and would serve another one.
  if (path.find('\0') != std::string_view::npos) return shown + ", which holds a NUL byte";
  if (path.ends_with('/')) {
    return shown + ", which ends in '/': expected the path of a socket, such as " +
           in_quotes(std::string(path) + "broker.sock");
  }
  if (path.size() > kMostBytes) {
    return shown + ", a path of " + std::to_string(path.size()) +
           " bytes; the kernel's limit for a socket's path is " + std::to_string(kMostBytes);
  }
  return std::nullopt;
}

std::string admin_socket_beside(const std::string& socket) {
  return socket.substr(0, socket.rfind('/')) + "/admin/admin.sock";
}

std::optional<std::string> fault_of_admin_socket_beside(const std::string& socket) {
  const std::string admin = admin_socket_beside(socket);
  if (admin.size() <= kMostBytes) return std::nullopt;
  return in_quotes(socket) + ", and the admin socket beside it, " + in_quotes(admin) + ", a path of " +
         std::to_string(admin.size()) + " bytes; the kernel's limit for a socket's path is " +
         std::to_string(kMostBytes) +
         ": choose a shorter one, or say admin_socket and socket in the configuration";
}

bool same_socket_path(std::string_view a, std::string_view b) {
  return std::filesystem::path(a).lexically_normal() == std::filesystem::path(b).lexically_normal();
}

}  // namespace hb::app
