// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The descriptors the daemon keeps, by the id the core knows them under. An id is never used again, so one
// that has ended finds nothing.
#pragma once

#include <cstddef>
#include <vector>

#include "core/types.h"
#include "wire/expected.h"
#include "wire/sys_error.h"
#include "wire/unique_fd.h"

namespace hb::ipc {

class HandleStore {
 public:
  // Gives the facts their id.
  void add(UniqueFd fd, core::HandleFacts& facts);
  // One that a store before this one had, under its id; before anything is added, and then finish_restoring().
  // False: another has its place, and `fd` is still the caller's.
  [[nodiscard]] bool restore(UniqueFd& fd, const core::HandleFacts& facts);
  void finish_restoring();

  // Lent until the handle is taken out; null when it has ended.
  [[nodiscard]] const UniqueFd* get(core::HandleId id) const;
  // The read-only reopening; null where there is none.
  [[nodiscard]] const UniqueFd* get_read_only(core::HandleId id) const;
  [[nodiscard]] const core::HandleFacts* facts(core::HandleId id) const;

  // A memfd once more through /proc, O_RDONLY: another open file, that cannot be mapped for writing.
  [[nodiscard]] tl::expected<void, SysError> reopen_read_only(core::HandleId id);

  // Moves the handle's one or two descriptors to the end of `out`; nothing for an id that has ended.
  void take(core::HandleId id, std::vector<UniqueFd>& out);

  [[nodiscard]] std::size_t size() const { return used_; }

 private:
  struct Slot {
    UniqueFd fd;
    UniqueFd read_only;
    core::HandleFacts facts;
    std::uint32_t use = 0;
  };
  [[nodiscard]] const Slot* find(core::HandleId id) const;

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t used_ = 0;
};

}  // namespace hb::ipc
