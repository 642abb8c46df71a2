// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the steps work with: a daemon, processes that speak to it, and the GPU under test.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "hipbroker/hipbroker.h"
#include "message.h"

namespace hb::selftest {

// Ends a step: what was done and what came of it.
class Failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// Ends a step that this machine cannot show.
class NotHere : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A child started by exec. Killed and reaped with the object; one that a driver holds in the kernel is left
// behind.
class Child {
 public:
  Child() = default;
  // `third`: what it gets as descriptor 3, if valid; `log`: where its stderr goes, "" = ours.
  Child(const std::vector<std::string>& argv, const UniqueFd& third, const std::string& log);
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&& other) noexcept;
  ~Child() { kill_and_reap(); }

  void kill_and_reap();
  // The wait status once it has ended; SIGKILL where it does not in a few seconds. None: not even then.
  std::optional<int> wait();
  void terminate() const;  // SIGTERM
  [[nodiscard]] bool ended() const;
  // "SIGKILL", "exited with 3"; "" while it runs. It can still be waited for.
  [[nodiscard]] std::string how_it_ended() const;

 private:
  pid_t pid_ = -1;
};

class Peer {
 public:
  // Answers must come within `answer_ns` each, all of them until the deadline.
  Peer(const std::string& socket, std::uint64_t deadline_ns, std::uint64_t answer_ns);

  // The answer, whatever its status.
  Message call(const std::string& verb, Message arguments = {});
  // Failed with the verb and the reason unless it succeeds.
  Message ok(const std::string& verb, Message arguments = {});
  void say(const std::string& verb, Message arguments);
  Message hear(const std::string& verb);
  void kill() { child_.kill_and_reap(); }
  // Gives everything back and exits. Failed when it does not end well: runtimes have crashed only then.
  void leave(const std::string& who);

 private:
  UniqueFd socket_;
  Child child_;
  std::uint64_t deadline_ns_;
  std::uint64_t answer_ns_;
};

struct LabOptions {
  std::string socket;  // empty: a daemon of our own
  int device = 0;
};

class Lab {
 public:
  explicit Lab(const LabOptions& options);  // Failed when there is no daemon
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  [[nodiscard]] Peer start() const;
  [[nodiscard]] const std::string& daemon() const { return daemon_version_; }
  // How the daemon that was started for this test ended; "" while it runs, and of a daemon of others.
  [[nodiscard]] std::string daemon_end() const;
  [[nodiscard]] std::uint64_t left_ns() const;
  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] hb_hip_look* look() const { return look_.get(); }
  [[nodiscard]] const hb_hip_runtime& runtime() const { return *hb_hip_look_runtime(look_.get()); }

  // Known once the probe's step has run.
  hb_hip_report report = HB_HIP_REPORT_INIT;
  bool probed = false;
  // NotHere with the reason, where GPU memory cannot be shared in this place at all.
  void demand_gpu() const;
  void demand_export() const;  // the same, where nothing need be imported by HIP's virtual memory
  // A row of docs/hip-support.md that holds for this version, so that a no is nothing to report.
  [[nodiscard]] bool is_known(const char* issue) const;

 private:
  void start_daemon();

  struct CloseLook {
    void operator()(hb_hip_look* look) const { hb_hip_look_close(look); }
  };
  std::uint64_t deadline_ns_;
  int device_;
  std::string folder_;
  std::string socket_;
  std::string daemon_version_;
  Child daemon_;
  std::unique_ptr<hb_hip_look, CloseLook> look_;
};

}  // namespace hb::selftest
