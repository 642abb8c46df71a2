// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "doctor_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "format.h"
#include "sandbox_view.h"
#include "text.h"

namespace hb::cli {
namespace {

constexpr auto kRight = Column::Align::kRight;
constexpr std::uint64_t kSmallChunk = 2u << 20;

std::string field(std::string_view title, std::string_view value) {
  return fmt::format("{:<8} {}\n", title, value);
}

const char* answer_word(const hb_verdict& verdict) {
  return verdict.answer == HB_ANSWER_YES ? "yes" : verdict.answer == HB_ANSWER_NO ? "no" : "?";
}

const char* outcome_word(std::uint32_t outcome) {
  switch (outcome) {
    case HB_PAIR_OK:
      return "ok";
    case HB_PAIR_NO_ACCESS:
      return "no_access";
    case HB_PAIR_WRONG_BYTES:
      return "WRONG_BYTES";
    case HB_PAIR_CRASHED:
      return "CRASHED";
    default:
      return "FAILED";
  }
}

const char* weight_word(std::uint32_t weight) {
  return weight == HB_ISSUE_TROUBLE ? "trouble" : weight == HB_ISSUE_NOTE ? "note" : "handled";
}

std::string limit_text(std::uint64_t limit) {
  return limit == UINT64_MAX ? "unlimited" : std::to_string(limit);
}

std::string limits_text(const Limits& l) {
  return fmt::format(
      "{} descriptors (hard {}, {} open), vm.max_map_count {}: {} chunks a process, {} in chunks of 2 MiB",
      limit_text(l.descriptors_soft), limit_text(l.descriptors_hard), l.descriptors_open,
      l.max_map_count == 0 ? "unknown" : std::to_string(l.max_map_count), limit_text(l.chunks()),
      format_bytes(std::min(l.chunks(), UINT64_MAX / kSmallChunk) * kSmallChunk));
}

std::string node_text(const Node& node) {
  std::string out = node.config.empty()
                        ? "configuration of the kernel unknown"
                        : fmt::format("{} {}, {} {}", kMoveNotify, node.has(kMoveNotify) ? "yes" : "no",
                                      kPeerToPeer, node.has(kPeerToPeer) ? "yes" : "no");
  out += node.unit.path.empty()
             ? ", no unit of systemd"
             : fmt::format(", {}: LimitNOFILE {}, FileDescriptorStoreMax {}", safe(node.unit.path.c_str()),
                           node.unit.nofile ? limit_text(*node.unit.nofile) : "not set",
                           node.unit.stored_fds ? limit_text(*node.unit.stored_fds) : "not set");
  for (const PlaceOnDisk& place : node.places)
    out += fmt::format(", {} {:04o} of uid {}", place.path, place.mode, place.uid);
  return out;
}

Json node_json(const Node& node) {
  const auto number = [](const std::optional<std::uint64_t>& n) { return n ? Json(*n) : Json(nullptr); };
  const auto option = [&node](const char* name) {
    return node.config.empty() ? Json(nullptr) : Json(node.has(name));
  };
  Json places = Json::array();
  for (const PlaceOnDisk& place : node.places)
    places.push_back({{"path", place.path}, {"mode", fmt::format("{:04o}", place.mode)}, {"uid", place.uid}});
  return {{"release", string_or_null(node.release.c_str())},
          {"dmabuf_move_notify", option(kMoveNotify)},
          {"pci_p2pdma", option(kPeerToPeer)},
          {"unit", string_or_null(node.unit.path.c_str())},
          {"limit_nofile", number(node.unit.nofile)},
          {"file_descriptor_store_max", number(node.unit.stored_fds)},
          {"places", std::move(places)}};
}

Table device_table(const Diagnosis& d) {
  Table table({{"GPU", kRight},
               {"UUID", Column::Align::kLeft, 8, 4},
               {"PCI"},
               {"PART", kRight, 0, 3},
               {"TARGET", Column::Align::kLeft, 0, 2},
               {"NODE", Column::Align::kLeft, 0, 5},
               {"BAR", Column::Align::kLeft, 0, 1},
               {"EXPORT"},
               {"IMPORT"},
               {"HOST"},
               {"HOST-IMPORT"},
               {"QUERIES"},
               {"TRIED", Column::Align::kLeft, 0, 6}});
  const auto devices = d.devices();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const hb_hip_device& g = *devices[i];
    const Tried& t = d.tried[i];
    const auto verdict = [&t](const hb_verdict& v) -> std::string { return t.done ? answer_word(v) : "-"; };
    const hb_hip_report& r = t.report;
    table.add({g.ordinal < 0 ? "hidden" : std::to_string(g.ordinal), safe(g.id.uuid), safe(g.id.pci),
               std::to_string(g.id.partition), safe(g.gfx),
               g.render_minor == 0 ? "-" : fmt::format("renderD{}", g.render_minor),
               g.ordinal < 0      ? "-"
               : g.large_bar != 0 ? "large"
                                  : "small",
               verdict(r.can_export), verdict(r.can_import), verdict(r.host_on_own),
               verdict(r.host_on_import), verdict(r.query_safe), t.done ? safe(r.source) : "-"});
  }
  return table;
}

// A row a GPU that has the memory, a column a GPU that uses it.
Table pair_table(const Diagnosis& d) {
  std::vector<Column> columns{{"MEMORY OF", kRight}};
  std::vector<std::int32_t> ordinals;
  for (const hb_hip_device* device : d.devices())
    if (device->ordinal >= 0) ordinals.push_back(device->ordinal);
  for (const std::int32_t ordinal : ordinals) columns.push_back({fmt::format("GPU {}", ordinal)});
  Table table(columns);
  const auto pairs = d.pairs();
  for (const std::int32_t owner : ordinals) {
    std::vector<std::string> row{fmt::format("GPU {}", owner)};
    for (const std::int32_t other : ordinals) {
      const auto pair = std::ranges::find_if(
          pairs, [&](const hb_hip_pair* p) { return p->owner == owner && p->other == other; });
      row.emplace_back(owner == other ? "own" : pair == pairs.end() ? "?" : outcome_word((*pair)->outcome));
    }
    table.add(std::move(row));
  }
  return table;
}

Json verdict_json(const hb_verdict& verdict) {
  return {{"answer", verdict.answer == HB_ANSWER_UNKNOWN ? "unknown" : answer_word(verdict)},
          {"reason", string_or_null(verdict.reason)}};
}

Json device_json(const hb_hip_device& g, const Tried& t) {
  Json probe = nullptr;
  if (t.done)
    probe = {{"source", t.report.source},
             {"note", string_or_null(t.report.note)},
             {"export", verdict_json(t.report.can_export)},
             {"import", verdict_json(t.report.can_import)},
             {"host_on_own", verdict_json(t.report.host_on_own)},
             {"host_on_import", verdict_json(t.report.host_on_import)},
             {"query_safe", verdict_json(t.report.query_safe)},
             {"clean", verdict_json(t.report.clean)}};
  return {{"ordinal", g.ordinal < 0 ? Json(nullptr) : Json(g.ordinal)},
          {"uuid", string_or_null(g.id.uuid)},
          {"pci", g.id.pci},
          {"partition", g.id.partition},
          {"gfx", string_or_null(g.gfx)},
          {"render_minor", g.render_minor == 0 ? Json(nullptr) : Json(g.render_minor)},
          {"vmm", g.vmm != 0},
          {"large_bar", g.large_bar != 0},
          {"in_kernel", g.in_kernel != 0},
          {"probe", std::move(probe)}};
}

}  // namespace

