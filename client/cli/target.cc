// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "target.h"

#include <charconv>
#include <cstring>

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
  constexpr const char* kKeyPrefix = "hbk1_";
  if (text.starts_with(kKeyPrefix)) {
    if (hb_key_from_text(text.c_str(), &key, nullptr) != HB_OK ||
        hb_key_inspect(&key, &info, nullptr) != HB_OK)
      throw Failure(kUsage,
                    "this begins like the text of a key and is none: it is cut or damaged. A name that "
                    "begins so is given with --owner");
    if (info.kind != HB_KEY_PLAIN)
      throw Failure(kUsage, "this is a ticket, which names no export: `hipbrokerctl who` shows tickets");
    target.export_id = info.export_id;
    target.key = key;
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

void check_key(const Connection& connection, const Target& target) {
  if (!target.key) return;
  hb_key_info info = HB_KEY_INFO_INIT;
  hb_error error = HB_ERROR_INIT;
  check(hb_key_inspect(&*target.key, &info, &error), error);
  if (std::memcmp(info.broker_id, connection.info().broker_id, sizeof info.broker_id) != 0)
    throw Failure(kRefused, "this key is of another daemon, or of this one before it was restarted");
  hb_shown* shown = nullptr;
  check(hb_show(connection.client(), nullptr, HB_OWN_UID, target.export_id, connection.deadline(), &shown,
                &error),
        error);
  const std::uint32_t generation = hb_shown_export(shown)->generation;
  hb_shown_free(shown);
  if (generation != info.generation)
    throw Failure(kRefused, "this key is of generation " + std::to_string(info.generation) +
                                ", its export is at " + std::to_string(generation) + " (HB_STALE)");
}

}  // namespace hb::cli
