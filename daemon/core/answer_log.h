// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The last answers of one session to mutating requests, so that a request sent again after a lost answer
// gets its first one. Nothing is allocated before the first.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "core/effect.h"
#include "wire/limits.h"

namespace hb::core {

// An acquire is answered again from its lease: a page points into tables and is never kept.
struct LeaseAnswer {
  LeaseId lease;
  ExportId exported;
  std::uint32_t generation = 0;
};

struct WithdrawnAnswer {
  Withdrawn body;  // points into `processes`
  std::vector<std::shared_ptr<const ProcessInfo>> processes;
};

// A join is answered again from its group.
struct JoinAnswer {
  GroupId group;
};

// An answer that has no contents: which one of ReplyBody.
struct Done {
  std::uint8_t index = 0;
};

using Answer = std::variant<Error, Exported, LeaseAnswer, std::shared_ptr<const WithdrawnAnswer>, TicketMade,
                            Done, JoinAnswer>;

class AnswerLog {
 public:
  struct Entry {
    std::uint64_t id = 0;
    std::uint16_t frame_type = 0;  // of the request: an id belongs to one
    Answer answer;
    std::uint64_t order = 0;  // of being answered
  };
  [[nodiscard]] const Entry* find(std::uint64_t request_id) const;
  // Answered once, and the answer is no longer known: it must not be carried out again.
  [[nodiscard]] bool forgotten(std::uint64_t request_id) const { return request_id <= forgotten_; }
  // The last ones are kept, whatever their ids: a request that waited is answered long after younger ones.
  void remember(std::uint64_t request_id, std::uint16_t frame_type, Answer answer);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::uint64_t highest_forgotten() const { return forgotten_; }

  // By place, which stays as long as the entry does.
  [[nodiscard]] const Entry& at(std::size_t place) const { return (*entries_)[place]; }
  // Bits of the places that were written to since the last call.
  [[nodiscard]] std::uint32_t take_changed() { return std::exchange(changed_, 0); }
  // In the order of their places. Where one is missing those behind it move up, and are written anew.
  [[nodiscard]] bool restore(std::size_t place, Entry entry);
  void restore_forgotten(std::uint64_t request_id) { forgotten_ = request_id; }

 private:
  std::unique_ptr<std::array<Entry, limits::kRememberedAnswers>> entries_;
  std::size_t size_ = 0;
  std::uint64_t forgotten_ = 0;
  std::uint32_t changed_ = 0;
  std::uint64_t last_order_ = 0;
  static_assert(limits::kRememberedAnswers <= 32);
};

}  // namespace hb::core
