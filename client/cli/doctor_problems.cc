// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What of a diagnosis is a problem, how bad, and what to do about it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "diagnosis.h"
#include "exit_codes.h"
#include "format.h"
#include "sandbox_view.h"

namespace hb::cli {
namespace {

using Problems = std::vector<Problem>;

constexpr const char* kInstall =
    "install ROCm 6.2 or newer (rocm.docs.amd.com), or name the runtime that your framework brings in "
    "HIPBROKER_HIP_RUNTIME. Host memory works without it";

// The variable's value is what is to be mended, where it names a runtime.
std::string runtime_advice() {
  const char* named = std::getenv("HIPBROKER_HIP_RUNTIME");
  if (named == nullptr || *named == '\0') return kInstall;
  return fmt::format(
      "HIPBROKER_HIP_RUNTIME names {}: let it name a libamdhip64.so of ROCm 6.2 or newer, or unset it",
      named);
}

const char* mode() {
  const char* text = std::getenv("HIPBROKER_PROBE");
  return text == nullptr ? "" : text;
}

std::string more_descriptors(const Limits& limits) {
  return limits.descriptors_hard > limits.descriptors_soft
             ? fmt::format("ulimit -n {}, or LimitNOFILE= in the unit",
                           std::min<std::uint64_t>(limits.descriptors_hard, 1'048'576))
             : "raise the hard limit (limits.conf, LimitNOFILE=)";
}

// "GPU 0 (0000:03:00.0): ", "GPUs 0-3, 6: ".
std::string gpus_text(const Diagnosis& d, const std::vector<std::int32_t>& gpus) {
  if (gpus.size() == 1)
    for (const hb_hip_device* device : d.devices())
      if (device->ordinal == gpus[0]) return fmt::format("GPU {} ({}): ", gpus[0], device->id.pci);
  std::string out;
  for (std::size_t first = 0, last = 0; first < gpus.size(); first = last + 1) {
    for (last = first; last + 1 < gpus.size() && gpus[last + 1] == gpus[last] + 1;) ++last;
    out += fmt::format("{}{}", out.empty() ? "GPUs " : ", ", gpus[first]);
    if (last > first) out += fmt::format("-{}", gpus[last]);
  }
  return out + ": ";
}

// One row for what several GPUs have in common.
void join_gpus(const Diagnosis& d, Problems& out) {
  Problems joined;
  for (Problem& problem : out) {
    // Its name stands in front.
    for (const hb_hip_device* device : d.devices()) {
      const std::string name = fmt::format("{} at {}", device->id.uuid, device->id.pci);
      if (problem.gpus.size() != 1 || device->ordinal != problem.gpus[0]) continue;
      for (std::size_t at; (at = problem.text.find(name)) != std::string::npos;)
        problem.text.replace(at, name.size(), "this GPU");
    }
    const auto same = std::ranges::find_if(joined, [&problem](const Problem& p) {
      return !problem.gpus.empty() && !p.gpus.empty() && p.name == problem.name && p.grade == problem.grade &&
             p.text == problem.text && p.advice == problem.advice;
    });
    if (same == joined.end())
      joined.push_back(std::move(problem));
    else
      same->gpus.insert(same->gpus.end(), problem.gpus.begin(), problem.gpus.end());
  }
  for (Problem& problem : joined)
    if (!problem.gpus.empty()) problem.text = gpus_text(d, problem.gpus) + problem.text;
  out = std::move(joined);
}

bool kernel_has_gpus(const Diagnosis& d) {
  return std::ranges::any_of(d.devices(), [](const hb_hip_device* device) { return device->ordinal < 0; });
}

void judge_sandbox(const Diagnosis& d, Problems& out) {
  const std::uint64_t bits = d.daemon_status.sandbox;
  if ((bits & HB_SANDBOX_TOLD) == 0 || bits == HB_SANDBOX_WHOLE) return;
  const bool off = bits == HB_SANDBOX_TOLD;
  out.push_back({Grade::kNote, "sandbox",
                 off ? "the daemon runs without its sandbox"
                     : fmt::format("the daemon's sandbox is without: {}", sandbox_missing(bits)),
                 off ? "leave out --sandbox off and sandbox = \"off\", unless you look into the daemon"
                     : "its log says at the start why; Linux 5.13 with lsm=landlock and seccomp has all"});
}

void judge_restart(const Diagnosis& d, Problems& out) {
  const hb_daemon_status& status = d.daemon_status;
  if (*status.restart_reason == '\0') return;  // it is, or the daemon does not tell
  out.push_back({Grade::kNote, "not_restart_safe",
                 "a restart of the daemon would lose something: " + safe(status.restart_reason),
                 "run it as a service of systemd with FileDescriptorStoreMax= and enough LimitNOFILE="});
}

void judge_daemon(const Diagnosis& d, Problems& out) {
  if (d.daemon_answers) {
    judge_sandbox(d, out);
    return judge_restart(d, out);
  }
  if (d.daemon_exit == kNoDaemon)
    out.push_back({Grade::kWarning, "no_daemon", d.daemon_error,
                   std::string(kStartADaemon) + ", then run doctor again"});
  else
    out.push_back({Grade::kBroken, "daemon", d.daemon_error,
                   "its folder must belong to root, the daemon or you, closed to the writing of others "
                   "(docs/hipbrokerd.md); --socket PATH or HIPBROKER_SOCKET names another daemon"});
}

// Without access to it the runtime sees no GPU and does not say why.
void judge_device_file(const Diagnosis& d, Problems& out) {
  if (*d.runtime().amdgpu == '\0' || ::access("/dev/kfd", R_OK | W_OK) == 0) return;
  const int code = errno;
  out.push_back(
      {Grade::kBroken, "dev_kfd",
       fmt::format("/dev/kfd cannot be opened: {} ({})", ::strerrorname_np(code), std::strerror(code)),
       code == ENOENT ? "in a container pass --device=/dev/kfd --device=/dev/dri"
                      : "add this user to the group that owns it (render), and log in anew"});
}

void judge_runtime(const Diagnosis& d, Problems& out) {
  const hb_hip_runtime& runtime = d.runtime();
  if (runtime.status == HB_OK) return;
  if (runtime.status == HB_NO_FDS) return;  // judge_limits
  const bool named = std::getenv("HIPBROKER_HIP_RUNTIME") != nullptr;
  const std::string reason = runtime.reason;
  if (runtime.status == HB_DEVICE) {
    const bool hidden = *runtime.variables != '\0';
    const bool there = kernel_has_gpus(d);
    out.push_back({there || hidden ? Grade::kBroken : Grade::kWarning, "no_gpu", reason,
                   hidden  ? fmt::format("unset what hides them: {}", runtime.variables)
                   : there ? "see whether /dev/kfd and /dev/dri/renderD* may be opened by this user"
                           : "nothing, if this node has no AMD GPU; else load the amdgpu driver"});
    judge_device_file(d, out);
  } else if (runtime.status == HB_SYSTEM) {
    out.push_back({Grade::kBroken, "runtime_crashes", reason,
                   "see dmesg, and whether rocminfo works; reload amdgpu or reboot where the driver hangs"});
  } else if (runtime.copies > 1) {
    out.push_back({Grade::kBroken, "two_runtimes", reason,
                   "look for the second one in LD_PRELOAD, LD_LIBRARY_PATH and HIPBROKER_HIP_RUNTIME"});
  } else if (runtime.version == 0 && runtime.copies == 0) {
    out.push_back({named ? Grade::kBroken : Grade::kWarning, "no_runtime", reason, runtime_advice()});
  } else {
    out.push_back({Grade::kBroken, "runtime_refused", reason, runtime_advice()});
    if (runtime.version == 0) judge_device_file(d, out);
  }
}

void judge_hidden(const Diagnosis& d, Problems& out) {
  if (d.runtime().status != HB_OK) return;
  std::string hidden;
  for (const hb_hip_device* device : d.devices())
    if (device->ordinal < 0)
      hidden += fmt::format("{}{}{}", hidden.empty() ? "" : ", ", device->id.pci,
                            device->id.partition != 0 ? fmt::format("/{}", device->id.partition) : "");
  if (hidden.empty()) return;
  const std::string variables = d.runtime().variables;
  out.push_back({Grade::kNote, "hidden_gpus",
                 fmt::format("the kernel has GPUs that are hidden from this process: {}", hidden),
                 variables.empty()
                     ? "no *_VISIBLE_DEVICES variable is set: see whether their /dev/dri/renderD* may be "
                       "opened by this user"
                     : fmt::format("they are hidden by {}; unset it to see them", variables)});
}

void judge_verdict(const hb_hip_device& device, const char* name, const hb_verdict& verdict, Grade grade,
                   Problems& out) {
  if (verdict.answer == HB_ANSWER_YES) return;
  const bool no = verdict.answer == HB_ANSWER_NO;
  out.push_back({no ? grade : Grade::kWarning,
                 std::string("gpu_") + name,
                 fmt::format("{}: {}", name, *verdict.reason != '\0' ? verdict.reason : "not tried"),
                 no ? "`hipbrokerctl doctor --again` tries it anew; where it stays, `hipbroker-selftest` "
                      "shows each step "
                      "and dmesg what the driver says"
                    : "`hipbrokerctl doctor --again` tries it anew",
                 {device.ordinal}});
}

void judge_device(const Diagnosis& d, std::size_t index, Problems& out) {
  const hb_hip_device& device = *d.devices()[index];
  const Tried& tried = d.tried[index];
  if (device.ordinal < 0) return;
  if (!tried.done) {
    if (d.runtime().status == HB_OK)  // else told with the runtime
      out.push_back({Grade::kBroken,
                     "probe",
                     tried.error,
                     "`hipbroker-selftest` shows each step, dmesg what the driver says",
                     {device.ordinal}});
    return;
  }
  const hb_hip_report& report = tried.report;
  if (std::strcmp(report.source, "off") == 0) {
    const bool off = std::strcmp(mode(), "off") == 0;
    const bool known = off || *mode() == '\0' || std::strcmp(mode(), "auto") == 0;
    out.push_back({off ? Grade::kWarning : Grade::kBroken,
                   "probe",
                   report.can_export.reason,
                   off ? "unset HIPBROKER_PROBE: then each GPU is tried out once"
                   : known
                       ? "install hipbroker-probe beside the library or name it in HIPBROKER_PROBE_HELPER; "
                         "HIPBROKER_PROBE=assume believes the table of versions instead"
                       : "unset HIPBROKER_PROBE, or set it to auto, off or assume",
                   {device.ordinal}});
    return;
  }
  if (std::strcmp(report.source, "assumed") == 0)
    out.push_back({Grade::kWarning,
                   "probe",
                   "nothing was tried, HIPBROKER_PROBE=assume believes the table of versions",
                   "unset HIPBROKER_PROBE",
                   {device.ordinal}});
  judge_verdict(device, "export", report.can_export, Grade::kBroken, out);
  judge_verdict(device, "import", report.can_import, Grade::kBroken, out);
  if (report.clean.answer == HB_ANSWER_NO) judge_verdict(device, "clean", report.clean, Grade::kWarning, out);
  const std::string note = report.note;
  if (note.find("two outcomes") != std::string::npos)
    out.push_back(
        {Grade::kWarning,
         "probe_unsteady",
         note,
         "see dmesg: a call into the driver fails now and then; every process tries the runtime out "
         "anew until two tries agree",
         {device.ordinal}});
  else if (!note.empty())
    out.push_back(
        {Grade::kNote,
         "probe_not_remembered",
         note,
         "let XDG_CACHE_HOME name a folder of yours (without it /tmp/hipbroker-UID is used, mode 0700); "
         "until then every process tries the runtime out anew",
         {device.ordinal}});
  if (device.large_bar == 0)
    out.push_back({Grade::kNote, "small_bar",
                   fmt::format("GPU {} ({}) has no large BAR: the CPU cannot reach its memory",
                               device.ordinal, device.id.pci),
                   "switch on Resizable BAR (Above 4G Decoding) in the firmware where the board has it"});
  if (device.in_kernel == 0 && *d.runtime().amdgpu != '\0')
    out.push_back(
        {Grade::kNote, "not_joined",
         fmt::format("GPU {} ({}) is not found in the kernel's list: its partition and render node are "
                     "unknown",
                     device.ordinal, device.id.pci),
         "make /sys/class/kfd readable (in a container)"});
}

void judge_issues(const Diagnosis& d, Problems& out) {
  for (const hb_hip_issue* issue : d.issues()) {
    if (issue->weight == HB_ISSUE_HANDLED) continue;
    const bool unexpected = issue->seen != 0 && issue->tabled == 0;
    out.push_back({issue->weight == HB_ISSUE_TROUBLE || unexpected ? Grade::kWarning : Grade::kNote,
                   issue->name,
                   fmt::format("{} ({})", issue->text,
                               issue->seen != 0 ? "seen here" : "known of this version, not tried here"),
                   issue->advice});
  }
}

void judge_limits(const Diagnosis& d, Problems& out) {
  const Limits& limits = d.limits;
  constexpr std::uint64_t kFew = 1'024;
  // Whatever failed for want of them is one problem, not one a GPU.
  const auto is_mark = [](const std::string& text) {
    return text.find("RLIMIT_NOFILE") != std::string::npos || text.find("EMFILE") != std::string::npos;
  };
  std::string broken = d.runtime().status == HB_NO_FDS ? d.runtime().reason : "";
  std::erase_if(out, [&broken, &is_mark](const Problem& problem) {
    const bool here = problem.grade != Grade::kNote && is_mark(problem.text);
    if (here && broken.empty()) broken = problem.text;
    return here;
  });
  if (!broken.empty() && broken.find("RLIMIT_NOFILE") == std::string::npos)
    broken += fmt::format("; RLIMIT_NOFILE is {} and {} were open", limits.descriptors_soft,
                          limits.descriptors_open);
  if (!broken.empty())
    out.push_back({Grade::kBroken, "few_descriptors", broken, more_descriptors(limits)});
  else if (limits.descriptors_soft <= kFew)
    out.push_back(
        {Grade::kNote, "few_descriptors",
         fmt::format("RLIMIT_NOFILE is {}: memory in more than {} chunks cannot be shared by one process",
                     limits.descriptors_soft, limits.chunks()),
         more_descriptors(limits) + "; or larger chunks"});
}

void judge_peers(const Diagnosis& d, Problems& out) {
  if (!d.peers_error.empty())
    out.push_back(
        {Grade::kBroken, "peers", d.peers_error,
         "install hipbroker-probe beside the library or name it in HIPBROKER_PROBE_HELPER, where it is "
         "that; else dmesg has what the driver says"});
  for (const hb_hip_pair* pair : d.pairs()) {
    const std::string text =
        fmt::format("GPU {} with memory of GPU {}: {}", pair->other, pair->owner, pair->reason);
    switch (pair->outcome) {
      case HB_PAIR_OK:
        break;
      case HB_PAIR_NO_ACCESS:
        out.push_back({Grade::kNote, "peer_no_access", text, "leave that GPU out of `peers`"});
        break;
      case HB_PAIR_WRONG_BYTES:
        out.push_back(
            {Grade::kBroken, "peer_wrong_bytes", text,
             "trust no data that these two share: switch PCIe ACS off or boot with iommu=pt, and until "
             "then leave that GPU out of `peers`"});
        break;
      default:
        out.push_back({Grade::kBroken, "peer_failed", text, "leave that GPU out of `peers`, and see dmesg"});
    }
  }
}

}  // namespace

const char* grade_word(Grade grade) {
  switch (grade) {
    case Grade::kFine:
      return "fine";
    case Grade::kNote:
      return "note";
    case Grade::kWarning:
      return "warning";
    case Grade::kBroken:
      return "broken";
  }
  return "broken";
}

std::vector<Problem> problems_of(const Diagnosis& d) {
  Problems out;
  judge_runtime(d, out);
  judge_daemon(d, out);
  for (std::size_t i = 0; i < d.tried.size(); ++i) judge_device(d, i, out);
  join_gpus(d, out);
  judge_peers(d, out);
  judge_hidden(d, out);
  judge_issues(d, out);
  judge_node(d.node, out);
  judge_limits(d, out);
  std::ranges::stable_sort(out, std::ranges::greater(), &Problem::grade);
  return out;
}

Grade worst_of(const std::vector<Problem>& problems) {
  return problems.empty() ? Grade::kFine : problems.front().grade;  // sorted, worst first
}

}  // namespace hb::cli
