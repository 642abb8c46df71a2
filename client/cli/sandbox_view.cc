// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "sandbox_view.h"

#include <hipbroker/hipbroker.h>

#include <array>

namespace hb::cli {
namespace {

struct Layer {
  std::uint64_t bit;
  const char* key;
  const char* text;
};
constexpr std::array<Layer, 4> kLayers{
    {{HB_SANDBOX_NO_NEW_PRIVILEGES, "no_new_privileges", "no new privileges"},
     {HB_SANDBOX_NO_CAPABILITIES, "no_capabilities", "no capabilities"},
     {HB_SANDBOX_SYSTEM_CALLS, "system_calls", "system calls by list"},
     {HB_SANDBOX_FILES, "files", "files by Landlock"}}};

std::string names_of(std::uint64_t bits) {
  std::string out;
  for (const Layer& layer : kLayers)
    if ((bits & layer.bit) != 0) out += (out.empty() ? "" : ", ") + std::string(layer.text);
  return out;
}

}  // namespace

std::string sandbox_text(std::uint64_t bits) {
  if ((bits & HB_SANDBOX_TOLD) == 0) return "told on the admin socket only";
  const std::string names = names_of(bits);
  return names.empty() ? "off" : names;
}

std::string sandbox_missing(std::uint64_t bits) { return names_of(~bits); }

Json sandbox_json(std::uint64_t bits) {
  if ((bits & HB_SANDBOX_TOLD) == 0) return nullptr;
  Json out = Json::object();
  for (const Layer& layer : kLayers) out[layer.key] = (bits & layer.bit) != 0;
  return out;
}

}  // namespace hb::cli
