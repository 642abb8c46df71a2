// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What can be written, and where to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hb::observe {

// What was lost is counted apart: a lost line is an annoyance, a lost audit record is a gap in the books.
enum class Stream : std::uint8_t { kLog, kAudit };

// One line of the log or one audit record. It is turned into text by whoever writes it, not by the loop.
// Never changed once it is made: threads share it.
class Writable {
 public:
  virtual ~Writable() = default;
  [[nodiscard]] virtual Stream stream() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;  // of memory that it keeps, roughly
  [[nodiscard]] virtual std::string line() const = 0;   // for people and pipes, without the line's end
  // For the journal: "FIELD=value" each, MESSAGE and PRIORITY among them.
  [[nodiscard]] virtual std::vector<std::string> fields() const = 0;
};

class Sink {
 public:
  virtual ~Sink() = default;
  // May block for as long as it likes. False: it was not taken.
  [[nodiscard]] virtual bool write(const Writable& what) = 0;
  [[nodiscard]] virtual std::string name() const = 0;
};

}  // namespace hb::observe