std::string doctor_text(const Diagnosis& d, const std::vector<Problem>& problems, const TableStyle& style) {
  const hb_hip_runtime& runtime = d.runtime();
  std::string out;
  out += field("runtime", *runtime.name != '\0' ? safe(runtime.name) : "none");
  if (*runtime.hsa_path != '\0') out += field("hsa", safe(runtime.hsa_path));
  out += field("kernel", fmt::format("Linux {}, amdgpu {}", safe(runtime.kernel),
                                     *runtime.amdgpu != '\0' ? safe(runtime.amdgpu) : "not loaded"));
  if (*runtime.variables != '\0') out += field("hiding", safe(runtime.variables));
  out +=
      field("daemon", d.daemon_answers ? fmt::format("{} at {}", safe(d.daemon.daemon), safe(d.daemon.socket))
                                       : "none answers");
  if (d.daemon_answers) out += field("sandbox", sandbox_text(d.daemon_status.sandbox));
  out += field("limits", limits_text(d.limits));
  out += field("node", node_text(d.node));
  if (!d.tried.empty()) out += '\n' + device_table(d).render(style);
  if (!d.pairs().empty()) out += '\n' + pair_table(d).render(style);

  std::string handled;
  for (const hb_hip_issue* issue : d.issues())
    if (issue->weight == HB_ISSUE_HANDLED)
      handled += fmt::format("{}{}", handled.empty() ? "" : ", ", issue->name);
  if (!handled.empty())
    out += '\n' + fmt::format("known bugs that the library works around (--json tells them): {}\n", handled);

  if (!problems.empty()) out += '\n';
  for (const Problem& p : problems)
    out += fmt::format("{:<8} {}: {}\n{:<8} do: {}\n", grade_word(p.grade), p.name, one_line(p.text), "",
                       one_line(p.advice));
  const auto count = [&problems](Grade grade) {
    return std::ranges::count(problems, grade, &Problem::grade);
  };
  const auto counted = [&count](Grade grade, const char* one) {
    const auto n = count(grade);
    return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
  };
  return out + fmt::format("\n{}: {} broken, {}, {}\n",
                           count(Grade::kBroken) != 0    ? "broken"
                           : count(Grade::kWarning) != 0 ? "works, with warnings"
                                                         : "healthy",
                           count(Grade::kBroken), counted(Grade::kWarning, "warning"),
                           counted(Grade::kNote, "note"));
}

