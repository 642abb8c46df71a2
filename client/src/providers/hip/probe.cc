// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/probe.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "clock.h"
#include "providers/hip/helper_path.h"
#include "providers/hip/helper_process.h"
#include "providers/hip/probe_cache.h"

namespace hb::client::hip {
namespace {

constexpr std::uint64_t kLimitNs = 20'000'000'000;
constexpr std::int64_t kKeepNoSeconds = 600;
constexpr std::uint64_t kLockWaitNs = 25'000'000'000;

// A file without a build id is known by what changes when it does.
std::string identity(const std::string& path, const std::string& build_id) {
  if (!build_id.empty()) return build_id;
  struct stat st {};
  if (path.empty() || ::stat(path.c_str(), &st) != 0) return "none";
  return path + ":" + std::to_string(st.st_ino) + ":" + std::to_string(st.st_size) + ":" +
         std::to_string(st.st_mtim.tv_sec) + "." + std::to_string(st.st_mtim.tv_nsec);
}

Findings all_no(const std::string& reason) {
  Findings out;
  for (Verdict& verdict : out.abilities) verdict = {Answer::kNo, reason};
  return out;
}

Findings not_tried(const std::string& why) {
  Findings out;
  for (Verdict& verdict : out.abilities) verdict.reason = "not tried: " + why;
  return out;
}

Findings all_yes_by_table(const Runtime& runtime) {
  const Quirks quirks(runtime.version());
  Findings out;
  for (Verdict& verdict : out.abilities) verdict.answer = Answer::kYes;
  const auto no = [&out](Ability ability, const char* reason) { out.of(ability) = {Answer::kNo, reason}; };
  if (!quirks.on(Quirk::kGrantsHost)) no(Ability::kHostOnOwn, "this version lets the CPU in from 7.2 on");
  if (!quirks.on(Quirk::kGrantsHostOnImport))
    no(Ability::kHostOnImport, "this version does not let the CPU in to imported memory");
  if (quirks.on(Quirk::kImportQueryCrashes))
    no(Ability::kQuerySafe, "this version is known to crash there (rocm-systems#11449)");
  return out;
}

Result<Findings> run(const Runtime& runtime, const Device& device) {
  const auto program = find_helper();
  if (!program) return tl::unexpected(program.error());
  auto end = run_helper({*program, runtime.path(), std::to_string(device.ordinal)}, kLimitNs);
  if (!end) return tl::unexpected(std::move(end.error()));
  return findings_of(*end);
}

// A no stops every program of this user: it is believed only when a second process, with a runtime started
// afresh, says it of the same ability. `note` says why it was not.
Result<Findings> run_until_sure(const Runtime& runtime, const Device& device, std::string& note) {
  auto first = run(runtime, device);
  if (!first || !first->refuses() || first->hung) return first;
  auto second = run(runtime, device);
  if (!second) {
    first->transient = true;
    return first;
  }
  const auto same = [&](Ability ability) { return first->of(ability).answer == second->of(ability).answer; };
  if (second->refuses() && same(Ability::kExport) && same(Ability::kImport)) {
    second->transient = second->transient || first->transient;
    return second;
  }
  const bool export_no = first->of(Ability::kExport).answer == Answer::kNo;
  note = "tried twice with two outcomes, not remembered; one was: " +
         first->of(export_no ? Ability::kExport : Ability::kImport).reason;
  const auto yes_count = [](const Findings& findings) {
    return (findings.can(Ability::kExport) ? 1 : 0) + (findings.can(Ability::kImport) ? 1 : 0);
  };
  Findings better = yes_count(*second) >= yes_count(*first) ? std::move(*second) : std::move(*first);
  // This process may keep a yes.
  if (better.refuses()) better.transient = true;
  return better;
}

bool expired(const Findings& findings, std::int64_t age_s) {
  return findings.refuses() && (age_s < 0 || age_s >= kKeepNoSeconds);
}

std::optional<Findings> remembered(const ProbeCache& cache) {
  auto known = cache.read();
  if (!known || expired(known->findings, known->age_s)) return std::nullopt;
  return std::move(known->findings);
}

enum class Trial { kAnew, kUnlessKnown, kNever };

ProbeReport report_of(const Runtime& runtime, const Device& device, const std::string& sysfs_root,
                      Trial trial) {
  const bool look_up = trial != Trial::kAnew;
  const char* mode_text = ::secure_getenv("HIPBROKER_PROBE");
  const std::string mode = mode_text == nullptr || *mode_text == '\0' ? "auto" : mode_text;
  if (const KnownBad* bad = known_bad(runtime.version()); bad != nullptr)
    return {all_no(bad->reason), "known", ""};
  if (mode == "assume") return {all_yes_by_table(runtime), "assumed", ""};
  if (mode != "auto" && mode != "off")
    return {not_tried("HIPBROKER_PROBE is '" + mode + "'; it is auto, off or assume"), "off", ""};

  auto cache = ProbeCache::open(probe_key(runtime, device, sysfs_root));
  std::string note = cache ? "" : cache.error().message;
  if (cache && look_up)
    if (auto known = remembered(*cache)) return {std::move(*known), "remembered", ""};
  if (trial == Trial::kNever) return {Findings(), "", note};
  if (mode == "off")
    return {not_tried(look_up ? "HIPBROKER_PROBE=off, and nothing is remembered of this runtime"
                              : "HIPBROKER_PROBE=off, so that nothing can be tried anew"),
            "off", note};
  if (cache && !cache->lock(after_ns(kLockWaitNs))) {
    note = "another process holds the lock of the remembered answers";
  } else if (cache && look_up) {
    // Whoever had the lock has answered by now.
    if (auto known = remembered(*cache)) return {std::move(*known), "remembered", ""};
  }
  std::string outcomes;
  auto findings = run_until_sure(runtime, device, outcomes);
  if (!findings)
    return {
        not_tried(
            findings.error().message +
            ". Install hipbroker-probe, name it in HIPBROKER_PROBE_HELPER, or set HIPBROKER_PROBE=assume"),
        "off", findings.error().message};
  if (!outcomes.empty())
    note = outcomes;
  else if (cache && !findings->transient)
    if (auto written = cache->write(*findings); !written) note = written.error().message;
  return {std::move(*findings), "run", note};
}

// Of this process, by GPU target.
struct Known {
  std::mutex trying;  // held while the helper runs

