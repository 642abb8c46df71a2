// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The kernel's list of GPUs (KFD topology in sysfs): what HIP's own answers are joined with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hb::client::hip {

struct KfdNode {
  std::uint64_t unique_id = 0;  // 0: the board has none
  std::string pci;              // function 0
  std::uint32_t partition = 0;
  std::uint32_t render_minor = 0;  // /dev/dri/renderD<n>; 0: none
  std::string gfx;                 // "gfx942"
};

// "/" unless $HIPBROKER_SYSFS_ROOT names another root to find /sys under.
[[nodiscard]] std::string sysfs_root();

// GPU nodes in the kernel's order. Nodes that a container may not read are left out; empty without KFD.
[[nodiscard]] std::vector<KfdNode> kfd_nodes(const std::string& root);

// What /sys/module/amdgpu/version says; "in-tree" for the driver that comes with the kernel.
[[nodiscard]] std::string amdgpu_version(const std::string& root);

// Whether the kernel has the driver at all.
[[nodiscard]] bool amdgpu_loaded(const std::string& root);

// Of the kernel; of another root where that has a /proc of its own.
[[nodiscard]] std::string kernel_release(const std::string& root);

// "0000:03:00.0": 4:2:2.1 hexadecimal digits.
[[nodiscard]] std::string bus_id(unsigned domain, unsigned bus, unsigned slot, unsigned function);

}  // namespace hb::client::hip
