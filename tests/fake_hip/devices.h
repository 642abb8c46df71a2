// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The GPUs of the pretended machine. A description has one line (or ';'-separated entry) a GPU, '#' begins a
// comment, words in any order, all but uuid optional:
//
//   uuid=f00d000000000001 pci=0000:03:00.0 partition=0 render=128 vram=64G gfx=gfx942 peers=all
//
// uuid: 16 characters, as AMD prints them after "GPU-" (hexadecimal: sysfs' unique_id is the same number;
// "XX" for boards without one). Partitions of one GPU are lines with the same pci and different
// `partition`. vram=0 (default): 64G is reported, nothing is enforced. peers: all, none or 0,2,3 (lines).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hb::fakehip {

struct Device {
  int line = 0;  // position in the description: identity inside the fake, the same in every process
  std::string uuid;
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned slot = 0;
  unsigned partition = 0;
  unsigned render_minor = 128;
  std::uint64_t vram = 0;
  std::string gfx = "gfx942";
  bool all_peers = true;
  std::vector<int> peers;

  [[nodiscard]] bool reaches(int other_line) const;
  [[nodiscard]] std::string bus_id(bool partition_in_function) const;
};

// Empty with `error` set when a line is not understood.
[[nodiscard]] std::vector<Device> parse_devices(std::string_view text, std::string& error);
[[nodiscard]] std::string default_devices();

// The lines a process sees, in HIP's order: ROCR_VISIBLE_DEVICES first, then HIP_VISIBLE_DEVICES (or, when
// that is unset or empty, CUDA_VISIBLE_DEVICES) over what is left. Entries are positions or "GPU-<uuid>"; the
// first entry that names nothing ends the list, as in ROCm. nullptr: variable unset.
[[nodiscard]] std::vector<int> visible_lines(const std::vector<Device>& devices, const char* rocr,
                                             const char* hip, const char* cuda);

// Writes the sysfs files a client reads to join HIP's identities with the kernel's. 0, or an errno.
[[nodiscard]] int write_sysfs(const std::vector<Device>& devices, const std::string& root);

}  // namespace hb::fakehip