Json doctor_json(const Diagnosis& d, const std::vector<Problem>& problems) {
  const hb_hip_runtime& runtime = d.runtime();
  Json devices = Json::array();
  const auto all = d.devices();
  for (std::size_t i = 0; i < all.size(); ++i) devices.push_back(device_json(*all[i], d.tried[i]));
  Json issues = Json::array();
  for (const hb_hip_issue* issue : d.issues())
    issues.push_back({{"name", issue->name},
                      {"text", issue->text},
                      {"advice", issue->advice},
                      {"weight", weight_word(issue->weight)},
                      {"seen", issue->seen != 0},
                      {"tabled", issue->tabled != 0}});
  Json pairs = nullptr;
  if (d.peers_asked) {
    pairs = Json::array();
    for (const hb_hip_pair* pair : d.pairs()) {
      std::string outcome = outcome_word(pair->outcome);
      std::ranges::transform(outcome, outcome.begin(),
                             [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
      pairs.push_back({{"owner", pair->owner},
                       {"other", pair->other},
                       {"outcome", outcome},
                       {"reason", string_or_null(pair->reason)}});
    }
  }
  Json found = Json::array();
  for (const Problem& p : problems)
    found.push_back(
        {{"grade", grade_word(p.grade)}, {"name", p.name}, {"text", p.text}, {"advice", p.advice}});
  Json daemon = nullptr;
  if (d.daemon_answers)
    daemon = {{"version", d.daemon.daemon},
              {"socket", d.daemon.socket},
              {"sandbox", sandbox_json(d.daemon_status.sandbox)}};
  const auto limit = [](std::uint64_t n) { return n == UINT64_MAX ? Json(nullptr) : Json(n); };
  return {{"worst", grade_word(worst_of(problems))},
          {"runtime",
           {{"status", hb_status_name(runtime.status)},
            {"reason", string_or_null(runtime.reason)},
            {"name", string_or_null(runtime.name)},
            {"path", string_or_null(runtime.path)},
            {"version", runtime.version},
            {"hsa_path", string_or_null(runtime.hsa_path)}}},
          {"kernel", {{"release", runtime.kernel}, {"amdgpu", string_or_null(runtime.amdgpu)}}},
          {"variables", string_or_null(runtime.variables)},
          {"daemon", std::move(daemon)},
          {"limits",
           {{"descriptors_open", d.limits.descriptors_open},
            {"descriptors_soft", limit(d.limits.descriptors_soft)},
            {"descriptors_hard", limit(d.limits.descriptors_hard)},
            {"max_map_count", d.limits.max_map_count == 0 ? Json(nullptr) : Json(d.limits.max_map_count)},
            {"chunks", d.limits.chunks()}}},
          {"node", node_json(d.node)},
          {"devices", std::move(devices)},
          {"issues", std::move(issues)},
          {"pairs", std::move(pairs)},
          {"problems", std::move(found)}};
}

}  // namespace hb::cli
