// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/device.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "providers/hip/driver.h"

namespace hb::client::hip {
namespace {

// 16 characters, padded with zeros; boards without one have "XX" or nothing.
std::string uuid_text(const Uuid& uuid) {
  std::string out(uuid.bytes, ::strnlen(uuid.bytes, sizeof uuid.bytes));
  const bool printable = std::all_of(out.begin(), out.end(), [](unsigned char c) { return std::isgraph(c); });
  if (out.empty() || out.starts_with("XX") || !printable) return {};
  return "GPU-" + out;
}

// Which kernel node each device is. Where partitions share address and unique id, nothing in HIP's answers
// tells them apart: they are taken in order, but only while all of them are visible.
void join(std::vector<Device>& devices, const std::vector<unsigned>& functions,
          const std::vector<KfdNode>& nodes) {
  const auto take = [](Device& device, const KfdNode& node) {
    device.in_kernel = true;
    device.id.partition = node.partition;
    device.render_minor = node.render_minor;
    device.gfx = node.gfx;
    if (device.id.uuid.empty()) device.id.uuid = uuid_of(node.unique_id);
  };
  for (std::size_t i = 0; i < devices.size(); ++i) {
    Device& device = devices[i];
    std::vector<const KfdNode*> here;
    for (const KfdNode& node : nodes)
      if (node.pci == device.id.pci) here.push_back(&node);
    std::vector<const KfdNode*> named;
    for (const KfdNode* node : here)
      if (node->unique_id != 0 && uuid_of(node->unique_id) == device.id.uuid) named.push_back(node);
    if (!named.empty()) here = named;
    if (here.size() > 1 && functions[i] != 0)
      std::erase_if(here, [&](const KfdNode* node) { return node->partition != functions[i]; });
    if (here.size() > 1) {
      std::size_t before = 0;
      std::size_t alike = 0;
      for (std::size_t k = 0; k < devices.size(); ++k) {
        if (devices[k].id.pci != device.id.pci || (!named.empty() && devices[k].id.uuid != device.id.uuid))
          continue;
        ++alike;
        if (k < i) ++before;
      }
      if (alike == here.size()) here = {here[before]};
    }
    if (here.size() == 1) take(device, *here[0]);
  }
}

std::string environment_text() {
  const std::string out = visibility_variables();
  return out.empty() ? "no *_VISIBLE_DEVICES variable is set" : out;
}

}  // namespace

std::string uuid_of(std::uint64_t unique_id) {
  if (unique_id == 0) return {};
  char text[32];
  std::snprintf(text, sizeof text, "GPU-%016llx", static_cast<unsigned long long>(unique_id));
  return text;
}

std::string visibility_variables() {
  std::string out;
  for (const char* name : {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
    if (const char* value = std::getenv(name); value != nullptr)
      out += (out.empty() ? "" : ", ") + std::string(name) + "=" + value;
  return out;
}

Result<DeviceTable> DeviceTable::read(const Runtime& runtime, const std::string& root) {
  const HipTable& hip = runtime.hip();
  const DriverScope scope(hip, DriverScope::kAnyDevice);
  const std::string doing = "looking for GPUs with " + runtime.name();
  // A runtime without a GPU may say so at any first call.
  if (scope.failed_call() != nullptr && scope.code() != kNoDevice)
    return fail(driver_error(hip, scope.failed_call(), scope.code(), doing, HB_DEVICE));
  int count = 0;
  const HipError counted = hip.hipGetDeviceCount(&count);
  if (counted != kSuccess && counted != kNoDevice)
    return fail(driver_error(hip, "hipGetDeviceCount", counted, doing, HB_DEVICE));
  if (counted == kNoDevice || count <= 0)
    return fail(HB_DEVICE, runtime.name() + " shows no GPU in this process (" + environment_text() + ")");

  DeviceTable table;
  std::vector<unsigned> functions;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    Device device;
    device.ordinal = ordinal;
    char text[64] = {};
    if (const HipError code = hip.hipDeviceGetPCIBusId(text, sizeof text, ordinal); code != kSuccess)
      return fail(driver_error(hip, "hipDeviceGetPCIBusId", code, doing, HB_DEVICE));
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned slot = 0;
    unsigned function = 0;
    if (std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
      return fail(HB_DEVICE, doing + ": the bus id '" + text + "' is not understood");
    // A partitioned GPU may count its parts in the function; the address is that of the whole.
    device.id.pci = bus_id(domain, bus, slot, 0);
    device.id.partition = function;
    functions.push_back(function);
    Uuid uuid{};
    if (hip.hipDeviceGetUuid(&uuid, ordinal) == kSuccess) device.id.uuid = uuid_text(uuid);
    int value = 0;
    // A runtime that does not know the attribute is not one that cannot: the probe decides.
    device.vmm = hip.hipDeviceGetAttribute(&value, kAttributeVmm, ordinal) != kSuccess || value != 0;
    value = 0;
    device.large_bar =
        hip.hipDeviceGetAttribute(&value, kAttributeLargeBar, ordinal) == kSuccess && value != 0;
    table.devices_.push_back(std::move(device));
  }
  join(table.devices_, functions, kfd_nodes(root));
  return table;
}

const Device* DeviceTable::find(const DeviceId& id) const {
  const Device* found = nullptr;
  for (const Device& device : devices_) {
    // The address is the identity; the UUID must not contradict it where both sides have one.
    if (device.id.pci != id.pci || device.id.partition != id.partition) continue;
    if (!device.id.uuid.empty() && !id.uuid.empty() && device.id.uuid != id.uuid) continue;
    if (found != nullptr) return nullptr;  // two parts that nothing tells apart
    found = &device;
  }
  return found;
}

const Device* DeviceTable::at(int ordinal) const {
  for (const Device& device : devices_)
    if (device.ordinal == ordinal) return &device;
  return nullptr;
}

std::vector<int> DeviceTable::ordinals(const std::vector<DeviceId>& ids,
                                       std::vector<DeviceId>* hidden) const {
  std::vector<int> out;
  for (const DeviceId& id : ids) {
    if (const Device* device = find(id); device != nullptr)
      out.push_back(device->ordinal);
    else if (hidden != nullptr)
      hidden->push_back(id);
  }
  return out;
}

Result<bool> DeviceTable::can_access(const Runtime& runtime, int from, int to) const {
  if (from == to) return true;
  const DriverScope scope(runtime.hip(), DriverScope::kAnyDevice, Lock::kNo);
  int can = 0;
  const HipError code = runtime.hip().hipDeviceCanAccessPeer(&can, from, to);
  if (code != kSuccess)
    return fail(driver_error(
        runtime.hip(), "hipDeviceCanAccessPeer", code,
        "asking whether device " + std::to_string(from) + " reaches " + std::to_string(to), HB_DEVICE));
  return can != 0;
}

Result<int> current_device(const Runtime& runtime) {
  const DriverScope scope(runtime.hip(), DriverScope::kAnyDevice, Lock::kNo);
  int ordinal = 0;
  const HipError code = runtime.hip().hipGetDevice(&ordinal);
  if (code != kSuccess)
    return fail(driver_error(runtime.hip(), "hipGetDevice", code, "the current device", HB_DEVICE));
  return ordinal;
}

Error DeviceTable::not_visible(const DeviceId& wanted, const std::string& doing) const {
  std::string visible;
  for (const Device& device : devices_) visible += (visible.empty() ? "" : ", ") + device.id.text();
  Error error;
  error.status = HB_DEVICE;
  error.what = wanted.text();
  error.message = doing + " needs " + wanted.text() + ", which this process does not see; it sees " +
                  visible + " (" + environment_text() + ")";
  return error;
}

}  // namespace hb::client::hip
