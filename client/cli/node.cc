// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "node.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace hb::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnit = "hipbrokerd.service";

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Of "soft:hard" the first.
std::optional<std::uint64_t> limit_of(std::string_view text) {
  text = trimmed(text.substr(0, text.find(':')));
  if (text == "infinity") return UINT64_MAX;
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// As systemd reads it: the last assignment counts.
void read_unit(const std::string& path, UnitFile& unit) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string_view key = trimmed(std::string_view(line).substr(0, equals));
    const std::string_view value = std::string_view(line).substr(equals + 1);
    if (key == "LimitNOFILE") unit.nofile = limit_of(value);
    if (key == "FileDescriptorStoreMax") unit.stored_fds = limit_of(value);
  }
}

UnitFile find_unit(const std::string& root) {
  constexpr const char* kFolders[] = {"/etc/systemd/system/", "/run/systemd/system/",
                                      "/usr/local/lib/systemd/system/", "/usr/lib/systemd/system/",
                                      "/lib/systemd/system/"};
  UnitFile unit;
  std::error_code error;
  for (const char* folder : kFolders)
    if (unit.path.empty() && fs::exists(root + folder + kUnit, error)) unit.path = root + folder + kUnit;
  if (unit.path.empty()) return unit;
  read_unit(unit.path, unit);
  // Drop-ins of all folders are read in the order of their names.
  std::vector<fs::path> more;
  for (const char* folder : kFolders)
    for (fs::directory_iterator at(root + folder + kUnit + ".d", error), end; !error && at != end;
         at.increment(error))
      if (at->path().extension() == ".conf") more.push_back(at->path());
  std::ranges::sort(more, {}, [](const fs::path& path) { return path.filename(); });
  for (const fs::path& path : more) read_unit(path.string(), unit);
  return unit;
}

void read_config(const std::string& root, Node& node) {
  for (const std::string& path :
       {root + "/boot/config-" + node.release, root + "/lib/modules/" + node.release + "/config",
        root + "/usr/lib/modules/" + node.release + "/config"}) {
    std::ifstream in(path);
    if (!in) continue;
    node.config = path;
    for (std::string line; std::getline(in, line);)
      for (const std::string option : {kMoveNotify, kPeerToPeer})
        if (line == option + "=y" || line == option + "=m") node.config_options.push_back(option);
    return;
  }
}

}  // namespace

bool Node::has(const char* option) const {
  return std::ranges::find(config_options, option) != config_options.end();
}

const PlaceOnDisk* Node::at(const char* path) const {
  const auto found = std::ranges::find(places, path, &PlaceOnDisk::path);
  return found == places.end() ? nullptr : &*found;
}

Node read_node(const std::string& root) {
  Node node;
  node.release = first_line(root + "/proc/sys/kernel/osrelease");
  read_config(root, node);
  std::error_code error;
  node.amdgpu = fs::exists(root + "/sys/module/amdgpu", error);
  node.max_map_count = limit_of(first_line(root + "/proc/sys/vm/max_map_count")).value_or(0);
  node.unit = find_unit(root);
  for (const char* path : {kNodeDirectory, kNodeSocket, kNodeAdminDirectory}) {
    struct stat info {};
    if (::stat((root + path).c_str(), &info) != 0) continue;
    node.places.push_back({path, info.st_mode & 07777u, info.st_uid});
  }
  return node;
}

}  // namespace hb::cli
