// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/validity_slots.h"

#include <algorithm>
#include <bit>

#include "wire/limits.h"

namespace hb::core {

ValiditySlots::Granted ValiditySlots::take() {
  std::uint32_t group = 0;
  while (group < full_.size() && full_[group] == ~0ull) ++group;
  if (group == full_.size()) full_.push_back(0);
  const std::uint32_t word = group * 64 + static_cast<std::uint32_t>(std::countr_one(full_[group]));
  if (word == words_.size()) words_.push_back(0);
  const std::uint32_t slot = word * 64 + static_cast<std::uint32_t>(std::countr_one(words_[word]));
  words_[word] |= 1ull << (slot % 64);
  if (words_[word] == ~0ull) full_[group] |= 1ull << (word % 64);
  if (slot == values_.size()) values_.push_back(floor_);
  ++in_use_;
  return {slot, renew(slot)};
}

std::uint32_t ValiditySlots::renew(std::uint32_t slot) {
  values_[slot] += 2;
  if (values_[slot] == 0) values_[slot] = 2;
  highest_ = std::max(highest_, values_[slot]);
  return values_[slot];
}

bool ValiditySlots::restore(std::uint32_t slot, std::uint32_t value) {
  if (slot >= limits::kSessionLeases || taken(slot)) return false;
  while (words_.size() <= slot / 64) words_.push_back(0);
  while (full_.size() <= slot / 4096) full_.push_back(0);
  if (values_.size() <= slot) values_.resize(slot + 1, floor_);
  words_[slot / 64] |= 1ull << (slot % 64);
  if (words_[slot / 64] == ~0ull) full_[slot / 4096] |= 1ull << (slot / 64 % 64);
  values_[slot] = value;
  highest_ = std::max(highest_, value);
  ++in_use_;
  return true;
}

void ValiditySlots::begin_behind(std::uint32_t value) {
  floor_ = value;
  highest_ = std::max(highest_, value);
}

void ValiditySlots::give_back(std::uint32_t slot) {
  words_[slot / 64] &= ~(1ull << (slot % 64));
  full_[slot / 4096] &= ~(1ull << (slot / 64 % 64));
  --in_use_;
}

bool ValiditySlots::taken(std::uint32_t slot) const {
  return slot / 64 < words_.size() && (words_[slot / 64] >> (slot % 64) & 1) != 0;
}

}  // namespace hb::core
