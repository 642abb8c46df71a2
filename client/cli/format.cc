// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "format.h"

#include <fmt/format.h>

#include <array>

#include "wire/name.h"

namespace hb::cli {

std::string format_bytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 would be printed as 1024.0: the next unit takes it.
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_age(std::uint64_t ns) {
  const std::uint64_t s = ns / 1'000'000'000;
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d{}h", s / 86400, s / 3600 % 24);
}

std::string format_latency(std::uint64_t ns) {
  if (ns < 10'000'000) return fmt::format("{} us", (ns + 999) / 1000);
  return fmt::format("{} ms", ns / 1'000'000);
}

std::string format_pid(std::uint32_t pid) { return pid == 0 ? "unknown" : std::to_string(pid); }

std::string_view access_word(std::uint32_t access) {
  if (access == HB_ACCESS_READ_WRITE) return "rw";
  return access == HB_ACCESS_READ ? "r" : "none";
}

std::string level_word(std::uint32_t level) {
  switch (level) {
    case HB_LEVEL_ANY:
      return "none";
    case HB_LEVEL_INTENT:
      return "intent";
    case HB_LEVEL_PER_READER:
      return "per-reader";
    case HB_LEVEL_SEALED:
      return "sealed";
    default:
      return fmt::format("level-{}", level);
  }
}

std::string format_access(std::uint32_t access, std::uint32_t level) {
  if (access != HB_ACCESS_READ) return std::string(access_word(access));
  return "r/" + level_word(level);
}

std::string kind_word(std::uint32_t kind) {
  switch (kind) {
    case HB_KIND_MEMFD:
      return "memfd";
    case HB_KIND_DMABUF:
      return "dma-buf";
    case HB_KIND_DRIVER:
      return "driver";
    default:
      return fmt::format("kind-{}", kind);
  }
}

std::string safe(const char* text) {
  if (text == nullptr || *text == '\0') return "-";
  return escape_for_display(text);
}

std::string shown_name(const char* name) {
  return name == nullptr || *name == '\0' ? "(anonymous)" : escape_for_display(name);
}

}  // namespace hb::cli
