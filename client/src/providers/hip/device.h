// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// GPUs by identity. HIP's ordinals depend on ROCR_, HIP_ and CUDA_VISIBLE_DEVICES of the process: they are
// looked up here and never leave it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "error.h"
#include "providers/hip/runtime.h"
#include "providers/hip/topology.h"
#include "providers/placement.h"

namespace hb::client::hip {

using client::DeviceId;

struct Device {
  DeviceId id;
  int ordinal = -1;  // HIP's, in this process only
  std::uint32_t render_minor = 0;
  std::string gfx;         // empty when the kernel does not tell
  bool in_kernel = false;  // joined with a KFD node
  bool vmm = false;        // virtual memory management, as far as the runtime tells
  bool large_bar = false;
};

// What HIP calls a GPU whose unique_id in sysfs is this; empty for 0.
[[nodiscard]] std::string uuid_of(std::uint64_t unique_id);

// "HIP_VISIBLE_DEVICES=2,3", several after commas; empty when none is set.
[[nodiscard]] std::string visibility_variables();

class DeviceTable {
 public:
  // Asks the runtime for every device it shows. HB_DEVICE when it shows none.
  [[nodiscard]] static Result<DeviceTable> read(const Runtime& runtime, const std::string& root);

  [[nodiscard]] const std::vector<Device>& devices() const { return devices_; }
  // nullptr: not visible here.
  [[nodiscard]] const Device* find(const DeviceId& id) const;
  [[nodiscard]] const Device* at(int ordinal) const;
  // Ordinals of those of `ids` that are visible, in the order given; the others are appended to `hidden`.
  [[nodiscard]] std::vector<int> ordinals(const std::vector<DeviceId>& ids,
                                          std::vector<DeviceId>* hidden) const;
  // Whether `from` reaches memory of `to`: the runtime's word.
  [[nodiscard]] Result<bool> can_access(const Runtime& runtime, int from, int to) const;
  // HB_DEVICE: the wanted one, the visible ones, and which variables hide others.
  [[nodiscard]] Error not_visible(const DeviceId& wanted, const std::string& doing) const;

 private:
  std::vector<Device> devices_;
};

// The calling thread's: an ordinal.
[[nodiscard]] Result<int> current_device(const Runtime& runtime);

}  // namespace hb::client::hip
