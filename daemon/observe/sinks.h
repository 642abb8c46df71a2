// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <memory>
#include <string>

#include "observe/writable.h"
#include "wire/unique_fd.h"

namespace hb::observe {

// One line each. Waits for a descriptor that others have made non-blocking, too.
class LineSink : public Sink {
 public:
  LineSink(BorrowedFd to, std::string name) : to_(to), name_(std::move(name)) {}
  [[nodiscard]] bool write(const Writable& what) override;
  [[nodiscard]] std::string name() const override { return name_; }

 private:
  BorrowedFd to_;
  std::string name_;
};

// sd_journal_sendv: it waits where journald does not read.
class JournalSink : public Sink {
 public:
  [[nodiscard]] bool write(const Writable& what) override;
  [[nodiscard]] std::string name() const override { return "the journal"; }
};

// The journal where stderr is connected to it, else stderr.
[[nodiscard]] std::unique_ptr<Sink> make_default_sink();

}  // namespace hb::observe
