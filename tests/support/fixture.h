// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/daemon_process.h"
#include "support/raw_peer.h"

namespace hb::test {

// A test with a daemon of its own and the descriptor census of that daemon: when the test is over (its
// sessions closed, its children gone), the daemon must hold what it held before, nothing more.
class DaemonTest : public testing::Test {
 protected:
  explicit DaemonTest(DaemonOptions options = {}) : options_(std::move(options)) {}
  void SetUp() override;
  void TearDown() override;

  DaemonProcess& daemon() { return *daemon_; }
  // A connection that has said hello.
  RawPeer peer();
  RawPeer admin_peer();
  // Waits until the daemon holds what it held at the start plus `sessions` idle connections; else fails with
  // the difference. `what` says which moment this is.
  void expect_baseline(const std::string& what, std::size_t sessions = 0);
  // Empty at the baseline, else what differs right now.
  [[nodiscard]] std::string difference(std::size_t sessions) const;
  // Waits until the daemon holds `count` descriptors: what it lets go of, it closes on another thread.
  void expect_fds(std::size_t count, const std::string& what);
  // Waits until no session but the asker's is left, then returns the daemon's counters.
  pb::StatusReply counters_when_alone();

  DaemonOptions options_;

 private:
  void take_baseline();
  [[nodiscard]] std::size_t queue_ends() const;
  std::unique_ptr<DaemonProcess> daemon_;
  std::vector<std::string> baseline_;
  std::vector<std::string> one_session_;  // what one idle session adds
  std::size_t queues_ = 0;
  std::size_t watched_ = 0;               // by the daemon's event loop
  std::size_t watched_for_one_ = 0;       // more of one idle session
};

}  // namespace hb::test
