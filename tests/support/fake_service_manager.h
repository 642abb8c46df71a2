// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A $NOTIFY_SOCKET that keeps descriptors as PID 1 does, and starts the program again with them:
//
//   FakeServiceManager manager(dir);
//   manager.listen("broker", dir / "broker.sock");
//   manager.start({program, "--flag"});
//   manager.restart();                            // SIGKILL, and again, with all that it stored
//
// With the real daemon: DaemonOptions::manager, then DaemonProcess::restart() does the same.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/process.h"
#include "support/temp_dir.h"
#include "wire/unique_fd.h"

namespace hb::test {

struct ManagerOptions {
  std::size_t store_max = 512;
  bool tells_capacity = true;  // $FDSTORE, as systemd 254 and later
  bool abstract = false;       // the socket has no path
  std::vector<std::pair<std::string, std::string>> env;
};

class FakeServiceManager {
 public:
  explicit FakeServiceManager(const TempDir& dir, ManagerOptions options = {});  // throws
  ~FakeServiceManager();
  FakeServiceManager(const FakeServiceManager&) = delete;
  FakeServiceManager& operator=(const FakeServiceManager&) = delete;

  // A listening socket that it opens, as a .socket unit; mode 0666.
  void listen(const std::string& name, const std::string& path, int type = SOCK_SEQPACKET);
  // One that is handed over like a listener, whatever it is.
  void hand_over(const std::string& name, UniqueFd fd);

  // What a start consists of, beside the program: words that become it, variables, descriptors by number.
  struct Launch {
    std::vector<std::string> through;
    std::vector<std::pair<std::string, std::string>> env;
    std::vector<std::pair<int, int>> inherit;
    std::vector<UniqueFd> owned;  // what `inherit` lends
  };
  [[nodiscard]] Launch launch();

  void start(const std::vector<std::string>& argv, const ProcessOptions& options = {});
  void kill() { process_.kill_and_reap(); }
  void restart();
  [[nodiscard]] Process& process() { return process_; }

  // From now on, each launch hands them over in another order.
  void shuffle(std::uint32_t seed) { seed_ = seed; }
  // Entries of that name are gone, as if PID 1 had dropped them. How many there were.
  std::size_t lose(const std::string& name);
  // Reads nothing while busy.
  void set_busy(bool busy);

  [[nodiscard]] std::vector<std::string> stored_names() const;  // sorted, one for each entry
  [[nodiscard]] std::size_t stored() const { return stored_names().size(); }
  [[nodiscard]] UniqueFd copy_of(const std::string& name) const;  // the first of that name
  // Every message since the last launch, as sent.
  [[nodiscard]] std::vector<std::string> messages() const;
  // Waits until one of them contains that text.
  [[nodiscard]] bool wait_for(const std::string& text) const;
  // What PID 1 would not have done: a name it does not take, an entry that it polls (FDPOLL=0 is missing),
  // one too many. Empty in a program that does it right.
  [[nodiscard]] std::vector<std::string> violations() const;
  // FDSTORE messages since the last barrier.
  [[nodiscard]] std::size_t behind_barrier() const;
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  struct Entry {
    std::string name;
    UniqueFd fd;
  };
  void serve();
  void take(const std::string& text, std::vector<UniqueFd> fds);
  void store(const std::map<std::string, std::string>& fields, std::vector<UniqueFd> fds);

  ManagerOptions options_;
  std::string address_;
  UniqueFd socket_;
  UniqueFd wake_;
  std::vector<Entry> listeners_;
  std::optional<std::uint32_t> seed_;
  std::vector<std::string> argv_;
  ProcessOptions process_options_;
  Process process_;

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<std::string> messages_;
  std::vector<std::string> violations_;
  std::size_t behind_barrier_ = 0;
  bool busy_ = false;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace hb::test
