// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/answer_log.h"

#include <algorithm>
#include <utility>

namespace hb::core {

const Answer* AnswerLog::find(std::uint64_t request_id) const {
  for (std::size_t i = 0; i < size_; ++i)
    if (entries_->ids[i] == request_id) return &entries_->answers[i];
  return nullptr;
}

void AnswerLog::remember(std::uint64_t request_id, Answer answer) {
  if (!entries_) entries_ = std::make_unique<Entries>();
  std::size_t place = size_;
  if (size_ < limits::kRememberedAnswers) {
    ++size_;
  } else {
    const auto lowest = std::min_element(entries_->ids.begin(), entries_->ids.end());
    forgotten_ = std::max(forgotten_, std::min(*lowest, request_id));
    if (request_id < *lowest) return;
    place = static_cast<std::size_t>(lowest - entries_->ids.begin());
  }
  entries_->ids[place] = request_id;
  entries_->answers[place] = std::move(answer);
}

}  // namespace hb::core
