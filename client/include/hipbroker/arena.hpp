// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// C++17 over arena.h.
#ifndef HIPBROKER_ARENA_HPP
#define HIPBROKER_ARENA_HPP

#include "hipbroker/arena.h"
#include "hipbroker/hipbroker.hpp"

namespace hipbroker {

class Arena {
 public:
  Arena() = default;
  // Host memory.
  Arena(const Client& client, std::uint64_t reserve_bytes, std::uint64_t keep_bytes = 0,
        std::uint64_t block_bytes = 0) {
    hb_arena_options options = HB_ARENA_OPTIONS_INIT;
    options.reserve_bytes = reserve_bytes;
    options.block_bytes = block_bytes;
    options.keep_bytes = keep_bytes;
    create(client, options);
  }
  // GPU memory; gpu.chunk_bytes is the size of a block.
  Arena(const Client& client, std::uint64_t reserve_bytes, std::uint64_t keep_bytes, const GpuOptions& gpu) {
    hb_arena_options options = HB_ARENA_OPTIONS_INIT;
    options.provider = HB_PROVIDER_HIP;
    options.reserve_bytes = reserve_bytes;
    options.block_bytes = gpu.chunk_bytes;
    options.keep_bytes = keep_bytes;
    options.device = gpu.device;
    options.device_id = gpu.device_id ? &*gpu.device_id : nullptr;
    options.peers = gpu.peers.data();
    options.peer_count = gpu.peers.count();
    options.host_access = static_cast<std::uint32_t>(gpu.host_access);
    create(client, options);
  }
  Arena(const Client& client, const hb_arena_options& options) { create(client, options); }

  void* allocate(std::uint64_t bytes, std::uint64_t alignment = 0) {
    void* ptr = nullptr;
    detail::call(hb_arena_alloc, arena_.get(), bytes, alignment, &ptr);
    return ptr;
  }
  void free(void* ptr) { detail::call(hb_arena_free, arena_.get(), ptr); }
  void trim() { detail::call(hb_arena_trim, arena_.get()); }
  hb_arena_info info() const noexcept {
    hb_arena_info info = HB_ARENA_INFO_INIT;
    hb_arena_get_info(arena_.get(), &info);
    return info;
  }
  hb_arena* get() const noexcept { return arena_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(arena_); }

 private:
  void create(const Client& client, const hb_arena_options& options) {
    hb_arena* arena = nullptr;
    detail::call(hb_arena_create, client.get(), &options, &arena);
    arena_ = detail::Owner<hb_arena, hb_arena_destroy>(arena);
  }
  detail::Owner<hb_arena, hb_arena_destroy> arena_;
};

}  // namespace hipbroker

#endif
