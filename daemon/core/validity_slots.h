// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The words of one session's validity page: which are taken, and what stood in each last.
#pragma once

#include <cstdint>
#include <vector>

namespace hb::core {

class ValiditySlots {
 public:
  struct Granted {
    std::uint32_t slot = 0;
    std::uint32_t value = 0;  // not 0, and not what the slot's last lease had
  };
  // The lowest free slot, so that the page stays dense. The caller has checked the bound.
  [[nodiscard]] Granted take();
  void give_back(std::uint32_t slot);
  [[nodiscard]] bool taken(std::uint32_t slot) const;
  [[nodiscard]] std::uint32_t in_use() const { return in_use_; }

 private:
  // A set bit is a taken slot; in full_ a word without a free one.
  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> full_;
  std::vector<std::uint32_t> values_;
  std::uint32_t in_use_ = 0;
};

}  // namespace hb::core
