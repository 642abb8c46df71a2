// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Everything the daemon says goes through here: a bounded queue and the one thread that writes. A stopped
// journald or a full pipe on stderr blocks that thread and nobody else. What does not fit is dropped,
// counted, and told as soon as writing goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "observe/writable.h"
#include "wire/limits.h"

namespace hb::observe {

class Writer {
 public:
  struct Bounds {
    std::size_t lines = limits::kLogLines;
    std::size_t bytes = limits::kLogBytes;
  };
  struct Totals {
    std::uint64_t waiting = 0;  // lines and records that are not written yet
    std::uint64_t log_dropped = 0;
    std::uint64_t audit_dropped = 0;
  };

  explicit Writer(std::unique_ptr<Sink> sink) : Writer(std::move(sink), Bounds()) {}
  Writer(std::unique_ptr<Sink> sink, Bounds bounds);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();  // does not wait: finish() does

  // From now on put() hands over to a thread; until then it writes itself, so that an early error comes out
  // whatever happens next. A process that changes its credentials or enters a sandbox does that first: parts
  // of it hold for the calling thread only. Throws std::system_error when there is no thread.
  void start();
  // Never blocks once started. Thread-safe.
  void put(std::shared_ptr<const Writable> what);
  [[nodiscard]] Totals totals() const;
  // Writes what waits, for at most so long, and ends the thread; one that hangs in a write is left behind,
  // and what comes afterwards is dropped. True: everything was written, and put() writes itself again.
  bool finish(std::uint64_t limit_ns);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hb::observe
