// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The real hipbrokerd on a private directory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/process.h"
#include "support/temp_dir.h"
#include "wire/unique_fd.h"

namespace hb::test {

class FakeServiceManager;

struct DaemonOptions {
  std::string config;             // TOML besides the socket's path
  std::string policy;             // of the node, TOML; "" = what is built in
  std::vector<std::string> args;  // more of the command line
  ProcessOptions process;
  BorrowedFd stderr_to;              // else its log is a file
  std::vector<std::string> through;  // a program, with arguments, that becomes the daemon in the end
  std::optional<std::uint32_t> run_dir_owner;
  FakeServiceManager* manager = nullptr;  // starts it, with what it stored; outlives the DaemonProcess
  bool store = false;                     // one of its own in the place of that
  std::string program;                    // "" = hipbrokerd
  bool activated = false;                 // that manager opens its two sockets
  bool in_memory = false;  // its directories are on tmpfs, whatever /tmp is
  bool ready_on_admin = false;            // where the test itself is not served on the other socket
  std::string run_dir;  // below the private directory, for the daemon to make; "" = "run", made for its uid
};

class DaemonProcess {
 public:
  // Starts it and waits until it answers a connection. Throws with its log when it does not.
  explicit DaemonProcess(DaemonOptions options = {});
  // With `store` or `manager`.
  [[nodiscard]] FakeServiceManager& manager() const { return *options_.manager; }
  ~DaemonProcess();  // SIGTERM; a daemon that does not end, or ends badly, fails the test

  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  [[nodiscard]] const std::string& socket() const { return socket_; }
  [[nodiscard]] const std::string& admin_socket() const { return admin_socket_; }
  [[nodiscard]] const std::string& run_dir() const { return run_dir_; }
  [[nodiscard]] const TempDir& dir() const { return dir_; }
  [[nodiscard]] std::string policy_file() const { return dir_ / "policy/policy.toml"; }
  [[nodiscard]] std::string log() const { return read_file(log_path_); }
  // Waits until it holds that text: a thread writes it. The log as it is then.
  [[nodiscard]] std::string log_with(const std::string& text) const;
  [[nodiscard]] Process& process() { return process_; }

  [[nodiscard]] std::uint64_t resident() const { return resident_bytes(pid()); }
  // Its open descriptors, without numbers, sorted: two of these are compared by what is open, not where.
  [[nodiscard]] std::vector<std::string> fds() const;
  [[nodiscard]] std::size_t fd_count() const { return fds().size(); }

  // Connections it holds, in whatever state: its unix sockets that do not listen.
  [[nodiscard]] std::size_t connections() const;

  // Descriptors that its event loop watches: a closed one that a copy keeps alive would still be among them.
  [[nodiscard]] std::size_t epoll_entries() const;

  void kill9();
  void start();     // again, on the same path
  void restart() {  // as after a crash
    kill9();
    start();
  }
  // The command line it is started with.
  [[nodiscard]] std::vector<std::string> command_line() const;

 private:
  TempDir dir_;
  std::unique_ptr<FakeServiceManager> own_manager_;
  DaemonOptions options_;
  std::string run_dir_, socket_, admin_socket_, log_path_;
  Process process_;
};

// A daemon that is expected to refuse to start: its exit status and everything it said.
struct DaemonRefusal {
  int exit_code = -1;  // -1: it did not exit, or by a signal
  std::string output;
};
[[nodiscard]] DaemonRefusal run_daemon_to_exit(const std::vector<std::string>& args,
                                               const ProcessOptions& options = {});
[[nodiscard]] std::string daemon_program();
// One that ends itself where it is told (crashing_daemon.cc).
[[nodiscard]] std::string crashing_daemon_program();

}  // namespace hb::test
