// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The client's side of the page of validity words: one word a lease, written by the daemon, read here
// without a system call. A lease is current while its word has the value it was granted with.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "error.h"
#include "wire/unique_fd.h"

namespace hb::client {

class ValidityPage {
 public:
  // Maps it read-only. The descriptor is closed; HB_PROTO when the object is smaller than announced or can
  // shrink under the mapping.
  [[nodiscard]] static Result<std::unique_ptr<ValidityPage>> map(UniqueFd object, std::uint32_t slots);
  ~ValidityPage();
  ValidityPage(const ValidityPage&) = delete;
  ValidityPage& operator=(const ValidityPage&) = delete;

  [[nodiscard]] const std::atomic<std::uint32_t>* slot(std::uint32_t index) const {
    return index < slots_ ? words_ + index : nullptr;
  }

 private:
  ValidityPage(const std::atomic<std::uint32_t>* words, std::uint32_t slots, std::size_t bytes)
      : words_(words), slots_(slots), bytes_(bytes) {}
  const std::atomic<std::uint32_t>* words_;
  std::uint32_t slots_;
  std::size_t bytes_;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4);

}  // namespace hb::client
