// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/look.h"

#include <algorithm>

#include "hipbroker/hipbroker.h"
#include "providers/hip/helper_path.h"
#include "providers/hip/helper_process.h"
#include "providers/hip/topology.h"

namespace hb::client::hip {

namespace {

constexpr std::uint64_t kStartNs = 20'000'000'000;

// Who looks must not hang or die with a runtime that does: it is started in the helper first, where this
// process has none yet. nullopt: nothing is known against it.
std::optional<Error> start_elsewhere() {
  if (Runtime::is_loaded()) return std::nullopt;
  const auto program = find_helper();
  if (!program) return std::nullopt;  // what needs it will say so
  const auto end = run_helper({*program, "--start"}, kStartNs);
  // Here it would fail for the same reason, and not say so.
  if (!end && end.error().status == HB_NO_FDS) return end.error();
  if (!end || (end->signal == 0 && !end->timed_out)) return std::nullopt;
  Error error;
  error.status = HB_SYSTEM;
  error.message = "starting the HIP runtime in a helper process " +
                  (end->timed_out ? std::string("did not end within 20 s; the driver may hang (dmesg)")
                                  : "ended with " + signal_text(end->signal)) +
                  ": it is not loaded here";
  return error;
}

}  // namespace

Look::Look() : root_(sysfs_root()), variables_(visibility_variables()) {
  kernel_ = kernel_release(root_);
  if (amdgpu_loaded(root_)) amdgpu_ = amdgpu_version(root_);
  auto crash = start_elsewhere();
  auto runtime = crash ? Result<std::shared_ptr<const Runtime>>(fail(*crash)) : Runtime::get(&seen_);
  if (crash) seen_.copies = 1;
  if (!runtime) {
    refusal_ = std::move(runtime.error());
  } else {
    runtime_ = *runtime;
    seen_ = {runtime_->path(), runtime_->version(), 1};
    auto table = DeviceTable::read(*runtime_, root_);
    if (table) {
      table_ = std::make_unique<DeviceTable>(std::move(*table));
      devices_ = table_->devices();
    } else {
      refusal_ = std::move(table.error());
    }
  }
  const std::size_t shown = devices_.size();
  for (const KfdNode& node : kfd_nodes(root_)) {
    const auto end = devices_.begin() + static_cast<std::ptrdiff_t>(shown);
    const bool known = std::any_of(devices_.begin(), end, [&node](const Device& device) {
      return device.id.pci == node.pci && (!device.in_kernel || device.id.partition == node.partition);
    });
    if (known) continue;
    Device device;
    device.id.pci = node.pci;
    device.id.partition = node.partition;
    device.id.uuid = uuid_of(node.unique_id);
    device.render_minor = node.render_minor;
    device.gfx = node.gfx;
    device.in_kernel = true;
    devices_.push_back(std::move(device));
  }
}

Result<const Device*> Look::at(int ordinal) const {
  if (refusal_) return fail(*refusal_);
  if (const Device* device = table_->at(ordinal); device != nullptr) return device;
  return fail(limit_error(HB_DEVICE, "device", static_cast<std::uint64_t>(ordinal), table_->devices().size(),
                          "device " + std::to_string(ordinal) + " is asked for; this process sees " +
                              std::to_string(table_->devices().size()) + ", counted from 0"));
}

Result<ProbeReport> Look::probe(int ordinal, bool again) {
  const auto device = at(ordinal);
  if (!device) return tl::unexpected(device.error());
  ProbeReport report = again ? probe_now(*runtime_, **device, root_) : hip::probe(*runtime_, **device, root_);
  // What was not tried was not seen.
  if (report.source == "run" || report.source == "remembered") findings_[ordinal] = report.findings;
  return report;
}

std::vector<Issue> Look::issues() const {
  std::vector<Findings> seen;
  for (const auto& [ordinal, findings] : findings_) seen.push_back(findings);
  const bool too_old = known_bad(seen_.version) != nullptr;
  // Without a GPU in it the kernel is nobody's trouble.
  if (seen_.version == 0 && amdgpu_.empty()) return {};
  return issues_of(too_old ? 0 : seen_.version, seen, kernel_, amdgpu_);
}

Result<std::vector<Pair>> Look::peers(int owner) const {
  const auto device = at(owner);
  if (!device) return tl::unexpected(device.error());
  return check_peers(*runtime_, *table_, owner);
}

}  // namespace hb::client::hip
