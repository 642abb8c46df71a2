// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/answer_log.h"

#include <algorithm>
#include <utility>

namespace hb::core {

const AnswerLog::Entry* AnswerLog::find(std::uint64_t request_id) const {
  for (std::size_t i = 0; i < size_; ++i)
    if ((*entries_)[i].id == request_id) return &(*entries_)[i];
  return nullptr;
}

void AnswerLog::remember(std::uint64_t request_id, std::uint16_t frame_type, Answer answer) {
  if (!entries_) entries_ = std::make_unique<std::array<Entry, limits::kRememberedAnswers>>();
  std::size_t place = size_;
  if (size_ < limits::kRememberedAnswers) {
    ++size_;
  } else {
    const auto oldest = std::min_element(entries_->begin(), entries_->end(),
                                         [](const Entry& a, const Entry& b) { return a.order < b.order; });
    forgotten_ = std::max(forgotten_, oldest->id);
    place = static_cast<std::size_t>(oldest - entries_->begin());
  }
  (*entries_)[place] = {request_id, frame_type, std::move(answer), ++last_order_};
  changed_ |= 1u << place;
}

bool AnswerLog::restore(std::size_t place, Entry entry) {
  if (place < size_ || size_ == limits::kRememberedAnswers) return false;
  if (!entries_) entries_ = std::make_unique<std::array<Entry, limits::kRememberedAnswers>>();
  if (place != size_) changed_ |= 1u << size_;
  last_order_ = std::max(last_order_, entry.order);
  (*entries_)[size_++] = std::move(entry);
  return true;
}

}  // namespace hb::core
