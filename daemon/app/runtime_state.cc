// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/runtime_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "conf/reader.h"
#include "ipc/scope_directory.h"
#include "policy/selector.h"
#include "wire/name.h"
#include "wire/sys_error.h"
#include "wire/unique_fd.h"

namespace hb::app {
namespace {

constexpr std::size_t kMostFileBytes = 16u << 20;
constexpr const char* kUnlimited = "unlimited";  // TOML's integers end at 2^63

// --- writing --------------------------------------------------------------------------------------

void write_amounts(std::string& out, const char* key, const ipc::Amounts& amounts) {
  if (amounts.empty()) return;
  out += std::string(key) + " = {";
  const char* comma = " ";
  for (const auto& [resource, limit] : amounts) {
    out += comma + std::string(core::text_of(resource).key) + " = ";
    out += limit > INT64_MAX ? "\"" + std::string(kUnlimited) + "\"" : std::to_string(limit);
    comma = ", ";
  }
  out += " }\n";
}

// Names of scopes are of characters that TOML needs no escapes for.
std::string text_of(const RuntimeState& state) {
  std::string out =
      "# Written by hipbrokerd: what hipbrokerctl set while it ran. Read at the next start.\n"
      "# To be changed with hipbrokerctl scope and hipbrokerctl quota.\n";
  if (state.last_scope != 0) out += "\nlast_scope = " + std::to_string(state.last_scope) + "\n";
  for (const StoredScope& scope : state.scopes) {
    out += "\n[[scope]]\n";
    if (scope.id != 0) out += "id = " + std::to_string(scope.id) + "\n";
    out += "name = \"" + scope.name + "\"\n";
    if (!scope.uids.empty()) {
      out += "uids = [";
      std::string comma;
      for (const std::uint32_t uid : scope.uids) out += std::exchange(comma, ", ") + std::to_string(uid);
      out += "]\n";
    }
    write_amounts(out, "total", scope.total);
    write_amounts(out, "each", scope.each);
  }
  for (const StoredOverride& set : state.overrides) {
    out += "\n[[quota]]\nscope = \"" + set.scope + "\"\n";
    if (set.uid) out += "uid = " + std::to_string(*set.uid) + "\n";
    if (set.gid) out += "gid = " + std::to_string(*set.gid) + "\n";
    write_amounts(out, "limits", set.limits);
  }
  return out;
}

// --- reading --------------------------------------------------------------------------------------

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(escape_for_display(file)) {}

  void error(const toml::source_region& where, const std::string& text) {
    errors_.push_back(file_ + ":" + std::to_string(where.begin.line) + ":" +
                      std::to_string(where.begin.column) + ": " + text);
  }

  // The tables of `[[key]]`.
  std::vector<const toml::table*> tables(const toml::table& root, std::string_view key) {
    std::vector<const toml::table*> out;
    const toml::node* node = root.get(key);
    if (node == nullptr) return out;
    const toml::array* list = node->as_array();
    if (list == nullptr || !list->is_homogeneous(toml::node_type::table)) {
      error(node->source(), std::string(key) + " is no list of tables [[" + std::string(key) + "]]");
      return out;
    }
    for (const toml::node& entry : *list) out.push_back(entry.as_table());
    return out;
  }

  std::string scope_name(const toml::table& table, std::string_view key, bool may_be_main) {
    const toml::node* node = table.get(key);
    const auto* value = node == nullptr ? nullptr : node->as_string();
    if (value == nullptr) {
      error((node == nullptr ? static_cast<const toml::node&>(table) : *node).source(),
            "a string " + std::string(key) + " is missing here");
      return {};
    }
    const bool is_main = may_be_main && value->get() == policy::kMainScope;
    if (const std::string fault = is_main ? "" : ipc::fault_of_scope_name(value->get()); !fault.empty())
      error(value->source(), fault);
    return value->get();
  }

  std::optional<std::uint32_t> id(const toml::node& node, std::string_view what) {
    const auto* value = node.as_integer();
    if (value != nullptr && value->get() >= 0 && value->get() < UINT32_MAX)
      return static_cast<std::uint32_t>(value->get());
    error(node.source(), std::string(what) + " is no number from 0 to " + std::to_string(UINT32_MAX - 1));
    return std::nullopt;
  }

  std::optional<std::uint32_t> id_at(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    return node == nullptr ? std::nullopt : id(*node, key);
  }

  std::vector<std::uint32_t> ids(const toml::table& table, std::string_view key) {
    std::vector<std::uint32_t> out;
    const toml::node* node = table.get(key);
    if (node == nullptr) return out;
    const toml::array* list = node->as_array();
    if (list == nullptr) {
      error(node->source(), std::string(key) + " is no array of numbers");
      return out;
    }
    for (const toml::node& entry : *list)
      if (const auto uid = id(entry, key)) out.push_back(*uid);
    return out;
  }

