// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The words by which a session sees, without a call, whether a cached import is still current: a sealed memfd
// that the daemon writes and the session can only map for reading.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/expected.h"
#include "wire/sys_error.h"
#include "wire/unique_fd.h"

namespace hb::os {

class ValidityPage {
 public:
  enum class Lives : std::uint8_t {
    kWithProcess,
    kBeyondIt,  // another process can adopt() its memory
  };
  // With a word for each lease a session can have. `descriptor` is for the session: close it once it is sent.
  struct Made;
  [[nodiscard]] static tl::expected<Made, SysError> make(Lives lives = Lives::kWithProcess);
  // Of the memory that a process before this one made.
  [[nodiscard]] static tl::expected<ValidityPage, SysError> adopt(BorrowedFd memory);

  ValidityPage() = default;
  ValidityPage(ValidityPage&& other) noexcept;
  ValidityPage& operator=(ValidityPage&& other) noexcept;
  ValidityPage(const ValidityPage&) = delete;
  ValidityPage& operator=(const ValidityPage&) = delete;
  ~ValidityPage();

  [[nodiscard]] explicit operator bool() const { return words_ != nullptr; }
  // Release order: who reads the new word with acquire order sees all that happened before.
  void store(std::uint32_t slot, std::uint32_t value);
  [[nodiscard]] std::uint32_t load(std::uint32_t slot) const;
  // Every word 0: nothing that a session cached under this page counts any more.
  void clear(std::uint32_t slots);

 private:
  [[nodiscard]] static tl::expected<ValidityPage, SysError> map(BorrowedFd memory);
  std::uint32_t* words_ = nullptr;
};

struct ValidityPage::Made {
  ValidityPage page;
  UniqueFd descriptor;
  UniqueFd memory;  // with kBeyondIt: for adopt()
};

}  // namespace hb::os
