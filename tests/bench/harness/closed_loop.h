// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Many connections against one server: each sends its next request when its last was answered. At most
// four client processes, each with its share of the connections behind one epoll.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "bench/harness/child.h"
#include "bench/harness/placement.h"
#include "wire/unique_fd.h"

namespace hb::bench {

// The connections of one client process.
class LoopClient {
 public:
  virtual ~LoopClient() = default;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual int socket(std::size_t connection) const = 0;  // borrowed
  virtual void send(std::size_t connection) = 0;
  virtual void receive(std::size_t connection) = 0;
  // After the clock has stopped: returns when the server has nothing left to do for this process.
  virtual void settle() {}
};

struct LoopResult {
  std::vector<std::uint32_t> latencies_ns;
  double operations_per_second = 0;
  double server_cpu_ns = 0;  // of one operation
};

class ClosedLoop {
 public:
  using MakeClient = std::function<std::unique_ptr<LoopClient>(std::size_t process, std::size_t connections)>;

  // Whether what settle() waits for belongs to the operations' CPU time.
  enum class Settling { kUncounted, kCounted };
  // Forks the client processes; `make` runs in each. Returns when all are ready.
  ClosedLoop(std::size_t connections, Placement placement, Settling settling, const MakeClient& make);
  [[nodiscard]] static std::size_t process_count(std::size_t connections);

  [[nodiscard]] LoopResult run(int operations, pid_t server);

 private:
  struct Process {
    Child child;
    UniqueFd control;
  };
  std::vector<Process> processes_;
  Settling settling_;
};

}  // namespace hb::bench
