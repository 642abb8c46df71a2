// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#define TOML_EXCEPTIONS 0
#include <fcntl.h>
#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <numeric>
#include <span>

#include "app/config.h"
#include "app/socket_rule.h"
#include "wire/limits.h"
#include "wire/name.h"
#include "wire/sys_error.h"
#include "wire/unique_fd.h"

namespace hb::app {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({substituted, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known) {
  if (known.empty()) return std::nullopt;
  const auto best = std::min_element(known.begin(), known.end(), [word](auto a, auto b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
  return edit_distance(word, *best) <= std::max<std::size_t>(2, best->size() / 3) ? std::optional(*best)
                                                                                  : std::nullopt;
}

std::string type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a floating-point number";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(escape_for_display(file)) {}

  void error(const toml::source_region& where, const std::string& text) {
    errors_.push_back({where.begin.line, where.begin.column, text});
  }

  void check_keys(const toml::table& table, const std::string& name,
                  std::span<const std::string_view> known) {
    for (const auto& [key, node] : table) {
      if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
      std::string text = "unknown key \"" + escape_for_display(key.str()) + "\"";
      if (!name.empty()) text += " in [" + name + "]";
      if (const auto meant = nearest(key.str(), known))
        text += "; did you mean \"" + std::string(*meant) + "\"?";
      error(key.source(), text);
    }
  }

  const toml::table* table(const toml::table& parent, std::string_view key) {
    const toml::node* node = parent.get(key);
    if (node == nullptr) return nullptr;
    if (const toml::table* found = node->as_table()) return found;
    error(node->source(),
          std::string(key) + " is " + type_name(*node) + ", expected the table [" + std::string(key) + "]");
    return nullptr;
  }

  std::optional<std::string> string(const toml::table& parent, std::string_view key) {
    const toml::node* node = parent.get(key);
    if (node == nullptr) return std::nullopt;
    if (const auto* value = node->as_string()) return value->get();
    error(node->source(), std::string(key) + " is " + type_name(*node) + ", expected a string");
    return std::nullopt;
  }

  std::optional<std::string> path(const toml::table& parent, std::string_view key) {
    auto value = string(parent, key);
    if (!value) return std::nullopt;
    if (const auto fault = fault_of_socket_path(*value)) {
      error(parent.get(key)->source(), std::string(key) + " is " + *fault);
      return std::nullopt;
    }
    return value;
  }

  // The admin socket against the other one, of which either may come by default.
  void check_pair(const toml::table& root, const Config& config) {
    const std::string socket = config.socket.value_or(kDefaultSocket);
    if (config.admin_socket && same_socket_path(*config.admin_socket, socket)) {
      error(root.get("admin_socket")->source(),
            "admin_socket is \"" + escape_for_display(*config.admin_socket) + "\", the same socket as " +
                (config.socket ? "socket" : "the default of socket") + "; leave it out or choose another");
    }
    if (!config.socket || root.contains("admin_socket")) return;
    if (const auto fault = fault_of_admin_socket_beside(socket)) {
      error(root.get("socket")->source(), "socket is " + *fault);
    }
  }

  std::optional<std::uint64_t> number(const toml::table& parent, std::string_view key, std::uint64_t least,
                                      std::uint64_t most) {
    const toml::node* node = parent.get(key);
    if (node == nullptr) return std::nullopt;
    const auto* value = node->as_integer();
    if (value == nullptr) {
      error(node->source(), std::string(key) + " is " + type_name(*node) + ", expected an integer");
      return std::nullopt;
    }
    const std::int64_t got = value->get();
    if (got < 0 || static_cast<std::uint64_t>(got) < least || static_cast<std::uint64_t>(got) > most) {
      error(node->source(), std::string(key) + " is " + std::to_string(got) + ", expected " +
                                std::to_string(least) + " to " + std::to_string(most));
      return std::nullopt;
    }
    return static_cast<std::uint64_t>(got);
  }

  void drivers(const toml::table& handles, std::vector<os::DriverRule>& out) {
    const toml::node* node = handles.get("allow_driver");
    if (node == nullptr) return;
    const toml::array* list = node->as_array();
    if (list == nullptr) {
      error(node->source(), "allow_driver is " + type_name(*node) + ", expected an array of strings");
      return;
    }
    for (const toml::node& entry : *list) {
      const auto* text = entry.as_string();
      const auto rule = text != nullptr ? parse_driver_rule(text->get()) : std::nullopt;
      if (rule) {
        out.push_back(*rule);
      } else {
        const std::string shown =
            text != nullptr ? "\"" + escape_for_display(text->get()) + "\"" : type_name(entry);
        error(entry.source(),
              "allow_driver holds " + shown + ", expected \"char MAJOR:MINOR\" or \"anon NAME\"");
      }
    }
  }

  // Numbers, since names could change their meaning without the daemon noticing.
  std::vector<std::uint32_t> ids(const toml::table& parent, std::string_view key) {
    std::vector<std::uint32_t> out;
    const toml::node* node = parent.get(key);
    if (node == nullptr) return out;
    const toml::array* list = node->as_array();
    if (list == nullptr) {
      error(node->source(), std::string(key) + " is " + type_name(*node) + ", expected an array of integers");
      return out;
    }
    for (const toml::node& entry : *list) {
      const auto* value = entry.as_integer();
      if (value != nullptr && value->get() >= 0 && value->get() < UINT32_MAX) {
        out.push_back(static_cast<std::uint32_t>(value->get()));
        continue;
      }
      error(entry.source(), std::string(key) + " holds " +
                                (value == nullptr ? type_name(entry) : std::to_string(value->get())) +
                                ", expected numbers from 0 to " + std::to_string(UINT32_MAX - 1));
    }
    return out;
  }

  [[nodiscard]] ConfigErrors take_errors() {
    std::stable_sort(errors_.begin(), errors_.end(), [](const Found& a, const Found& b) {
      return std::pair(a.line, a.column) < std::pair(b.line, b.column);
    });
    ConfigErrors lines;
    for (const Found& found : errors_) {
      lines.push_back(file_ + ":" + std::to_string(found.line) + ":" + std::to_string(found.column) + ": " +
                      found.text);
    }
    return lines;
  }

 private:
  struct Found {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    std::string text;
  };
  std::string file_;
  std::vector<Found> errors_;
};

constexpr std::uint64_t kMostFileBytes = 1u << 20;

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "a special file";
}

bool parse_number(std::string_view text, std::uint32_t& out) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc() && end == text.data() + text.size();
}

}  // namespace

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
  constexpr std::array<std::string_view, 8> kTop{"socket",  "admin_socket", "log_level", "user",
                                                 "sandbox", "limits",       "handles",   "policy"};
  constexpr std::array<std::string_view, 2> kLimits{"ended_exports", "ended_export_seconds"};
  constexpr std::array<std::string_view, 1> kHandles{"allow_driver"};
  constexpr std::array<std::string_view, 2> kPolicy{"persist_uids", "persist_gids"};

  const toml::parse_result parsed = toml::parse(text, file);
  Reader reader(file);
  if (!parsed) {
    reader.error(parsed.error().source(), std::string(parsed.error().description()));
    return tl::unexpected(reader.take_errors());
  }
  const toml::table& root = parsed.table();
  Config config;
  reader.check_keys(root, "", kTop);
  config.socket = reader.path(root, "socket");
  config.admin_socket = reader.path(root, "admin_socket");
  reader.check_pair(root, config);
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
  if (const toml::table* limits_table = reader.table(root, "limits")) {
    reader.check_keys(*limits_table, "limits", kLimits);
    config.ended_exports = reader.number(*limits_table, "ended_exports", 1, 16 * limits::kEndedExports);
    config.ended_export_seconds = reader.number(*limits_table, "ended_export_seconds", 1, 86'400);
  }
  if (const toml::table* handles = reader.table(root, "handles")) {
    reader.check_keys(*handles, "handles", kHandles);
    reader.drivers(*handles, config.allow_driver);
  }
  if (const toml::table* policy = reader.table(root, "policy")) {
    reader.check_keys(*policy, "policy", kPolicy);
    config.rights.persist_uids = reader.ids(*policy, "persist_uids");
    config.rights.persist_gids = reader.ids(*policy, "persist_gids");
  }
  if (ConfigErrors errors = reader.take_errors(); !errors.empty()) return tl::unexpected(std::move(errors));
  return config;
}

tl::expected<Config, ConfigErrors> read_config(const std::string& file) {
  const auto refuse = [&file](const std::string& why) {
    return tl::unexpected(ConfigErrors{escape_for_display(file) + ": " + why});
  };
  // Without O_NONBLOCK the open of a FIFO waits for a writer, and what it is cannot be told before.
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return refuse(SysError::last("open").text());
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return refuse(SysError::last("fstat").text());
  if (!S_ISREG(status.st_mode)) return refuse("is " + kind_of(status.st_mode) + ", expected a regular file");
  const auto too_large = [&refuse](std::uint64_t bytes) {
    return refuse("has " + std::to_string(bytes) + " bytes, the limit is " + std::to_string(kMostFileBytes));
  };
  if (static_cast<std::uint64_t>(status.st_size) > kMostFileBytes) {
    return too_large(static_cast<std::uint64_t>(status.st_size));
  }
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t bytes = ::read(fd.get(), buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return refuse(SysError::last("read").text());
    if (bytes == 0) return parse_config(text, file);
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
    // It grew since fstat(), or is of a file system that says 0.
    if (text.size() > kMostFileBytes) return too_large(text.size());
  }
}

}  // namespace hb::app