  std::optional<ProbeReport> find(const std::string& gfx) {
    const std::lock_guard guard(lock);
    const auto found = reports.find(gfx);
    if (found == reports.end()) return std::nullopt;
    const auto age = static_cast<std::int64_t>((now_ns() - found->second.since_ns) / 1'000'000'000u);
    if (expired(found->second.report.findings, age)) return std::nullopt;
    return found->second.report;
  }
  void keep(const std::string& gfx, const ProbeReport& report) {
    const std::lock_guard guard(lock);
    reports[gfx] = {report, now_ns()};
  }
  bool first_look(const std::string& gfx) {
    const std::lock_guard guard(lock);
    return looked.insert(gfx).second;
  }

 private:
  std::mutex lock;
  struct Entry {
    ProbeReport report;
    std::uint64_t since_ns = 0;
  };
  std::map<std::string, Entry> reports;
  std::set<std::string> looked;
};

Known& known_here() {
  static auto* known = new Known;
  return *known;
}

}  // namespace

std::string probe_key(const Runtime& runtime, const Device& device, const std::string& sysfs_root) {
  utsname name{};
  static_cast<void>(::uname(&name));
  std::string key = "hip " + identity(runtime.path(), runtime.build_id()) + " " +
                    version_text(runtime.version()) + "\nhsa " +
                    identity(runtime.hsa_path(), runtime.hsa_build_id()) + "\nkernel " + name.release +
                    "\namdgpu " + amdgpu_version(sysfs_root) + "\ngfx " + device.gfx + "\n";
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    for (const std::string_view prefix : {"HSA_", "HIP_", "ROCR_", "CUDA_VISIBLE_DEVICES=", "GPU_"})
      if (variable.starts_with(prefix)) variables.emplace_back(variable.substr(0, variable.find('\n')));
  }
  std::sort(variables.begin(), variables.end());
  for (const std::string& variable : variables) key += variable + "\n";
  return key;
}

Findings findings_of(const HelperEnd& end) {
  Findings out;
  std::string step;
  bool complete = false;
  for (std::size_t start = 0; start < end.output.size();) {
    const std::size_t stop = std::min(end.output.find('\n', start), end.output.size());
    const std::string line = end.output.substr(start, stop - start);
    start = stop + 1;
    if (line == "end") complete = true;
    if (line.starts_with("begin ")) step = line.substr(6);
    static_cast<void>(out.take_line(line));
  }
  // What ends well and answers nothing was not the helper.
  if (complete && out.of(Ability::kExport).answer != Answer::kUnknown) {
    for (Verdict& verdict : out.abilities)
      if (verdict.answer == Answer::kUnknown) verdict.reason = "not tried: it needs export and import";
    return out;
  }

  // "ABILITY what was done"
  const std::string doing =
      step.find(' ') != std::string::npos ? step.substr(step.find(' ') + 1) : "starting";
  std::string reason = "the helper that tries the runtime out ";
  if (end.timed_out)
    reason +=
        "did not end within 20 s: " + doing + ". The driver may hang (dmesg), or another process has the GPU";
  else if (end.signal != 0)
    reason += "died of " + signal_text(end.signal) + ": " + doing;
  else
    reason += "ended with status " + std::to_string(end.exit_code) + ": " + doing;
  const bool crashed = end.signal == SIGSEGV || end.signal == SIGABRT || end.signal == SIGBUS ||
                       end.signal == SIGFPE || end.signal == SIGILL;
  out.transient = out.transient || !crashed;
  out.hung = end.timed_out;
  for (std::size_t i = 0; i < kAbilities; ++i) {
    const auto ability = static_cast<Ability>(i);
    Verdict& verdict = out.of(ability);
    if (verdict.answer != Answer::kUnknown) continue;
    const bool here = step.starts_with(std::string(ability_name(ability)) + " ");
    // Without these two nothing works; of the rest the table of versions may still know.
    if (here || step.empty() || ability == Ability::kExport || ability == Ability::kImport)
      verdict = {Answer::kNo, reason};
    else
      verdict.reason = "not tried: " + reason;
  }
  return out;
}

ProbeReport probe_now(const Runtime& runtime, const Device& device, const std::string& sysfs_root) {
  return report_of(runtime, device, sysfs_root, Trial::kAnew);
}

ProbeReport probe(const Runtime& runtime, const Device& device, const std::string& sysfs_root) {
  Known& known = known_here();
  const std::lock_guard guard(known.trying);
  if (auto report = known.find(device.gfx)) return *report;
  ProbeReport report = report_of(runtime, device, sysfs_root, Trial::kUnlessKnown);
  if (!report.findings.transient) known.keep(device.gfx, report);
  return report;
}

ProbeReport probe_known(const Runtime& runtime, const Device& device, const std::string& sysfs_root) {
  Known& known = known_here();
  if (auto report = known.find(device.gfx)) return *report;
  // Once: what another process finds out later is learnt by the next probe() here.
  if (!known.first_look(device.gfx)) return {};
  ProbeReport report = report_of(runtime, device, sysfs_root, Trial::kNever);
  if (!report.source.empty()) known.keep(device.gfx, report);
  return report;
}

Result<void> demand(const Runtime& runtime, const ProbeReport& report, Ability ability) {
  const Verdict& verdict = report.findings.of(ability);
  if (verdict.answer == Answer::kYes) return {};
  std::string message = runtime.name() + " cannot do this here (" + ability_name(ability) +
                        "): " + (verdict.reason.empty() ? "it was not tried" : verdict.reason);
  if (report.source == "remembered" && verdict.answer == Answer::kNo)
    message += ". This is a remembered answer; `hipbrokerctl doctor --again` tries anew";
  return fail(HB_UNSUPPORTED, std::move(message));
}

}  // namespace hb::client::hip
