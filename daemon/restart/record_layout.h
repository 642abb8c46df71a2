// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How a record heap lies in its memory. A head of 64 KiB, then slabs of 64 KiB, each cut into blocks of one
// size: 64 << class bytes. All numbers little-endian, by the machines this runs on.
//
//   head:   0  "HBRECORD"     8  u32 format   12  u32 oldest format that can read it   16  u64 checksum of
//   0..15
//          64  u64 size of the memory, with check      128  u64 number of the last committed transaction,
//          with check
//        4096  u8 of each slab: 0 not in use, else class + 1 and its complement in the upper half
//   block:  0  u32 mark (0: free; else kBlockMark | class)   4  u32 bytes of the record
//           8  u32 slot   12  u32 part   16  u64 transaction   24  u32 kind   28  u32 0
//          32  u64 checksum of 0..31 and the record   40  u64 0, or the transaction that drops it, with check
//          48  the record
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace hb::restart::layout {

inline constexpr std::size_t kUnit = 64;
inline constexpr std::size_t kSlabBytes = 65'536;
inline constexpr std::size_t kHeadBytes = 65'536;
inline constexpr std::size_t kSizeAt = 64;
inline constexpr std::size_t kCommittedAt = 128;
inline constexpr std::size_t kSlabsAt = 4096;
inline constexpr std::size_t kMostSlabs = kHeadBytes - kSlabsAt;
inline constexpr std::uint64_t kMostTransactions = std::uint64_t{1} << 47;
inline constexpr char kMagic[8] = {'H', 'B', 'R', 'E', 'C', 'O', 'R', 'D'};

struct Head {
  char magic[8];
  std::uint32_t format;
  std::uint32_t oldest_reader;
  std::uint64_t checksum;
};
static_assert(sizeof(Head) == 24 && std::is_trivially_copyable_v<Head>);

inline constexpr std::uint32_t kBlockMark = 0x4842'5200;

struct Block {
  std::uint32_t mark;
  std::uint32_t length;
  std::uint32_t slot;
  std::uint32_t part;
  std::uint64_t transaction;
  std::uint32_t kind;
  std::uint32_t zero;
  std::uint64_t checksum;
  std::uint64_t dropped_by;
};
inline constexpr std::size_t kBlockHead = 48;
inline constexpr std::size_t kDroppedAt = 40;
inline constexpr std::size_t kSummed = 32;
static_assert(sizeof(Block) == kBlockHead && offsetof(Block, checksum) == kSummed &&
              offsetof(Block, dropped_by) == kDroppedAt);

[[nodiscard]] constexpr std::size_t block_bytes(std::size_t of_class) { return kUnit << of_class; }
[[nodiscard]] constexpr std::size_t blocks_of(std::size_t of_class) {
  return kSlabBytes / block_bytes(of_class);
}
[[nodiscard]] constexpr std::size_t slabs_in(std::size_t bytes) {
  const std::size_t slabs = bytes < kHeadBytes ? 0 : (bytes - kHeadBytes) / kSlabBytes;
  return slabs < kMostSlabs ? slabs : kMostSlabs;
}
[[nodiscard]] constexpr std::size_t slab_at(std::size_t slab) { return kHeadBytes + slab * kSlabBytes; }
[[nodiscard]] constexpr std::uint8_t slab_tag(std::size_t of_class) {
  const auto low = static_cast<std::uint8_t>(of_class + 1);
  return static_cast<std::uint8_t>(low | ((~low & 0xf) << 4));
}

// One store that neither the compiler nor the machine moves before those that came earlier, nor after those
// that come later: what the end of the process leaves behind is what the program did so far.
template <class Number>
void store(std::byte* at, Number value) {
  std::atomic_ref<Number>(*reinterpret_cast<Number*>(at)).store(value, std::memory_order_seq_cst);
}
template <class Number>
[[nodiscard]] Number load(const std::byte* at) {
  Number value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace hb::restart::layout
