// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "views.h"

#include <fmt/format.h>

#include <algorithm>

#include "format.h"
#include "holding_view.h"
#include "scope_view.h"

namespace hb::cli {
namespace {

constexpr auto kRight = Column::Align::kRight;

const hb_listed* find(std::span<const hb_listed* const> exports, std::uint64_t id) {
  const auto it = std::ranges::find(exports, id, [](const hb_listed* e) { return e->export_id; });
  return it == exports.end() ? nullptr : *it;
}

bool is_live(const char* state) { return state != nullptr && std::string_view(state) == "live"; }

const char* view_word(bool admin) { return admin ? "admin" : "own"; }

// One field of `show`.
std::string field(std::string_view title, std::string_view value) {
  return fmt::format("{:<10} {}\n", title, value);
}

std::string process_text(const hb_process& p) {
  std::string text = fmt::format("{}, pid {}, uid {}, gid {}, connected {} ago", safe(p.command),
                                 format_pid(p.pid), p.uid, p.gid, format_age(p.connected_ns));
  if (p.cgroup != nullptr && *p.cgroup != '\0') text += ", cgroup " + safe(p.cgroup);
  return text;
}

std::string device_text(const char* uuid, const char* pci, std::uint32_t partition) {
  const auto given = [](const char* text) { return text != nullptr && *text != '\0'; };
  if (!given(uuid) && !given(pci)) return {};
  return fmt::format("{}, PCI {}, partition {}", given(uuid) ? safe(uuid) : "no UUID",
                     given(pci) ? safe(pci) : "unknown", partition);
}

}  // namespace

Table exports_table(std::span<const hb_listed* const> exports) {
  // Its own column only where it says something.
  const bool states = std::ranges::any_of(exports, [](const hb_listed* e) { return !is_live(e->state); });
  std::vector<Column> columns{{"ID", kRight},
                              {"UID", kRight},
                              {"PID", kRight},
                              {"SIZE", kRight},
                              {"CHUNKS", kRight, 0, 2},
                              {"HELD", kRight},
                              {"AGE", kRight, 0, 1},
                              {"COMMAND", Column::Align::kLeft, 7, 0},
                              {"NAME", Column::Align::kLeft, 12, 0}};
  if (states) columns.insert(columns.end() - 2, {"STATE", Column::Align::kLeft, 4, 0});
  const bool scopes =
      std::ranges::any_of(exports, [](const hb_listed* e) { return !is_main_scope(e->scope); });
  if (scopes) columns.insert(columns.end() - 1, {"SCOPE", Column::Align::kLeft, 8, 0});
  Table table(std::move(columns));
  for (const hb_listed* e : exports) {
    std::vector<std::string> cells{
        std::to_string(e->export_id), std::to_string(e->owner_uid),
        format_pid(e->owner.pid),     format_bytes(e->bytes) + (e->bytes_declared != 0 ? "?" : ""),
        std::to_string(e->chunks),    std::to_string(e->leases),
        format_age(e->age_ns),        safe(e->owner.command),
        shown_name(e->name)};
    if (states) cells.insert(cells.end() - 2, safe(e->state) + (e->awaited_ns != 0 ? ", awaited" : ""));
    if (scopes) cells.insert(cells.end() - 1, safe(e->scope));
    table.add(std::move(cells));
  }
  return table;
}

Json exports_json(std::span<const hb_listed* const> exports, bool admin) {
  Json list = Json::array();
  for (const hb_listed* e : exports) list.push_back(to_json(*e));
  return {{"view", view_word(admin)}, {"exports", std::move(list)}};
}

Table holders_table(std::span<const hb_held* const> holders, std::span<const hb_listed* const> exports) {
  const bool notes = std::ranges::any_of(holders, [](const hb_held* h) { return !holder_note(*h).empty(); });
  std::vector<Column> columns{{"UID", kRight},
                              {"PID", kRight},
                              {"ACCESS"},
                              {"OFFSET", kRight, 0, 2},
                              {"SIZE", kRight},
                              {"AGE", kRight, 0, 1},
                              {"COMMAND", Column::Align::kLeft, 7, 0},
                              {"EXPORT", Column::Align::kLeft, 12, 0}};
  const bool scopes =
      std::ranges::any_of(holders, [](const hb_held* h) { return !is_main_scope(h->process.scope); });
  if (scopes) columns.insert(columns.end() - 1, {"SCOPE", Column::Align::kLeft, 8, 0});
  if (notes) columns.push_back({"NOTE", Column::Align::kLeft, 10, 0});
  Table table(std::move(columns));
  for (const hb_held* h : holders) {
    const hb_listed* e = find(exports, h->export_id);
    const bool named = e != nullptr && e->name != nullptr && *e->name != '\0';
    std::vector<std::string> cells{std::to_string(h->process.uid),
                                   format_pid(h->process.pid),
                                   format_access(h->access, h->level),
                                   std::to_string(h->offset),
                                   format_bytes(h->bytes),
                                   format_age(h->age_ns),
                                   safe(h->process.command),
                                   named ? shown_name(e->name) : fmt::format("id {}", h->export_id)};
    if (scopes) cells.insert(cells.end() - 1, safe(h->process.scope));
    if (notes) cells.push_back(holder_note(*h));
    table.add(std::move(cells));
  }
  return table;
}

Json holders_json(std::span<const hb_held* const> holders, std::span<const hb_listed* const> exports,
                  bool admin) {
  Json list = Json::array();
  for (const hb_held* h : holders) {
    const hb_listed* e = find(exports, h->export_id);
    Json entry = to_json(*h);
    entry["export_name"] = e == nullptr ? Json(nullptr) : string_or_null(e->name);
    list.push_back(std::move(entry));
  }
  return {{"view", view_word(admin)}, {"holders", std::move(list)}};
}

std::string shown_text(const Shown& shown, std::size_t most_chunks, const TableStyle& style) {
  const hb_listed& e = *shown.listed;
  std::string out;
  out += field("name", shown_name(e.name));
  out += field(
      "id", fmt::format("{}, generation {}, layout version {}", e.export_id, e.generation, e.layout_version));
  out += field("state",
               fmt::format("{}, lifetime {}, {} old", safe(e.state), safe(e.lifetime), format_age(e.age_ns)));
  out +=
      field("size", fmt::format("{} ({} bytes{}) in {} chunk{} of {} allocation{}, {}", format_bytes(e.bytes),
                                e.bytes, e.bytes_declared != 0 ? ", as the owner declared" : "", e.chunks,
                                e.chunks == 1 ? "" : "s", e.allocations, e.allocations == 1 ? "" : "s",
                                kind_word(e.kind)));
  if (const std::string device = device_text(e.device_uuid, e.device_pci, e.device_partition);
      !device.empty())
    out += field("device", device);
  for (std::size_t i = 0; i < e.peer_count; ++i)
    out += field("peer", device_text(e.peers[i].uuid, e.peers[i].pci, e.peers[i].partition));
  if (!is_main_scope(e.scope)) out += field("scope", safe(e.scope));
  out += field("owner", process_text(e.owner));
  out += field("access",
               fmt::format("{} at most; read-only holds by {}", access_word(e.access), level_word(e.level)));
  out += field("metadata", fmt::format("{} bytes", e.metadata_bytes));
  out +=
      field("held by", fmt::format("{} lease{}; the daemon: {} descriptor{}", e.leases,
                                   e.leases == 1 ? "" : "s", e.descriptors, e.descriptors == 1 ? "" : "s"));
  if (e.max_bytes != 0) out += field("may grow", "to " + format_bytes(e.max_bytes));
  if (e.linger_ns != 0)
    out += field("lingers", e.linger_left_ns != 0 ? format_age(e.linger_left_ns) + " are left to claim it"
                                                  : format_age(e.linger_ns) + " after its owner's end");
  if (e.awaited_ns != 0)
    out += field("awaited", "a restart of the daemon lost its memory; its owner has " +
                                format_age(e.awaited_ns) + " to bring it back");
  if (e.restart_unsafe != 0) out += field("restart", "would lose its memory: hipbrokerctl ping says why");
  if (e.tickets != 0) out += field("tickets", std::to_string(e.tickets));
  if (e.step != 0) out += field("step", std::to_string(e.step));
  // The daemon tells the access list only to the owner and the admin, so none shown is not "none there".
  std::string acl;
  for (const hb_acl_entry& a : shown.acl)
    acl += fmt::format("{}{} {} {}", acl.empty() ? "" : ", ", a.kind == HB_ACL_GID ? "gid" : "uid", a.id,
                       access_word(a.access));
  if (!acl.empty()) out += field("also for", acl);

  Table table({{"CHUNK", kRight},
               {"OFFSET", kRight},
               {"SIZE", kRight},
               {"ALLOCATION", kRight},
               {"AT", kRight, 0, 1},
               {"OF", kRight, 0, 2}});
  const std::size_t count = std::min(most_chunks, shown.chunks.size());
  for (std::size_t i = 0; i < count; ++i) {
    const hb_shown_chunk& c = shown.chunks[i];
    table.add({std::to_string(i), std::to_string(c.offset), format_bytes(c.bytes),
               std::to_string(c.allocation), std::to_string(c.object_offset), format_bytes(c.object_bytes)});
  }
  if (count != 0) out += '\n' + table.render(style);
  if (count < shown.chunks.size())
    out += fmt::format("... {} more; --all-chunks shows them\n", shown.chunks.size() - count);
  return out;
}

Json shown_json(const Shown& shown, bool admin) {
  Json acl = Json::array();
  for (const hb_acl_entry& a : shown.acl) acl.push_back(to_json(a));
  Json chunks = Json::array();
  for (const hb_shown_chunk& c : shown.chunks) chunks.push_back(to_json(c));
  return {{"view", view_word(admin)},
          {"export", to_json(*shown.listed)},
          {"acl", std::move(acl)},
          {"chunks", std::move(chunks)}};
}

}  // namespace hb::cli
