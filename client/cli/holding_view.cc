// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "holding_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "format.h"
#include "scope_view.h"

namespace hb::cli {
namespace {

bool given(const char* text) { return text != nullptr && *text != '\0'; }
bool is_live(const char* state) { return given(state) && std::string_view(state) == "live"; }
bool has_ended(const hb_listed& e) {
  const std::string_view state = given(e.state) ? e.state : "";
  return state == "withdrawn" || state == "revoked" || state == "gone";
}

std::string count_of(std::uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string title(const hb_listed& e) {
  return fmt::format("{} (id {}{}{}), {}", shown_name(e.name), e.export_id,
                     is_main_scope(e.scope) ? std::string() : ", scope " + safe(e.scope),
                     is_live(e.state) ? std::string() : ", " + safe(e.state), format_bytes(e.bytes));
}

// What the daemon itself keeps, and until when.
std::string daemon_part(const hb_listed& e) {
  std::string why;
  if (e.linger_left_ns != 0)
    why = fmt::format("linger, {} left; ", format_age(e.linger_left_ns));
  else if (given(e.state) && std::string_view(e.state) == "orphaned")
    why = "persists; ";
  return fmt::format("daemon ({}{}{})", why, count_of(e.descriptors, "descriptor"),
                     e.tickets == 0 ? std::string() : ", " + count_of(e.tickets, "ticket"));
}

std::string device_part(const hb_listed& e) {
  if (given(e.device_pci)) return "GPU " + safe(e.device_pci);
  if (given(e.device_uuid)) return "GPU " + safe(e.device_uuid);
  return "host memory";
}

std::string holder_part(const hb_held& h) {
  const std::string note = holder_note(h);
  return fmt::format("lease {} pid {} {} {}{}", h.lease_id, format_pid(h.process.pid),
                     safe(h.process.command), format_age(h.age_ns),
                     note.empty() ? std::string() : " (" + note + ")");
}

}  // namespace

std::string holder_note(const hb_held& held) {
  std::string note;
  const auto add = [&note](const std::string& text) { note += (note.empty() ? "" : ", ") + text; };
  if (held.ticket != 0)
    add(fmt::format("a ticket of it, kept by the daemon, {} left", format_age(held.ticket_left_ns)));
  if (given(held.state) && !is_live(held.state)) add(safe(held.state));
  if (held.unmap_asked != 0) add("asked to unmap");
  if (held.unread_ns != 0)
    add(held.listens != 0 ? "has not read events for " + format_age(held.unread_ns) : "does not listen");
  return note;
}

std::vector<Holding> holdings_of(std::span<const hb_listed* const> exports,
                                 std::span<const hb_held* const> holders) {
  std::vector<Holding> out;
  std::unordered_map<std::uint64_t, std::vector<const hb_held*>> by_export;
  for (const hb_held* h : holders) by_export[h->export_id].push_back(h);
  for (const hb_listed* e : exports) out.push_back({e, std::move(by_export[e->export_id])});
  std::ranges::stable_sort(
      out, [](const Holding& a, const Holding& b) { return a.exported->bytes > b.exported->bytes; });
  return out;
}

std::string holder_lines(std::span<const hb_held* const> holders) {
  std::string out;
  for (const hb_held* h : holders) {
    const std::string note = holder_note(*h);
    out += fmt::format("  pid {} uid {} {}, lease {}, {}, for {}{}{}{}\n", format_pid(h->process.pid),
                       h->process.uid, safe(h->process.command), h->lease_id,
                       format_access(h->access, h->level), format_age(h->age_ns),
                       given(h->process.cgroup) ? ", cgroup " + safe(h->process.cgroup) : std::string(),
                       !is_main_scope(h->process.scope) ? ", scope " + safe(h->process.scope) : std::string(),
                       note.empty() ? std::string() : ": " + note);
  }
  return out;
}

std::string top_text(std::span<const Holding> holdings) {
  std::string out;
  for (const Holding& holding : holdings) {
    const hb_listed& e = *holding.exported;
    out += fmt::format("{}, {}, {} old\n", title(e), device_part(e), format_age(e.age_ns));
    out += fmt::format("  owner {} pid {} uid {}; {}\n", safe(e.owner.command), format_pid(e.owner.pid),
                       e.owner_uid, daemon_part(e));
    out += holder_lines(holding.holders);
  }
  return out;
}

std::string why_text(std::span<const Holding> holdings) {
  std::string out;
  for (const Holding& holding : holdings) {
    const hb_listed& e = *holding.exported;
    std::string parts;
    const auto add = [&parts](const std::string& text) { parts += (parts.empty() ? "" : "; ") + text; };
    if (e.descriptors != 0) add(daemon_part(e));
    if (!has_ended(e) && (!given(e.state) || std::string_view(e.state) != "orphaned"))
      add(fmt::format("owner pid {} {} {}", format_pid(e.owner.pid), safe(e.owner.command),
                      format_age(e.age_ns)));
    for (const hb_held* h : holding.holders) add(holder_part(*h));
    // Only the owner and the admin see all of them.
    if (e.leases > holding.holders.size())
      add(count_of(e.leases - holding.holders.size(), "lease") + " of others");
    out += fmt::format("{}\nheld by: {}\n", title(e), parts.empty() ? "nobody" : parts);
  }
  return out;
}

Json holdings_json(std::span<const Holding> holdings, bool admin) {
  Json list = Json::array();
  for (const Holding& holding : holdings) {
    Json entry = to_json(*holding.exported);
    Json holders = Json::array();
    for (const hb_held* h : holding.holders) holders.push_back(to_json(*h));
    entry["holders"] = std::move(holders);
    list.push_back(std::move(entry));
  }
  return {{"view", admin ? "admin" : "own"}, {"exports", std::move(list)}};
}

}  // namespace hb::cli
