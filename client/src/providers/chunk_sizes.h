// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How large the chunks of an allocation are. Kept while it sleeps; read while another thread adds to it, and
// in a forked child, whatever that thread was doing when it was forked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "fork_guard.h"

namespace hb::client {

class ChunkSizes {
 public:
  void add(const std::vector<std::uint64_t>& more) {
    const std::lock_guard guard(process_lock());
    sizes_.insert(sizes_.end(), more.begin(), more.end());
    for (const std::uint64_t bytes : more) sum_ += bytes;
  }
  [[nodiscard]] std::size_t count() const {
    const std::lock_guard guard(process_lock());
    return sizes_.size();
  }
  [[nodiscard]] std::uint64_t sum() const {
    const std::lock_guard guard(process_lock());
    return sum_;
  }
  [[nodiscard]] std::uint64_t of(std::size_t index) const {
    const std::lock_guard guard(process_lock());
    return sizes_[index];
  }
  [[nodiscard]] std::vector<std::uint64_t> all() const {
    const std::lock_guard guard(process_lock());
    return sizes_;
  }
  // Of every chunk but perhaps a shorter last one; 0: they differ.
  [[nodiscard]] std::uint64_t step() const {
    const std::lock_guard guard(process_lock());
    for (std::size_t i = 1; i < sizes_.size(); ++i)
      if (sizes_[i] > sizes_[0] || (sizes_[i] < sizes_[0] && i + 1 < sizes_.size())) return 0;
    return sizes_.empty() ? 0 : sizes_[0];
  }

  // What a growth by `bytes` adds: whole chunks of `chunk_bytes`, or a single one where that is 0. A multiple
  // of `unit` either way.
  [[nodiscard]] static std::vector<std::uint64_t> of_growth(std::uint64_t bytes, std::uint64_t chunk_bytes,
                                                            std::uint64_t unit) {
    const auto up = [bytes](std::uint64_t to) { return (bytes + to - 1) / to; };
    if (chunk_bytes == 0) return {up(unit) * unit};
    return std::vector<std::uint64_t>(up(chunk_bytes), chunk_bytes);
  }

 private:
  std::vector<std::uint64_t> sizes_;
  std::uint64_t sum_ = 0;
};

}  // namespace hb::client
