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
    const auto lowest = std::min_element(entries_->begin(), entries_->end(),
                                         [](const Entry& a, const Entry& b) { return a.id < b.id; });
    forgotten_ = std::max(forgotten_, std::min(lowest->id, request_id));
    if (request_id < lowest->id) return;
    place = static_cast<std::size_t>(lowest - entries_->begin());
  }
  (*entries_)[place] = {request_id, frame_type, std::move(answer)};
}

}  // namespace hb::core
