// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A process that uses the C API on command: exec'ed, under any uid, told what to do message by message. The
// verbs and their arguments are those of the files actor_*.cc.
#pragma once

#include <optional>
#include <string>

#include "hipbroker/status.h"
#include "support/channel.h"
#include "support/process.h"

namespace hb::test {

class DaemonProcess;

struct Answer {
  bool died = false;  // the actor ended instead of answering
  hb_status status = HB_INTERNAL;
  Message fields;

  [[nodiscard]] std::string text(const std::string& name) const { return text_of(fields, name); }
  [[nodiscard]] std::uint64_t number(const std::string& name) const { return number_of(fields, name); }
  [[nodiscard]] std::string message() const { return text("message"); }
};

class Actor {
 public:
  explicit Actor(const ProcessOptions& options = {}, const std::string& role = "actor");
  // Opens a client on the daemon's socket and expects that to work.
  explicit Actor(const DaemonProcess& daemon, const ProcessOptions& options = {});

  // Sends a command and waits for the answer.
  Answer call(const std::string& verb, Message arguments = {});
  // The same, and the test fails unless the answer is HB_OK.
  Answer ok(const std::string& verb, Message arguments = {});
  // In two halves, for commands that wait.
  void start(const std::string& verb, Message arguments = {});
  Answer finish(std::uint64_t limit_ns = kWatchdogNs);
  [[nodiscard]] bool answered() const;  // an answer, or the end, is there to be read

  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  [[nodiscard]] Process& process() { return process_; }
  void kill9() { process_.kill_and_reap(); }
  // Ends it in order: everything destroyed, census of its descriptors taken. The test fails when that shows
  // a leak.
  void leave();

 private:
  UniqueFd channel_;
  Process process_;
  std::string last_verb_;
};

// For GoogleTest's output.
std::ostream& operator<<(std::ostream& out, const Answer& answer);

}  // namespace hb::test
