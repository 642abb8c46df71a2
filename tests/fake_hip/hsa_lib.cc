// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// libhsa-runtime64.so.1: the few entry points a client uses, over the HIP half's table.
#include <atomic>

#include "hsa_bridge.h"

namespace {

using namespace hb::fakehip;  // NOLINT: the C ABI over this namespace

std::atomic<const HsaTable*> g_table{nullptr};
constexpr std::uint32_t kMaxAgents = 128;

struct Agent {
  std::uint64_t handle;  // position + 1; 1000: the CPU
};
constexpr std::uint64_t kCpuAgent = 1000;

}  // namespace

FAKE_API void fake_hsa_attach(const HsaTable* table) { g_table = table; }

FAKE_API int hsa_init() { return g_table.load() == nullptr ? kHsaOutOfResources : kHsaSuccess; }
FAKE_API int hsa_shut_down() { return kHsaSuccess; }

FAKE_API int hsa_system_get_info(int attribute, void* value) {
  if (value == nullptr || attribute < 0 || attribute > 1) return kHsaInvalidArgument;
  *static_cast<std::uint16_t*>(value) = attribute == 0 ? 1 : 21;  // version 1.21
  return kHsaSuccess;
}

FAKE_API int hsa_iterate_agents(int (*visit)(Agent, void*), void* data) {
  const HsaTable* table = g_table.load();
  if (table == nullptr || visit == nullptr) return kHsaInvalidArgument;
  if (const int status = visit(Agent{kCpuAgent}, data); status != kHsaSuccess) return status;
  for (int i = 0; i < table->agent_count(); ++i)
    if (const int status = visit(Agent{static_cast<std::uint64_t>(i) + 1}, data); status != kHsaSuccess)
      return status;
  return kHsaSuccess;
}

FAKE_API int hsa_agent_get_info(Agent agent, int attribute, void* value) {
  const HsaTable* table = g_table.load();
  if (table == nullptr || value == nullptr) return kHsaInvalidArgument;
  if (agent.handle != kCpuAgent)
    return table->agent_info(static_cast<int>(agent.handle) - 1, attribute, value);
  constexpr int kType = 17;
  if (attribute != kType) return kHsaInvalidArgument;
  *static_cast<std::uint32_t*>(value) = 0;
  return kHsaSuccess;
}

FAKE_API int hsa_amd_portable_export_dmabuf(const void* ptr, std::size_t size, int* fd,
                                            std::uint64_t* offset) {
  const HsaTable* table = g_table.load();
  return table == nullptr ? kHsaInvalidAllocation : table->portable_export(ptr, size, fd, offset);
}

FAKE_API int hsa_amd_portable_export_dmabuf_v2(const void* ptr, std::size_t size, int* fd,
                                               std::uint64_t* offset, std::uint64_t flags) {
  if (flags > 1) return kHsaInvalidArgument;
  return hsa_amd_portable_export_dmabuf(ptr, size, fd, offset);
}

FAKE_API int hsa_amd_portable_close_dmabuf(int fd) {
  const HsaTable* table = g_table.load();
  return table == nullptr ? kHsaError : table->portable_close(fd);
}

FAKE_API int hsa_amd_pointer_info(const void* ptr, HsaPointerInfo* info, void* (*allocate)(std::size_t),
                                  std::uint32_t* count, Agent** accessible) {
  const HsaTable* table = g_table.load();
  if (table == nullptr) return kHsaInvalidArgument;
  std::uint64_t agents[kMaxAgents];
  std::uint32_t n = 0;
  const int status = table->pointer_info(ptr, info, &n, agents, kMaxAgents);
  if (status != kHsaSuccess) return status;
  if (allocate == nullptr || count == nullptr || accessible == nullptr) return kHsaSuccess;
  *count = n;
  *accessible = static_cast<Agent*>(allocate(n * sizeof(Agent)));
  if (n > 0 && *accessible == nullptr) return kHsaOutOfResources;
  for (std::uint32_t i = 0; i < n; ++i) (*accessible)[i].handle = agents[i];
  return kHsaSuccess;
}
