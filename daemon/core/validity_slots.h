// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The words of one session's validity page: which are taken, and what stood in each last.
#pragma once

#include <cstdint>
#include <vector>

namespace hb::core {

// Of a word's value the lowest bit says that the export has grown since; 0 that the lease is not current.
inline constexpr std::uint32_t kGrownBit = 1;

class ValiditySlots {
 public:
  struct Granted {
    std::uint32_t slot = 0;
    std::uint32_t value = 0;  // even, not 0, and not what the slot's last lease had
  };
  // The lowest free slot, so that the page stays dense. The caller has checked the bound.
  [[nodiscard]] Granted take();
  // A new value for a slot that is taken.
  [[nodiscard]] std::uint32_t renew(std::uint32_t slot);
  void give_back(std::uint32_t slot);
  [[nodiscard]] bool taken(std::uint32_t slot) const;
  [[nodiscard]] std::uint32_t in_use() const { return in_use_; }

  // As it was before a restart. False: it is taken, or no slot.
  [[nodiscard]] bool restore(std::uint32_t slot, std::uint32_t value);
  // What slots had before is not known any more: their next values are above this one, which is even.
  void begin_behind(std::uint32_t value);
  [[nodiscard]] std::uint32_t highest() const { return highest_; }

 private:
  // A set bit is a taken slot; in full_ a word without a free one.
  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> full_;
  std::vector<std::uint32_t> values_;
  std::uint32_t in_use_ = 0;
  std::uint32_t floor_ = 0;
  std::uint32_t highest_ = 0;
};

}  // namespace hb::core
