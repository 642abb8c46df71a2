// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Answers of a daemon, made up.
#pragma once

#include <array>

#include "hipbroker/hipbroker.h"

namespace hb::cli::sample {

inline hb_process process(std::uint32_t pid, std::uint32_t uid, const char* command) {
  hb_process p{};
  p.session_id = 0x100000001;
  p.pid = pid;
  p.uid = uid;
  p.gid = uid;
  p.connected_ns = 192'000'000'000;
  p.command = command;
  p.cgroup = "";
  p.scope = "";
  return p;
}

inline hb_listed listed(std::uint64_t id, const char* name) {
  hb_listed e{};
  e.export_id = id;
  e.name = name;
  e.scope = "";
  e.owner_uid = 1001;
  e.owner = process(4242, 1001, "vllm");
  e.generation = 1;
  e.layout_version = 1;
  e.state = "live";
  e.lifetime = "owner";
  e.bytes = 64u << 20;
  e.chunks = 3;
  e.allocations = 3;
  e.kind = HB_KIND_MEMFD;
  e.device_uuid = "";
  e.device_pci = "";
  e.leases = 2;
  e.age_ns = 192'000'000'000;
  e.access = HB_ACCESS_READ_WRITE;
  e.level = HB_LEVEL_INTENT;
  e.metadata_bytes = 25;
  e.descriptors = 3;
  return e;
}

inline hb_held held(std::uint64_t export_id, std::uint32_t pid, const char* command) {
  hb_held h{};
  h.export_id = export_id;
  h.lease_id = 0x200000003;
  h.process = process(pid, 1002, command);
  h.access = HB_ACCESS_READ;
  h.level = HB_LEVEL_PER_READER;
  h.offset = 4096;
  h.bytes = 1u << 20;
  h.age_ns = 5'000'000'000;
  h.state = "live";
  return h;
}

}  // namespace hb::cli::sample
