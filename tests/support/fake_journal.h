// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The socket of journald, in a mount namespace of the daemon's own: what it sends there arrives here, and
// what is not read stays where it is, as with a journald that is stopped.
#pragma once

#include <string>

#include "support/daemon_process.h"
#include "support/temp_dir.h"
#include "wire/unique_fd.h"

namespace hb::test {

class FakeJournal {
 public:
  FakeJournal();  // throws

  // The daemon's stderr is taken for connected to the journal. Needs root.
  void take(DaemonOptions& options) const;
  // One record more, as sent: "FIELD=value" lines. Empty when none came before the limit.
  [[nodiscard]] std::string next(std::uint64_t limit_ns = kWatchdogNs);
  // All that has been read, with what is there now.
  [[nodiscard]] const std::string& all();

 private:
  TempDir dir_;
  UniqueFd socket_;
  UniqueFd stderr_;
  std::string read_;
};

}  // namespace hb::test
