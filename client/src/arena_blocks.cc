// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Blocks: which parts of an arena's addresses have memory.
#include <mutex>
#include <string>
#include <utility>

#include "arena.h"

namespace hb::client {

void Arena::tell_change() noexcept {
  changes_.fetch_add(1);
  changes_.notify_all();
}

Result<void> Arena::hold(const Slot& slot) {
  std::uint64_t missing = 0;
  {
    const std::lock_guard guard(process_lock());
    for (std::size_t i = first_of(slot); i <= last_of(slot); ++i)
      missing += blocks_[i].state == State::kEmpty ? 1 : 0;
  }
  std::vector<std::size_t> made;
  made.reserve(missing + 1);
  Result<void> held;
  if (missing != 0)
    held = range_->check_room(missing, "allocating " + std::to_string(slot.bytes) + " bytes in blocks of " +
                                           std::to_string(block_bytes_));
  for (std::size_t i = first_of(slot); held && i <= last_of(slot); ++i) {
    const auto mine = make_block(i);
    if (!mine)
      held = tl::unexpected(mine.error());
    else if (*mine)
      made.push_back(i);
  }
  if (held) return held;
  for (const std::size_t i : made) blocks_[i].spent.store(true, std::memory_order_relaxed);
  return held;
}

Result<bool> Arena::make_block(std::size_t index) {
  Block& block = blocks_[index];
  for (;;) {
    std::uint32_t seen = 0;
    {
      const std::lock_guard guard(process_lock());
      if (block.state == State::kMapped) return false;
      if (block.state == State::kEmpty) {
        block.state = State::kBeingMade;
        break;
      }
      seen = changes_.load();
    }
    changes_.wait(seen);
  }
  const auto settle = [this, &block](State state) {
    {
      const std::lock_guard guard(process_lock());
      block.spent.store(false, std::memory_order_relaxed);
      block.state = state;
      mapped_ += state == State::kMapped ? 1 : 0;
    }
    tell_change();
  };
  try {
    auto mapped = range_->map_block(index);
    settle(mapped ? State::kMapped : State::kEmpty);
    if (!mapped) return tl::unexpected(std::move(mapped.error()));
  } catch (...) {
    settle(State::kEmpty);
    throw;
  }
  return true;
}

bool Arena::withhold(std::size_t index) noexcept {
  if (!free_list_.take(slot_of(index))) return false;
  blocks_[index].state = State::kLeaving;
  ++withheld_;
  return true;
}

void Arena::return_slot(const Slot& slot) noexcept {
  if (!mark_.is_here()) return;
  const std::size_t first = first_of(slot);
  const std::size_t last = last_of(slot);
  {
    const std::lock_guard guard(process_lock());
    static_cast<void>(free_list_.free(slot.offset));
    for (std::size_t i = first; i <= last; ++i) {
      Block& block = blocks_[i];
      if (--block.users != 0 || block.state != State::kMapped) continue;
      const bool keep =
          !block.spent.load(std::memory_order_relaxed) && (kept_ + 1) * block_bytes_ <= keep_bytes_;
      if (keep || !withhold(i)) ++kept_;
    }
  }
  tell_change();
  give_back(first, last);
}

void Arena::give_back(std::size_t first, std::size_t last) noexcept {
  for (std::size_t i = first; i <= last; ++i) {
    {
      const std::lock_guard guard(process_lock());
      if (blocks_[i].state != State::kLeaving) continue;  // in use, kept, or another thread's by now
      blocks_[i].state = State::kBeingGivenBack;
    }
    const bool again = range_->unmap_block(i);
    {
      const std::lock_guard guard(process_lock());
      blocks_[i].state = State::kEmpty;
      --mapped_;
      --withheld_;
      if (again)
        static_cast<void>(free_list_.free(i * block_bytes_));
      else
        ++lost_;
    }
    tell_change();
  }
}

void Arena::trim() {
  std::vector<std::size_t> leaving;
  {
    const std::lock_guard guard(process_lock());
    leaving.reserve(kept_);
    for (std::size_t i = 0; i < blocks_.size() && kept_ != 0; ++i) {
      if (blocks_[i].state != State::kMapped || blocks_[i].users != 0 || !withhold(i)) continue;
      --kept_;
      leaving.push_back(i);
    }
  }
  for (const std::size_t i : leaving) give_back(i, i);
}

}  // namespace hb::client
