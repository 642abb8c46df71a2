// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <array>
#include <charconv>
#include <utility>

#include "app/config.h"
#include "app/socket_rule.h"
#include "conf/file.h"
#include "conf/reader.h"
#include "wire/limits.h"
#include "wire/name.h"

namespace hb::app {
namespace {

using conf::Reader;

std::optional<std::string> socket_path(Reader& reader, const toml::table& parent, std::string_view key) {
  auto value = reader.string(parent, key);
  if (!value) return std::nullopt;
  if (const auto fault = fault_of_socket_path(*value)) {
    reader.error(parent.get(key)->source(), std::string(key) + " is " + *fault);
    return std::nullopt;
  }
  return value;
}

// Of a file that is read again later, whatever the working directory is by then.
std::optional<std::string> file_path(Reader& reader, const toml::table& parent, std::string_view key) {
  auto value = reader.string(parent, key);
  if (!value) return std::nullopt;
  if (value->starts_with('/') && value->find('\0') == std::string::npos) return value;
  reader.error(parent.get(key)->source(), std::string(key) + " is " + conf::shown(*parent.get(key)) +
                                              ", expected the absolute path of a file");
  return std::nullopt;
}

// The admin socket against the other one, of which either may come by default.
void check_pair(Reader& reader, const toml::table& root, const Config& config) {
  const std::string socket = config.socket.value_or(kDefaultSocket);
  if (config.admin_socket && same_socket_path(*config.admin_socket, socket)) {
    reader.error(root.get("admin_socket")->source(),
                 "admin_socket is \"" + escape_for_display(*config.admin_socket) + "\", the same socket as " +
                     (config.socket ? "socket" : "the default of socket") +
                     "; leave it out or choose another");
  }
  if (!config.socket || root.contains("admin_socket")) return;
  if (const auto fault = fault_of_admin_socket_beside(socket)) {
    reader.error(root.get("socket")->source(), "socket is " + *fault);
  }
}

void read_drivers(Reader& reader, const toml::table& handles, std::vector<os::DriverRule>& out) {
  const toml::node* node = handles.get("allow_driver");
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  if (list == nullptr) {
    reader.error(node->source(),
                 "allow_driver is " + conf::type_name(*node) + ", expected an array of strings");
    return;
  }
  for (const toml::node& entry : *list) {
    const auto* text = entry.as_string();
    const auto rule = text != nullptr ? parse_driver_rule(text->get()) : std::nullopt;
    if (rule) {
      out.push_back(*rule);
    } else {
      const std::string said = text != nullptr ? conf::shown(entry) : conf::type_name(entry);
      reader.error(entry.source(),
                   "allow_driver holds " + said + ", expected \"char MAJOR:MINOR\" or \"anon NAME\"");
    }
  }
}

bool parse_number(std::string_view text, std::uint32_t& out) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::optional<std::uint64_t> parse_grace(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 5> kUnits{{{"ms", 1'000'000},
                                                                              {"min", 60'000'000'000},
                                                                              {"s", 1'000'000'000},
                                                                              {"m", 60'000'000'000},
                                                                              {"h", 3'600'000'000'000}}};
  constexpr std::uint64_t kMost = 3'600'000'000'000;
  for (const auto& [unit, ns] : kUnits) {
    if (!text.ends_with(unit)) continue;
    std::uint32_t number = 0;
    if (!parse_number(text.substr(0, text.size() - unit.size()), number) || number > kMost / ns)
      return std::nullopt;
    return number * ns;
  }
  return std::nullopt;
}

std::optional<bool> parse_switch(std::string_view text) {
  if (text == "on") return true;
  if (text == "off") return false;
  return std::nullopt;
}

std::optional<os::DriverRule> parse_driver_rule(std::string_view text) {
  os::DriverRule rule;
  if (text.starts_with("anon ") && text.size() > 5) {
    rule.kind = os::DriverRule::Kind::kAnonymous;
    rule.name = text.substr(5);
    return rule;
  }
  if (!text.starts_with("char ")) return std::nullopt;
  text.remove_prefix(5);
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  if (!parse_number(text.substr(0, colon), rule.major) || !parse_number(text.substr(colon + 1), rule.minor)) {
    return std::nullopt;
  }
  return rule;
}

tl::expected<Config, ConfigErrors> parse_config(std::string_view text, const std::string& file) {
  constexpr std::array<std::string_view, 9> kTop{"socket", "admin_socket", "log_level", "user", "sandbox",
                                                 "limits", "handles",      "policy",    "grace"};
  constexpr std::array<std::string_view, 2> kLimits{"ended_exports", "ended_export_seconds"};
  constexpr std::array<std::string_view, 1> kHandles{"allow_driver"};

  Reader reader(file);
  const std::optional<toml::table> parsed = reader.parse(text);
  if (!parsed) return tl::unexpected(reader.take_errors());
  const toml::table& root = *parsed;
  Config config;
  reader.check_keys(root, "", kTop);
  config.socket = socket_path(reader, root, "socket");
  config.admin_socket = socket_path(reader, root, "admin_socket");
  check_pair(reader, root, config);
  config.policy = file_path(reader, root, "policy");
  if (const auto level = reader.string(root, "log_level")) {
    config.log_level = observe::level_from_name(*level);
    if (!config.log_level) {
      reader.error(root.get("log_level")->source(), "log_level is \"" + escape_for_display(*level) +
                                                        "\", expected one of " +
                                                        std::string(observe::kLevelNames));
    }
  }
  config.user = reader.string(root, "user");
  if (config.user && config.user->empty()) {
    reader.error(root.get("user")->source(), "user is \"\", expected the name or the number of a user");
  }
  if (const auto sandbox = reader.string(root, "sandbox")) {
    config.sandbox = parse_switch(*sandbox);
    if (!config.sandbox) {
      reader.error(root.get("sandbox")->source(),
                   "sandbox is \"" + escape_for_display(*sandbox) + "\", expected \"on\" or \"off\"");
    }
  }
  if (const auto grace = reader.string(root, "grace")) {
    config.grace_ns = parse_grace(*grace);
    if (!config.grace_ns) {
      reader.error(root.get("grace")->source(),
                   "grace is \"" + escape_for_display(*grace) + "\", expected " + kGraceForm);
    }
  }
  if (const toml::table* limits_table = reader.table(root, "limits")) {
    reader.check_keys(*limits_table, "limits", kLimits);
    config.ended_exports = reader.number(*limits_table, "ended_exports", 1, 16 * limits::kEndedExports);
    config.ended_export_seconds = reader.number(*limits_table, "ended_export_seconds", 1, 86'400);
  }
  if (const toml::table* handles = reader.table(root, "handles")) {
    reader.check_keys(*handles, "handles", kHandles);
    read_drivers(reader, *handles, config.allow_driver);
  }
  if (ConfigErrors errors = reader.take_errors(); !errors.empty()) return tl::unexpected(std::move(errors));
  return config;
}

tl::expected<Config, ConfigErrors> read_config(const std::string& file) {
  const auto text = conf::read_file(file);
  if (!text) return tl::unexpected(text.error());
  return parse_config(*text, file);
}

}  // namespace hb::app
