// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "abi_hip.h"

#include "abi.h"
#include "providers/hip/provider.h"

using namespace hb::client;

namespace hb::client {

Result<DeviceSet> read_devices(const std::int32_t* ordinals, std::size_t count, PeersOf of) {
  constexpr std::size_t kMost = 1024;  // far beyond any node; a count that is no count must not be copied
  DeviceSet set;
  set.all = count == HB_ALL_VISIBLE;
  set.exporters = count == HB_EXPORTER_PEERS;
  if (set.exporters && of != PeersOf::kImport)
    return fail(HB_INVALID, "HB_EXPORTER_PEERS is for imports: own memory has no other exporter");
  if (set.all || set.exporters || count == 0) return set;
  if (ordinals == nullptr) return null_argument("peers");
  if (count > kMost)
    return fail(limit_error(HB_INVALID, "peer_count", count, kMost,
                            "peer_count is " + std::to_string(count) + "; at most " + std::to_string(kMost) +
                                ", or HB_ALL_VISIBLE, or HB_EXPORTER_PEERS for imports"));
  set.ordinals.assign(ordinals, ordinals + count);
  return set;
}

Result<HostAccess> read_host_access(std::uint32_t host_access) {
  if (host_access > HB_HOST_REQUIRE)
    return fail(HB_INVALID, "host_access must be HB_HOST_NONE, HB_HOST_PREFER or HB_HOST_REQUIRE");
  return static_cast<HostAccess>(host_access);
}

Result<DeviceId> read_device_id(const hb_device_id* id) {
  if (id == nullptr) return DeviceId();
  DeviceId out{std::string(id->uuid, ::strnlen(id->uuid, sizeof id->uuid)),
               std::string(id->pci, ::strnlen(id->pci, sizeof id->pci)), id->partition};
  if (out.pci.empty())
    return fail(HB_INVALID, "a device's identity needs its pci address, as hb_memory_info tells it");
  return out;
}

}  // namespace hb::client

namespace {

void put(const hip::Verdict& verdict, hb_verdict& out) noexcept {
  out.answer = verdict.answer == hip::Answer::kYes  ? HB_ANSWER_YES
               : verdict.answer == hip::Answer::kNo ? HB_ANSWER_NO
                                                    : HB_ANSWER_UNKNOWN;
  copy_text(verdict.reason, out.reason);
}

}  // namespace

namespace hb::client {

hb_hip_report report_of(const hip::Runtime& runtime, const hip::Device& device,
                        const hip::ProbeReport& report) noexcept {
  hb_hip_report out{};
  copy_text(runtime.name(), out.runtime);
  copy_text(report.source, out.source);
  copy_text(report.note, out.note);
  out.ordinal = device.ordinal;
  out.device = device_id_of(device.id);
  const hip::Findings& findings = report.findings;
  put(findings.of(hip::Ability::kExport), out.can_export);
  put(findings.of(hip::Ability::kImport), out.can_import);
  put(findings.of(hip::Ability::kHostOnOwn), out.host_on_own);
  put(findings.of(hip::Ability::kHostOnImport), out.host_on_import);
  put(findings.of(hip::Ability::kQuerySafe), out.query_safe);
  put(findings.of(hip::Ability::kClean), out.clean);
  return out;
}

}  // namespace hb::client

hb_status hb_hip_probe(int32_t device, hb_hip_report* ret_report, hb_error* error) {
  return boundary(nullptr, error, [&]() -> Result<void> {
    if (auto sound = check_info(ret_report, "ret_report"); !sound) return sound;
    const auto known = hip::known_of(device);
    if (!known) return tl::unexpected(known.error());
    write_info(report_of(*known->context->runtime, known->device, known->report), ret_report);
    return {};
  });
}
