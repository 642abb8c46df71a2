// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/wait_table.h"

#include <utility>

namespace hb::core {

std::uint32_t WaitTable::hash_of(ScopeId scope, std::uint32_t uid, std::string_view name) const {
  return hash_(KeyedHash::Input().add(scope.value).add(std::uint64_t{uid}).add(name));
}

std::uint32_t WaitTable::find_line(std::uint32_t hash, ScopeId scope, std::uint32_t uid,
                                   std::string_view name) const {
  return by_name_.find(hash, [&](std::uint32_t slot) {
    const Line& line = lines_.at(slot);
    return line.scope == scope && line.owner_uid == uid && line.name == name;
  });
}

std::uint32_t WaitTable::park(ScopeId scope, std::uint32_t owner_uid, const std::string& name, Wait wait) {
  const std::uint32_t hash = hash_of(scope, owner_uid, name);
  std::uint32_t number = find_line(hash, scope, owner_uid, name);
  if (number == kNoSlot) {
    number = lines_.emplace(Line{scope, owner_uid, hash, kNoSlot, kNoSlot, name});
    by_name_.insert(hash, number);
  }
  Line& line = lines_.at(number);
  wait.line = number;
  wait.of_line = {line.last, kNoSlot};
  const std::uint32_t slot = waits_.emplace(std::move(wait));
  if (line.last != kNoSlot)
    waits_.at(line.last).of_line.next = slot;
  else
    line.first = slot;
  line.last = slot;
  return slot;
}

Wait WaitTable::remove(std::uint32_t slot) {
  Wait wait = std::move(waits_.at(slot));
  Line& line = lines_.at(wait.line);
  if (line.last == slot) line.last = wait.of_line.previous;
  unlink<&Wait::of_line>(waits_, line.first, slot);
  waits_.erase(slot);
  if (line.first == kNoSlot) {
    by_name_.erase(line.hash, wait.line);
    lines_.erase(wait.line);
  }
  return wait;
}

std::vector<std::uint32_t> WaitTable::waiting_for(ScopeId scope, std::uint32_t owner_uid,
                                                  std::string_view name) const {
  std::vector<std::uint32_t> out;
  if (waits_.size() == 0) return out;
  const std::uint32_t number = find_line(hash_of(scope, owner_uid, name), scope, owner_uid, name);
  if (number == kNoSlot) return out;
  for (std::uint32_t slot = lines_.at(number).first; slot != kNoSlot; slot = waits_.at(slot).of_line.next)
    out.push_back(slot);
  return out;
}

std::size_t WaitTable::in_lines() const {
  std::size_t count = 0;
  for (std::uint32_t number = 0; number < lines_.slots(); ++number)
    if (lines_.live(number))
      for (std::uint32_t slot = lines_.at(number).first; slot != kNoSlot; slot = waits_.at(slot).of_line.next)
        ++count;
  return count;
}

}  // namespace hb::core
