// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/harness/closed_loop.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "bench/harness/check.h"
#include "bench/harness/clock.h"

namespace hb::bench {
namespace {

// Control socket: the parent writes a quota, the client answers with Timing and the latencies; the parent
// writes the quota once more (its reading of the server's CPU time is done), the client settles and says so.
struct Timing {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t count = 0;
};

void write_all(int socket, const void* data, std::size_t bytes) {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::send(socket, next, bytes, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) die("a client process of the closed loop has ended");
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

bool read_all(int socket, void* data, std::size_t bytes) {
  auto* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t received = ::recv(socket, next, bytes, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    next += received;
    bytes -= static_cast<std::size_t>(received);
  }
  return true;
}

void must_read(int socket, void* data, std::size_t bytes) {
  errno = 0;
  if (!read_all(socket, data, bytes)) die("a client process of the closed loop has ended");
}

class Runner {
 public:
  Runner(LoopClient& client, int control)
      : client_(client),
        control_(control),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        events_(client.size()),
        sent_ns_(client.size()) {
    for (std::size_t i = 0; i < client.size(); ++i) {
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      HB_BENCH_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, client.socket(i), &event) == 0);
    }
  }

  void serve_parent() {
    std::uint64_t quota = 0;
    write_all(control_, &quota, sizeof quota);  // ready
    while (read_all(control_, &quota, sizeof quota)) {
      latencies_.clear();
      latencies_.reserve(quota);
      Timing timing{.start_ns = now_ns()};
      run(quota);
      timing.end_ns = now_ns();
      timing.count = latencies_.size();
      write_all(control_, &timing, sizeof timing);
      write_all(control_, latencies_.data(), latencies_.size() * sizeof(std::uint32_t));
      if (!read_all(control_, &quota, sizeof quota)) return;
      client_.settle();
      write_all(control_, &quota, sizeof quota);
    }
  }

 private:
  void run(std::uint64_t quota) {
    std::uint64_t sent = 0;
    if (client_.size() == 1) {
      while (latencies_.size() < quota) {
        send(0);
        receive(0);
      }
      return;
    }
    for (; sent < std::min<std::uint64_t>(client_.size(), quota); ++sent) send(sent);
    while (latencies_.size() < quota) {
      const int ready = ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), -1);
      HB_BENCH_CHECK(ready >= 0 || errno == EINTR);
      for (int i = 0; i < ready; ++i) {
        const std::size_t connection = events_[static_cast<std::size_t>(i)].data.u64;
        receive(connection);
        if (sent >= quota) continue;
        send(connection);
        ++sent;
      }
    }
  }
  void send(std::size_t connection) {
    sent_ns_[connection] = now_ns();
    client_.send(connection);
  }
  void receive(std::size_t connection) {
    client_.receive(connection);
    latencies_.push_back(static_cast<std::uint32_t>(now_ns() - sent_ns_[connection]));
  }

  LoopClient& client_;
  int control_;
  UniqueFd epoll_;
  std::vector<epoll_event> events_;
  std::vector<std::uint64_t> sent_ns_;
  std::vector<std::uint32_t> latencies_;
};

}  // namespace

std::size_t ClosedLoop::process_count(std::size_t connections) {
  return std::min<std::size_t>(connections, 4);
}

ClosedLoop::ClosedLoop(std::size_t connections, Placement placement, Settling settling,
                       const MakeClient& make)
    : settling_(settling) {
  const std::size_t count = process_count(connections);
  for (std::size_t process = 0; process < count; ++process) {
    int pair[2];
    HB_BENCH_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    UniqueFd parent(pair[0]);
    UniqueFd child(pair[1]);
    const std::size_t share = connections / count + (process < connections % count ? 1 : 0);
    Child forked = Child::fork_and_run([&] {
      parent.reset();
      for (Process& other : processes_) other.control.reset();
      pin_to_cpu(client_cpu(placement));
      const std::unique_ptr<LoopClient> client = make(process, share);
      Runner(*client, child.get()).serve_parent();
    });
    processes_.push_back({std::move(forked), std::move(parent)});
  }
  for (const Process& process : processes_) {
    std::uint64_t ready = 0;
    must_read(process.control.get(), &ready, sizeof ready);
  }
}

LoopResult ClosedLoop::run(int operations, pid_t server) {
  const std::uint64_t quota =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(operations) / processes_.size());
  const std::uint64_t cpu_before = process_cpu_ns(server);
  for (const Process& process : processes_) write_all(process.control.get(), &quota, sizeof quota);
  LoopResult result;
  std::uint64_t start = UINT64_MAX;
  std::uint64_t end = 0;
  std::vector<Timing> timings(processes_.size());
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    must_read(processes_[i].control.get(), &timings[i], sizeof timings[i]);
    start = std::min(start, timings[i].start_ns);
    end = std::max(end, timings[i].end_ns);
    const std::size_t before = result.latencies_ns.size();
    result.latencies_ns.resize(before + timings[i].count);
    must_read(processes_[i].control.get(), result.latencies_ns.data() + before,
              timings[i].count * sizeof(std::uint32_t));
  }
  // Before the settling: every reply has come, so the server sleeps and its clock is up to date.
  std::uint64_t cpu_after = process_cpu_ns(server);
  for (const Process& process : processes_) write_all(process.control.get(), &quota, sizeof quota);
  for (const Process& process : processes_) {
    std::uint64_t settled = 0;
    must_read(process.control.get(), &settled, sizeof settled);
  }
  if (settling_ == Settling::kCounted) cpu_after = process_cpu_ns(server);
  const auto count = static_cast<double>(result.latencies_ns.size());
  result.operations_per_second = count * 1e9 / static_cast<double>(end - start);
  result.server_cpu_ns = static_cast<double>(cpu_after - cpu_before) / count;
  return result;
}

}  // namespace hb::bench
