// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The chunks of one export in address order. One chunk, the common case, lives inside; more are one array.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "core/types.h"

namespace hb::core {

class ChunkList {
 public:
  ChunkList() = default;
  ChunkList(const std::vector<Chunk>& chunks, std::uint64_t allocations) {
    if (chunks.size() == 1) one_ = chunks.front();
    if (chunks.size() <= 1) return;
    auto* many = new Chunk[chunks.size()];
    std::memcpy(many, chunks.data(), chunks.size() * sizeof(Chunk));
    one_.allocation.value = reinterpret_cast<std::uintptr_t>(many);
    one_.offset = allocations;
    one_.size = chunks.back().start + chunks.back().size;
    one_.start = chunks.size();
  }
  ChunkList(ChunkList&& other) noexcept : one_(std::exchange(other.one_, {})) {}
  ChunkList& operator=(ChunkList&& other) noexcept {
    std::swap(one_, other.one_);
    return *this;
  }
  ~ChunkList() {
    if (many()) delete[] array();
  }

  [[nodiscard]] std::span<const Chunk> all() const {
    if (many()) return {array(), one_.start};
    return {&one_, one_.allocation ? 1u : 0u};
  }
  [[nodiscard]] std::uint64_t bytes() const { return one_.size; }
  [[nodiscard]] std::uint64_t allocations() const { return many() ? one_.offset : all().size(); }

 private:
  // A single chunk starts at 0, so `start` tells the forms apart: as an array, the words of one_ are
  // pointer, distinct allocations, bytes, count.
  [[nodiscard]] bool many() const { return one_.start != 0; }
  [[nodiscard]] Chunk* array() const {
    return reinterpret_cast<Chunk*>(static_cast<std::uintptr_t>(one_.allocation.value));
  }
  Chunk one_;
};
static_assert(sizeof(ChunkList) == 32);

}  // namespace hb::core
