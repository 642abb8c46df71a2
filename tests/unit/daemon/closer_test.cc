// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/closer.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "support/wait.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};
Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

bool hung_up(int read_end) {
  pollfd entry{read_end, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1 && (entry.revents & POLLHUP) != 0;
}

TEST(Closer, TheMemoryLaneReportsAfterTheCloseAndInOrder) {
  os::Closer closer;
  std::vector<Pipe> pipes;
  for (int i = 0; i < 8; ++i) pipes.push_back(make_pipe());
  std::mutex mutex;
  std::vector<std::size_t> order;
  std::vector<bool> was_closed;
  for (std::size_t i = 0; i < pipes.size(); ++i) {
    std::vector<UniqueFd> fds;
    fds.push_back(std::move(pipes[i].write));
    closer.close_memory(std::move(fds), [&, i] {
      const std::scoped_lock lock(mutex);
      order.push_back(i);
      was_closed.push_back(hung_up(pipes[i].read.get()));
    });
  }
  ASSERT_TRUE(poll_until([&] {
    const std::scoped_lock lock(mutex);
    return order.size() == pipes.size();
  }));
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(was_closed, std::vector<bool>(8, true));
  EXPECT_EQ(closer.closing(), 0u);
}

// A TCP socket that lingers, with unsent data: close() sleeps until the linger time is over. The peer's
// receive buffer is full and nobody reads it; shutdown by its owner ends the wait.
struct Lingering {
  UniqueFd closing;
  UniqueFd peer;
};
Lingering make_lingering() {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int small = 4096;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  sockaddr address{};
  address.sa_family = AF_INET;
  address.sa_data[2] = 127;
  address.sa_data[5] = 1;
  socklen_t bytes = sizeof address;
  if (::bind(listener.get(), &address, bytes) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), &address, &bytes) != 0) {
    throw std::runtime_error("listen");
  }
  Lingering made;
  made.closing = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(made.closing.get(), &address, bytes) != 0) throw std::runtime_error("connect");
  made.peer = UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const linger wait{1, 1000};
  ::setsockopt(made.closing.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait);
  const std::array<char, 65536> data{};
  while (::send(made.closing.get(), data.data(), data.size(), MSG_DONTWAIT) > 0) {
  }
  return made;
}

TEST(Closer, OneUidsStuckDescriptorsDoNotStopAnothers) {
  constexpr std::uint32_t kHostile = 1;
  constexpr std::uint32_t kOther = 2;
  constexpr std::size_t kStuck = 3 * limits::kQuarantineThreads;
  std::atomic<std::size_t> hostile_done{0};
  std::vector<UniqueFd> peers;
  os::Closer closer;
  for (std::size_t i = 0; i < kStuck; ++i) {
    Lingering lingering = make_lingering();
    peers.push_back(std::move(lingering.peer));
    closer.quarantine(kHostile, std::move(lingering.closing), [&] { ++hostile_done; });
  }
  // More than there are threads: each of them had the choice to get stuck as well.
  for (std::size_t i = 0; i < 2 * limits::kQuarantineThreads; ++i) {
    Pipe pipe = make_pipe();
    auto closed = std::make_shared<std::promise<void>>();
    closer.quarantine(kOther, std::move(pipe.write), [closed] { closed->set_value(); });
    ASSERT_EQ(closed->get_future().wait_for(std::chrono::nanoseconds(kWatchdogNs)), std::future_status::ready)
        << "after " << i;
  }
  EXPECT_EQ(hostile_done, 0u) << "the descriptors were to block";
  EXPECT_EQ(closer.quarantined(), kStuck);
  peers.clear();  // reset: every close() returns
  EXPECT_TRUE(poll_until([&] { return hostile_done == kStuck; }));
  EXPECT_EQ(closer.quarantined(), 0u);
}

TEST(Closer, CountsRefusedDescriptorsPerUidButNotSockets) {
  os::Closer closer;
  std::vector<UniqueFd> peers;
  std::atomic<std::size_t> done{0};
  for (int i = 0; i < 2; ++i) {  // the uid's share of threads
    Lingering lingering = make_lingering();
    peers.push_back(std::move(lingering.peer));
    closer.quarantine(7, std::move(lingering.closing), [&] { ++done; });
  }
  std::vector<UniqueFd> reads;
  const auto add = [&](bool counted) {
    Pipe pipe = make_pipe();
    reads.push_back(std::move(pipe.read));
    if (counted) {
      closer.quarantine(7, std::move(pipe.write), [&] { ++done; });
    } else {
      closer.close_socket(7, std::move(pipe.write), [&] { ++done; });
    }
  };
  for (std::size_t i = 2; i + 1 < limits::kQuarantinePerUid; ++i) add(true);
  add(false);
  EXPECT_FALSE(closer.quarantine_full(7));
  add(true);
  EXPECT_TRUE(closer.quarantine_full(7));
  EXPECT_FALSE(closer.quarantine_full(8));
  peers.clear();
  EXPECT_TRUE(poll_until([&] { return done == limits::kQuarantinePerUid + 1; }));
  EXPECT_FALSE(closer.quarantine_full(7));
}

TEST(Closer, StopDoesNotWaitAndNothingIsReportedAfterIt) {
  auto closer = std::make_unique<os::Closer>();
  Lingering lingering = make_lingering();
  const int number = lingering.closing.get();
  auto calls = std::make_shared<std::atomic<int>>(0);
  auto token = std::make_shared<int>(0);
  const std::weak_ptr<int> job = token;  // lives as long as the job
  closer->quarantine(1, std::move(lingering.closing), [calls, held = std::move(token)] { ++*calls; });
  ASSERT_TRUE(poll_until([&] { return ::fcntl(number, F_GETFD) < 0; })) << "a thread is inside close()";
  closer->stop();
  closer.reset();
  EXPECT_FALSE(job.expired()) << "still inside close()";
  lingering.peer.reset();
  ASSERT_TRUE(poll_until([&] { return job.expired(); }));
  EXPECT_EQ(*calls, 0);
}

}  // namespace
}  // namespace hb::test
