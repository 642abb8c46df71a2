// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <vector>

#include "abi.h"
#include "abi_hip.h"
#include "providers/hip/look.h"

using namespace hb::client;

// What the accessors hand out points into this object.
struct hb_hip_look {
  hip::Look look;
  std::string name;
  hb_hip_runtime runtime{};
  std::vector<hb_hip_device> devices;
  std::vector<hb_hip_issue> issues;
  std::vector<hip::Pair> known_pairs;
  std::vector<hb_hip_pair> pairs;

  hb_hip_look();
  void tell_issues();
  void tell_pairs();
};

namespace {

std::uint32_t weight_of(hip::Weight weight) {
  return weight == hip::Weight::kTrouble ? HB_ISSUE_TROUBLE
         : weight == hip::Weight::kNote  ? HB_ISSUE_NOTE
                                         : HB_ISSUE_HANDLED;
}

std::uint32_t outcome_of(hip::PairEnd end) { return static_cast<std::uint32_t>(end) + HB_PAIR_OK; }
static_assert(HB_PAIR_FAILED - HB_PAIR_OK == static_cast<int>(hip::PairEnd::kFailed));

}  // namespace

hb_hip_look::hb_hip_look() {
  const hip::Runtime::Seen& seen = look.seen();
  if (!seen.path.empty())
    name = seen.version == 0 ? seen.path : "HIP " + hip::version_text(seen.version) + " (" + seen.path + ")";
  runtime.status = look.refusal() != nullptr ? look.refusal()->status : HB_OK;
  runtime.reason = look.refusal() != nullptr ? look.refusal()->message.c_str() : "";
  runtime.name = name.c_str();
  runtime.path = seen.path.c_str();
  runtime.version = seen.version;
  runtime.copies = seen.copies;
  runtime.hsa_path = look.runtime() != nullptr ? look.runtime()->hsa_path().c_str() : "";
  runtime.kernel = look.kernel().c_str();
  runtime.amdgpu = look.amdgpu().c_str();
  runtime.variables = look.variables().c_str();
  for (const hip::Device& device : look.devices())
    devices.push_back({device.ordinal, device_id_of(device.id), device.gfx.c_str(), device.render_minor,
                       device.vmm ? 1 : 0, device.large_bar ? 1 : 0, device.in_kernel ? 1 : 0});
  tell_issues();
}

void hb_hip_look::tell_issues() {
  issues.clear();
  for (const hip::Issue& issue : look.issues())
    issues.push_back({issue.name, issue.text, issue.advice, weight_of(issue.weight), issue.seen ? 1 : 0,
                      issue.tabled ? 1 : 0});
}

void hb_hip_look::tell_pairs() {
  pairs.clear();
  for (const hip::Pair& pair : known_pairs)
    pairs.push_back({pair.owner, pair.other, outcome_of(pair.end), pair.reason.c_str()});
}

hb_status hb_hip_look_open(hb_hip_look** ret_look, hb_error* error) {
  return boundary(nullptr, error, [&]() -> Result<void> {
    if (ret_look == nullptr) return null_argument("ret_look");
    *ret_look = new hb_hip_look;
    return {};
  });
}

const hb_hip_runtime* hb_hip_look_runtime(const hb_hip_look* look) { return &look->runtime; }

size_t hb_hip_look_device_count(const hb_hip_look* look) { return look->devices.size(); }
const hb_hip_device* hb_hip_look_device_at(const hb_hip_look* look, size_t index) {
  return index < look->devices.size() ? &look->devices[index] : nullptr;
}

hb_status hb_hip_look_probe(hb_hip_look* look, int32_t device, int again, hb_hip_report* ret_report,
                            hb_error* error) {
  return boundary(nullptr, error, [&]() -> Result<void> {
    if (look == nullptr) return null_argument("look");
    if (auto sound = check_info(ret_report, "ret_report"); !sound) return sound;
    const auto report = look->look.probe(device, again != 0);
    if (!report) return tl::unexpected(report.error());
    look->tell_issues();
    for (const hip::Device& known : look->look.devices())
      if (known.ordinal == device) write_info(report_of(*look->look.runtime(), known, *report), ret_report);
    return {};
  });
}

size_t hb_hip_look_issue_count(const hb_hip_look* look) { return look->issues.size(); }
const hb_hip_issue* hb_hip_look_issue_at(const hb_hip_look* look, size_t index) {
  return index < look->issues.size() ? &look->issues[index] : nullptr;
}

hb_status hb_hip_look_peers(hb_hip_look* look, int32_t owner, hb_error* error) {
  return boundary(nullptr, error, [&]() -> Result<void> {
    if (look == nullptr) return null_argument("look");
    auto pairs = look->look.peers(owner);
    if (!pairs) return tl::unexpected(pairs.error());
    std::erase_if(look->known_pairs, [owner](const hip::Pair& pair) { return pair.owner == owner; });
    for (hip::Pair& pair : *pairs) look->known_pairs.push_back(std::move(pair));
    look->tell_pairs();
    return {};
  });
}

size_t hb_hip_look_pair_count(const hb_hip_look* look) { return look->pairs.size(); }
const hb_hip_pair* hb_hip_look_pair_at(const hb_hip_look* look, size_t index) {
  return index < look->pairs.size() ? &look->pairs[index] : nullptr;
}

void hb_hip_look_close(hb_hip_look* look) { delete look; }
