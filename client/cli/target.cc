// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "target.h"

#include <charconv>

#include "connection.h"
#include "exit_codes.h"

namespace hb::cli {

Target parse_target(const std::string& text, std::optional<std::uint32_t> owner,
                    std::optional<std::uint64_t> id) {
  Target target;
  if (id) {
    if (!text.empty() || owner)
      throw Failure(kUsage, "--id names the export alone; leave the name and --owner out");
    if (*id == 0) throw Failure(kUsage, "--id 0 is no export; `hipbrokerctl ls` shows the ids");
    target.export_id = *id;
    return target;
  }
  if (owner) {
    target.name = text;
    target.owner_uid = *owner;
    return target;
  }
  hb_key key;
  hb_key_info info = HB_KEY_INFO_INIT;
  if (hb_key_from_text(text.c_str(), &key, nullptr) == HB_OK &&
      hb_key_inspect(&key, &info, nullptr) == HB_OK) {
    target.export_id = info.export_id;
    return target;
  }
  const char* const end = text.data() + text.size();
  std::uint32_t uid = 0;
  const auto [colon, error] = std::from_chars(text.data(), end, uid);
  if (error == std::errc() && colon != end && *colon == ':' && colon + 1 != end) {
    target.owner_uid = uid;
    target.name.assign(colon + 1, end);
    return target;
  }
  target.name = text;
  return target;
}

}  // namespace hb::cli
