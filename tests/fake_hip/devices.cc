// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "devices.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace hb::fakehip {
namespace {

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(separators);
    if (end != 0) out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

bool parse_size(const std::string& text, std::uint64_t& out) {
  char* end = nullptr;
  out = std::strtoull(text.c_str(), &end, 10);
  if (end == text.c_str()) return false;
  const std::string_view unit(end);
  if (unit == "G") out <<= 30;
  if (unit == "M") out <<= 20;
  return unit.empty() || unit == "G" || unit == "M";
}

bool parse_number(const std::string& text, unsigned& out) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text.c_str(), &end, 10);
  out = static_cast<unsigned>(value);
  return !text.empty() && *end == '\0';
}

bool parse_word(const std::string& key, const std::string& value, Device& device) {
  if (key == "uuid") {
    device.uuid = value;
    return value.size() == 16 || value == "XX";
  }
  if (key == "pci") {
    unsigned function = 0;
    return std::sscanf(value.c_str(), "%x:%x:%x.%x", &device.domain, &device.bus, &device.slot, &function) ==
           4;
  }
  if (key == "partition") return parse_number(value, device.partition) && device.partition < 16;
  if (key == "render") return parse_number(value, device.render_minor);
  if (key == "vram") return parse_size(value, device.vram);
  if (key == "gfx") {
    device.gfx = value;
    return value.starts_with("gfx");
  }
  if (key == "peers") {
    device.all_peers = value == "all";
    if (value == "all" || value == "none") return true;
    for (const std::string& peer : split(value, ",")) {
      unsigned line = 0;
      if (!parse_number(peer, line)) return false;
      device.peers.push_back(static_cast<int>(line));
    }
    return true;
  }
  return false;
}

bool is_position(const std::string& entry) {
  return !entry.empty() &&
         std::all_of(entry.begin(), entry.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<int> filter(const std::vector<Device>& devices, const std::vector<int>& from, const char* list) {
  std::vector<int> out;
  for (const std::string& entry : split(list, ", ")) {
    int found = -1;
    if (is_position(entry)) {
      const std::size_t position = std::strtoul(entry.c_str(), nullptr, 10);
      if (position < from.size()) found = from[position];
    } else {
      for (const int line : from)
        if (entry == "GPU-" + devices[static_cast<std::size_t>(line)].uuid) found = line;
    }
    if (found < 0) break;
    if (std::find(out.begin(), out.end(), found) == out.end()) out.push_back(found);
  }
  return out;
}

}  // namespace

bool Device::reaches(int other_line) const {
  return other_line == line || all_peers || std::find(peers.begin(), peers.end(), other_line) != peers.end();
}

std::string Device::bus_id(bool partition_in_function) const {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bus, slot,
                partition_in_function ? partition : 0);
  return text;
}

std::string default_devices() {
  return "uuid=f00d000000000000 pci=0000:03:00.0 render=128\nuuid=f00d000000000001 pci=0000:23:00.0 "
         "render=129\n"
         "uuid=f00d000000000002 pci=0000:83:00.0 render=130\nuuid=f00d000000000003 pci=0001:03:00.0 "
         "render=131\n";
}

std::vector<Device> parse_devices(std::string_view text, std::string& error) {
  std::vector<Device> out;
  for (std::string line : split(text, "\n;")) {
    if (const std::size_t comment = line.find('#'); comment != std::string::npos) line.resize(comment);
    const std::vector<std::string> words = split(line, " \t\r");
    if (words.empty()) continue;
    Device device;
    device.line = static_cast<int>(out.size());
    device.render_minor = 128 + static_cast<unsigned>(out.size());
    device.bus = 3 + static_cast<unsigned>(out.size());
    for (const std::string& word : words) {
      const std::size_t equal = word.find('=');
      if (equal == std::string::npos || !parse_word(word.substr(0, equal), word.substr(equal + 1), device)) {
        error = "device description: '" + word + "' is not understood";
        return {};
      }
    }
    if (device.uuid.empty()) {
      error = "device description: no uuid in '" + line + "'";
      return {};
    }
    out.push_back(device);
  }
  return out;
}

std::vector<int> visible_lines(const std::vector<Device>& devices, const char* rocr, const char* hip,
                               const char* cuda) {
  std::vector<int> lines;
  for (const Device& device : devices) lines.push_back(device.line);
  if (rocr != nullptr) lines = filter(devices, lines, rocr);
  if (hip != nullptr && *hip != '\0') return filter(devices, lines, hip);
  if (cuda != nullptr) return filter(devices, lines, cuda);
  return lines;
}

}  // namespace hb::fakehip
