// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// GPU memory: what the probe says of it, and every path of it through two processes.
#include <cstring>

#include "steps.h"

namespace hb::selftest {
namespace {

constexpr std::uint64_t kChunk = 2u << 20;

Kind kind_of(const Lab& lab) {
  const std::string device = std::to_string(lab.device());
  return {{{"gpu", device}}, {{"gpu", device}}, kChunk};
}

// GPU memory of two processes, where it can be shared at all.
Step step(const char* name, void (*run)(Lab& lab, const Kind& kind)) {
  return {name, [run](Lab& lab) {
            lab.demand_gpu();
            run(lab, kind_of(lab));
          }};
}

const hb_hip_device* device_of(const Lab& lab) {
  for (std::size_t i = 0; i < hb_hip_look_device_count(lab.look()); ++i)
    if (const hb_hip_device* device = hb_hip_look_device_at(lab.look(), i); device->ordinal == lab.device())
      return device;
  return nullptr;
}

void run_probe(Lab& lab) {
  if (lab.runtime().status == HB_SYSTEM) throw Failed(lab.runtime().reason);
  if (lab.runtime().status != HB_OK) throw NotHere(lab.runtime().reason);
  hb_error error = HB_ERROR_INIT;
  if (hb_hip_look_probe(lab.look(), lab.device(), 1, &lab.report, &error) != HB_OK)
    throw Failed(error.message);
  lab.probed = true;
  if (std::strcmp(lab.report.source, "run") != 0)
    throw Failed(std::string("nothing was tried (") + lab.report.source +
                 "): " + lab.report.can_export.reason);
}

// `issue`: the row of the table of versions that explains a no; nullptr: nothing does.
Step verdict(const char* name, hb_verdict hb_hip_report::*member, const char* issue) {
  return {name, [member, issue](Lab& lab) {
            if (!lab.probed) throw NotHere("see the line probe/run");
            const hb_verdict& said = lab.report.*member;
            if (said.answer == HB_ANSWER_YES) return;
            const std::string reason = *said.reason != '\0' ? said.reason : "not tried";
            if (said.answer == HB_ANSWER_UNKNOWN) throw NotHere(reason);
            if (issue != nullptr && lab.is_known(issue)) throw NotHere("known of this version: " + reason);
            const hb_hip_device* device = device_of(lab);
            if (device != nullptr && device->vmm == 0) throw NotHere(reason);
            throw Failed(reason);
          }};
}

void host_access(Lab& lab, bool imported) {
  const hb_verdict& said = imported ? lab.report.host_on_import : lab.report.host_on_own;
  const char* const prefer = "1";
  static_assert(HB_HOST_PREFER == 1);
  Kind kind = kind_of(lab);
  kind.alloc.set("host", prefer);
  kind.import.set("host", prefer);
  Peer exporter = lab.start();
  kind.alloc.set("bytes", 3 * kChunk);
  kind.alloc.set("chunk", kChunk);
  const Message own = exporter.ok("alloc", kind.alloc);
  exporter.ok("fill", {{"mem", "1"}, {"seed", "1"}});
  Peer importer = lab.start();
  Message got = own;
  if (imported) {
    const std::string name = fresh_name();
    exporter.ok("export", {{"name", name}});
    kind.import.set("name", name);
    got = importer.ok("import", kind.import);
  }
  if (got.number("host_granted") == 0) {
    if (said.answer != HB_ANSWER_YES)
      throw NotHere(std::string("the CPU is not let in: ") +
                    (*said.reason != '\0' ? said.reason : "not tried"));
    throw Failed("the probe was let in, and this process is not");
  }
  (imported ? importer : exporter)
      .ok("cpu_check", imported ? Message{{"seed", "1"}} : Message{{"mem", "1"}, {"seed", "1"}});
  importer.leave("importer");
  exporter.leave("exporter");
}

}  // namespace

std::vector<Step> probe_steps() {
  return {
      {"probe/run", run_probe},
      verdict("probe/export", &hb_hip_report::can_export, nullptr),
      verdict("probe/import", &hb_hip_report::can_import, nullptr),
      verdict("probe/host-on-own", &hb_hip_report::host_on_own, "no_host_grant"),
      verdict("probe/host-on-import", &hb_hip_report::host_on_import, "no_host_grant_on_import"),
      verdict("probe/query-safe", &hb_hip_report::query_safe, "import_query_crashes"),
      verdict("probe/clean", &hb_hip_report::clean, nullptr),
  };
}

std::vector<Step> gpu_steps() {
  return {
      step("gpu/one-chunk", [](Lab& lab, const Kind& kind) { share_and_compare(lab, kind, 1); }),
      step("gpu/three-chunks", [](Lab& lab, const Kind& kind) { share_and_compare(lab, kind, 3); }),
      step("gpu/part", [](Lab& lab, const Kind& kind) { import_a_part(lab, kind); }),
      step("gpu/host-access-own", [](Lab& lab, const Kind&) { host_access(lab, false); }),
      step("gpu/host-access-import", [](Lab& lab, const Kind&) { host_access(lab, true); }),
      step("gpu/exporter-killed", [](Lab& lab, const Kind& kind) { exporter_is_killed(lab, kind); }),
      step("gpu/withdraw", [](Lab& lab, const Kind& kind) { exporter_withdraws(lab, kind); }),
  };
}

std::vector<Step> peer_steps(const Lab& lab) {
  std::vector<std::int32_t> ordinals;
  for (std::size_t i = 0; i < hb_hip_look_device_count(lab.look()); ++i)
    if (const hb_hip_device* device = hb_hip_look_device_at(lab.look(), i); device->ordinal >= 0)
      ordinals.push_back(device->ordinal);
  if (ordinals.size() < 2)
    return {{"peers", [](Lab& here) {
               here.demand_gpu();
               throw NotHere("one GPU is visible; peers need two");
             }}};
  std::vector<Step> out;
  for (const std::int32_t owner : ordinals)
    out.push_back({"peers/memory-of-gpu-" + std::to_string(owner), [owner](Lab& here) {
                     here.demand_gpu();
                     constexpr std::uint64_t kLongest = 26'000'000'000;  // a helper that hangs
                     if (here.left_ns() < kLongest)
                       throw NotHere("the minute is over; `hipbrokerctl doctor --peers` compares all");
                     hb_error error = HB_ERROR_INIT;
                     if (hb_hip_look_peers(here.look(), owner, &error) != HB_OK) throw Failed(error.message);
                     std::string wrong;
                     std::string none;
                     std::size_t good = 0;
                     for (std::size_t i = 0; i < hb_hip_look_pair_count(here.look()); ++i) {
                       const hb_hip_pair* pair = hb_hip_look_pair_at(here.look(), i);
                       if (pair->owner != owner) continue;
                       if (pair->outcome == HB_PAIR_OK) {
                         ++good;
                         continue;
                       }
                       std::string& into = pair->outcome == HB_PAIR_NO_ACCESS ? none : wrong;
                       into += (into.empty() ? "" : "; ") + std::string(pair->reason);
                     }
                     if (!wrong.empty()) throw Failed(wrong);
                     if (good == 0) throw NotHere(none);
                   }});
  return out;
}

}  // namespace hb::selftest
