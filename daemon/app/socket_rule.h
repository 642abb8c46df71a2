// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hb::app {

// What is wrong with `path` as the path of a socket, to be put behind "SETTING is "; it begins with the path.
[[nodiscard]] std::optional<std::string> fault_of_socket_path(std::string_view path);

// Where the admin socket is unless somebody said.
[[nodiscard]] std::string admin_socket_beside(const std::string& socket);

// What is wrong with that one, in the same form, for a `socket` that is itself in order.
[[nodiscard]] std::optional<std::string> fault_of_admin_socket_beside(const std::string& socket);

// Whether both name the same file, as far as the text tells.
[[nodiscard]] bool same_socket_path(std::string_view a, std::string_view b);

}  // namespace hb::app
