// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Whether descriptors may be taken: used + promised + needed must stay below the limit less a reserve, so
// that replies, accepts and one full frame never meet EMFILE.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/effect.h"
#include "wire/limits.h"

namespace hb::core {

class FdBudget {
 public:
  explicit FdBudget(std::uint64_t limit) : limit_(limit) {}

  // NO_FDS with both numbers when `need` more than `used` is too many.
  [[nodiscard]] std::optional<Error> refuse(std::string_view who_needs, std::uint64_t used,
                                            std::uint64_t need) const;
  // Promised to an export whose pages are still to come.
  void promise(std::uint64_t count) { promised_ += count; }
  void settle(std::uint64_t count) { promised_ -= count; }
  void note_extra(std::int64_t change) { extra_ += static_cast<std::uint64_t>(change); }

  [[nodiscard]] std::uint64_t promised() const { return promised_; }
  [[nodiscard]] std::uint64_t extra() const { return extra_; }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }

 private:
  std::uint64_t limit_;
  std::uint64_t promised_ = 0;
  std::uint64_t extra_ = 0;  // the edge's read-only reopenings
};

}  // namespace hb::core