  ipc::Amounts amounts(const toml::table& table, std::string_view key) {
    ipc::Amounts out;
    const toml::node* node = table.get(key);
    if (node == nullptr) return out;
    const toml::table* list = node->as_table();
    if (list == nullptr) {
      error(node->source(), std::string(key) + " is no table of limits");
      return out;
    }
    for (const auto& [name, value] : *list) {
      const auto resource = core::resource_of(name.str());
      const auto* number = value.as_integer();
      const auto* word = value.as_string();
      if (!resource) {
        error(name.source(), "\"" + escape_for_display(name.str()) + "\" is no resource that can be limited");
      } else if (number != nullptr && number->get() >= 0) {
        out.emplace_back(*resource, static_cast<std::uint64_t>(number->get()));
      } else if (word != nullptr && word->get() == kUnlimited) {
        out.emplace_back(*resource, UINT64_MAX);
      } else {
        error(value.source(),
              std::string(name.str()) + " is neither a number from 0 nor \"" + kUnlimited + "\"");
      }
    }
    // A table of TOML is sorted by key; what was written is by resource.
    std::sort(out.begin(), out.end());
    return out;
  }

  [[nodiscard]] std::vector<std::string> take_errors() { return std::move(errors_); }

 private:
  std::string file_;
  std::vector<std::string> errors_;
};

LoadedState parse(const std::string& text, const std::string& file) {
  Reader reader(file);
  const toml::parse_result parsed = toml::parse(text, file);
  LoadedState out;
  if (!parsed) {
    reader.error(parsed.error().source(), std::string(parsed.error().description()));
    out.errors = reader.take_errors();
    return out;
  }
  out.state.last_scope = reader.id_at(parsed.table(), "last_scope").value_or(0);
  for (const toml::table* table : reader.tables(parsed.table(), "scope")) {
    StoredScope& scope = out.state.scopes.emplace_back();
    scope.id = reader.id_at(*table, "id").value_or(0);
    scope.name = reader.scope_name(*table, "name", false);
    scope.uids = reader.ids(*table, "uids");
    scope.total = reader.amounts(*table, "total");
    scope.each = reader.amounts(*table, "each");
    out.state.last_scope = std::max(out.state.last_scope, scope.id);
    const auto same = [&](const StoredScope& other) {
      return other.name == scope.name || (other.id != 0 && other.id == scope.id);
    };
    if (std::count_if(out.state.scopes.begin(), out.state.scopes.end(), same) > 1)
      reader.error(table->source(), "scope \"" + escape_for_display(scope.name) + "\" is here twice");
  }
  for (const toml::table* table : reader.tables(parsed.table(), "quota")) {
    StoredOverride& set = out.state.overrides.emplace_back();
    set.scope = reader.scope_name(*table, "scope", true);
    set.uid = reader.id_at(*table, "uid");
    set.gid = reader.id_at(*table, "gid");
    set.limits = reader.amounts(*table, "limits");
  }
  out.errors = reader.take_errors();
  if (!out.errors.empty()) out.state = {};
  return out;
}

tl::expected<std::string, SysError> read_whole(const UniqueFd& fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t bytes = ::read(fd.get(), buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return tl::unexpected(SysError::last("read"));
    if (bytes == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
    if (text.size() > kMostFileBytes) return tl::unexpected(SysError{"read", EFBIG});
  }
}

tl::expected<void, SysError> write_whole(const UniqueFd& fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t bytes = ::write(fd.get(), text.data() + done, text.size() - done);
    if (bytes < 0 && errno != EINTR) return tl::unexpected(SysError::last("write"));
    if (bytes > 0) done += static_cast<std::size_t>(bytes);
  }
  return {};
}

}  // namespace

std::string runtime_state_file(const std::string& admin_socket) {
  return admin_socket.substr(0, admin_socket.rfind('/')) + "/state.toml";
}

LoadedState load_runtime_state(const std::string& file) {
  const std::string shown = escape_for_display(file);
  LoadedState out;
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  if (!fd && errno == ENOENT) return out;
  struct stat status {};
  if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EINTR)) {
    // It is whole, and the next start may read it.
    out.errors.push_back(shown + ": " + SysError::last("open").text() +
                         "; scopes and quotas that were set at run time are missing until the next start");
    return out;
  }
  if (!fd) {
    out.errors.push_back(shown + ": " + SysError::last("open").text());
  } else if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    out.errors.push_back(shown + ": is no regular file");
  } else if (const auto text = read_whole(fd)) {
    out = parse(*text, file);
  } else {
    out.errors.push_back(shown + ": " + text.error().text());
  }
  if (out.errors.empty()) return out;
  const std::string broken = file + ".broken";
  const bool kept = ::rename(file.c_str(), broken.c_str()) == 0;
  out.errors.push_back(kept ? shown + ": none of it is used; it is kept as " + escape_for_display(broken)
                            : shown + ": none of it is used; " + SysError::last("rename").text());
  return out;
}

tl::expected<void, std::string> save_runtime_state(const std::string& file, const RuntimeState& state) {
  const std::string fresh = file + ".new";
  const auto fail = [&](const SysError& error) {
    ::unlink(fresh.c_str());
    return tl::unexpected(escape_for_display(fresh) + ": " + error.text());
  };
  if (::unlink(fresh.c_str()) != 0 && errno != ENOENT) return fail(SysError::last("unlink"));
  UniqueFd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return fail(SysError::last("open"));
  if (const auto written = write_whole(fd, text_of(state)); !written) return fail(written.error());
  fd.reset();
  if (::rename(fresh.c_str(), file.c_str()) != 0) return fail(SysError::last("rename"));
  return {};
}

}  // namespace hb::app
