// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Small records in memory that outlives the process, changed by transactions. Atomic against the end of the
// process at any instruction (not against the loss of power: it is memory, and gone then anyway).
//
// A transaction writes new images into free blocks, each with the transaction's number, and its number to the
// images that it drops; one store of eight bytes then publishes all of that; then the old images are freed.
// Whoever opens the memory takes the newest published image of each key that was not dropped and frees the
// rest. Unless the memory grows, no system call is made. One thread at a time.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "os/memory_region.h"
#include "wire/expected.h"

namespace hb::restart {

// What a record is of; the numbers are the caller's. `part` is for what does not fit into one.
struct RecordKey {
  std::uint8_t kind = 0;
  std::uint32_t slot = 0;
  std::uint32_t part = 0;
  constexpr auto operator<=>(const RecordKey&) const = default;
};

struct RecordKeyHash {
  std::size_t operator()(const RecordKey& key) const noexcept {
    const std::uint64_t mixed = (std::uint64_t{key.slot} << 32 | key.part) * 0x9e3779b97f4a7c15ull;
    return static_cast<std::size_t>((mixed ^ key.kind) * 0xff51afd7ed558ccdull >> 7);
  }
};

class RecordHeap {
 public:
  static constexpr std::size_t kRecordBytes = 65'488;  // the largest record
  static constexpr std::size_t kLeastBytes = 2 * 65'536;
  // What this build writes, and the oldest it reads.
  static constexpr std::uint32_t kFormat = 1;
  static constexpr std::uint32_t kOldestFormat = 1;

  struct Opened;  // see below
  // What opening existing memory found.
  struct Report {
    std::size_t records = 0;
    std::size_t bytes = 0;        // of the records
    std::size_t corrupt = 0;      // blocks that were not what their checksum says: their records are lost
    std::size_t uncommitted = 0;  // blocks of a transaction that did not come to its end
    std::uint32_t format = 0;     // by which it was written
    bool truncated = false;       // smaller than it says of itself
    bool made = false;            // it was empty
  };

  // Memory of zeros becomes an empty heap. The error is of memory that is something else, is broken in its
  // head or was written in a format that this build cannot read: it is left as it is. `most_bytes` bounds
  // its growth.
  [[nodiscard]] static tl::expected<Opened, std::string> open(os::MemoryRegion region,
                                                              std::size_t most_bytes = kMostBytes);
  // Empties whatever is there.
  [[nodiscard]] static tl::expected<Opened, std::string> make(os::MemoryRegion region,
                                                              std::size_t most_bytes = kMostBytes);

  RecordHeap() = default;
  RecordHeap(RecordHeap&&) = default;
  RecordHeap& operator=(RecordHeap&&) = default;

  // put() and drop() only between begin() and commit() or rollback(). After an error the transaction can
  // still be committed, without what was refused, or rolled back. Full memory refuses put(), never drop().
  void begin();  // rolls back one that is open
  // Nothing is written where the record has these bytes already. They are not bytes of this heap: it may
  // move.
  [[nodiscard]] tl::expected<void, std::string> put(const RecordKey& key, std::span<const std::byte> bytes);
  // Nothing where there is no such record.
  void drop(const RecordKey& key);
  void commit();
  void rollback();
  [[nodiscard]] bool in_transaction() const { return in_transaction_; }

  // Committed records, as spans into the mapping: valid until the next begin().
  [[nodiscard]] std::optional<std::span<const std::byte>> find(const RecordKey& key) const;
  // In the order of the keys.
  using Visit = std::function<void(const RecordKey& key, std::span<const std::byte> bytes)>;
  void for_each(const Visit& visit) const;

  [[nodiscard]] std::size_t records() const { return records_.size(); }
  [[nodiscard]] std::size_t record_bytes() const { return record_bytes_; }
  [[nodiscard]] std::size_t region_bytes() const { return region_.size(); }
  [[nodiscard]] std::uint64_t committed() const { return committed_; }
  [[nodiscard]] BorrowedFd descriptor() const { return region_.descriptor(); }
  [[nodiscard]] std::span<const std::byte> memory() const { return region_.bytes(); }

  // For tests: called between every two stores to the memory.
  void set_step(std::function<void()> called) { step_ = std::move(called); }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  static constexpr std::size_t kClasses = 11;  // 64 bytes to 64 KiB
  using BlockAt = std::uint32_t;               // its offset in units of 64 bytes
  struct Found;
  struct Pending {
    std::optional<BlockAt> block;  // the new image
  };

  [[nodiscard]] tl::expected<void, std::string> read_head(Report& report) const;
  void write_head();
  void scan(Report& report);
  void scan_slab(std::size_t slab, std::vector<Found>& found, Report& report);
  void settle(std::vector<Found>& found, Report& report);

  [[nodiscard]] tl::expected<BlockAt, std::string> allocate(std::size_t payload);
  [[nodiscard]] bool take_slab(std::size_t of_class);
  void tag_slab(std::size_t slab, std::size_t of_class);
  [[nodiscard]] tl::expected<void, std::string> grow();
  [[nodiscard]] tl::expected<BlockAt, std::string> write(const RecordKey& key,
                                                         std::span<const std::byte> bytes);
  void mark_dropped(BlockAt block, std::uint64_t word);
  void free(BlockAt block);
  void step() const {
    if (step_) step_();
  }
  void end_transaction();

  [[nodiscard]] std::byte* at(BlockAt block) { return region_.bytes().data() + std::size_t{block} * 64; }
  [[nodiscard]] const std::byte* at(BlockAt block) const {
    return region_.bytes().data() + std::size_t{block} * 64;
  }
  [[nodiscard]] std::span<const std::byte> payload(BlockAt block) const;
  [[nodiscard]] std::size_t slab_of(BlockAt block) const;

  os::MemoryRegion region_;
  std::size_t most_bytes_ = kMostBytes;
  std::uint64_t committed_ = 0;
  bool in_transaction_ = false;
  std::unordered_map<RecordKey, BlockAt, RecordKeyHash> records_;
  std::unordered_map<RecordKey, Pending, RecordKeyHash> pending_;
  std::size_t record_bytes_ = 0;
  std::array<std::vector<BlockAt>, kClasses> free_;
  std::vector<std::uint8_t> class_of_slab_;  // kClasses: not in use
  std::vector<std::uint16_t> used_in_slab_;
  std::function<void()> step_;
};

struct RecordHeap::Opened {
  RecordHeap heap;
  Report report;
};

}  // namespace hb::restart
