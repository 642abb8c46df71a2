// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstdint>
#include <mutex>

#include "clock.h"
#include "error.h"
#include "import.h"

namespace hb::client {

// Who changes a mapping, one at a time.
class ImportTurn {
 public:
  explicit ImportTurn(hb_import& imported) : imported_(imported) {}
  ~ImportTurn() {
    if (!taken_) return;
    const std::lock_guard guard(imported_.look);
    imported_.changing = false;
    imported_.changed.notify_all();
  }
  ImportTurn(const ImportTurn&) = delete;
  ImportTurn& operator=(const ImportTurn&) = delete;

  [[nodiscard]] Result<void> take(std::uint64_t deadline_ns) {
    std::unique_lock lock(imported_.look);
    while (imported_.changing) {
      if (deadline_ns == kNoDeadline)
        imported_.changed.wait(lock);
      else if (imported_.changed.wait_until(lock, time_point(deadline_ns)) == std::cv_status::timeout &&
               imported_.changing)
        return fail(HB_TIMEOUT, "another thread was still refreshing this import at the deadline");
    }
    taken_ = imported_.changing = true;
    return {};
  }

  // False: another thread has it.
  [[nodiscard]] bool try_take() {
    const std::lock_guard guard(imported_.look);
    if (!imported_.changing) taken_ = imported_.changing = true;
    return taken_;
  }

 private:
  hb_import& imported_;
  bool taken_ = false;
};

}  // namespace hb::client
