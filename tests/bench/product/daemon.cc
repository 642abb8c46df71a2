// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/product/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "bench/harness/check.h"
#include "bench/harness/clock.h"
#include "wire/unique_fd.h"

namespace hb::bench {
namespace {

constexpr std::uint64_t kReadyNs = 10'000'000'000;
constexpr int kLookMs = 5;
constexpr int kEndMs = 5'000;

bool takes_connections(const std::string& path) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  HB_BENCH_CHECK(socket);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  HB_BENCH_CHECK(path.size() < sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

PrivateDaemon::PrivateDaemon(const std::string& program, Placement placement) {
  const char* base = std::getenv("TMPDIR");
  std::string directory = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/hb-bench-XXXXXX";
  HB_BENCH_CHECK(::mkdtemp(directory.data()) != nullptr);  // mode 0700
  directory_ = std::move(directory);
  socket_ = directory_ + "/broker.sock";
  log_ = directory_ + "/log";
  // An empty file of our own: the machine's configuration has no say in the figures.
  const std::string config = directory_ + "/hipbrokerd.toml";
  const UniqueFd created(::open(config.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  HB_BENCH_CHECK(created);
  child_ = Child::execute({program, "--config", config, "--socket", socket_}, [&] {
    const UniqueFd log(::open(log_.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
    HB_BENCH_CHECK(log && ::dup2(log.get(), 1) == 1 && ::dup2(log.get(), 2) == 2);
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("LISTEN_FDS");
    pin_to_cpu(server_cpu(placement));
  });
  wait_until_ready();
}

void PrivateDaemon::wait_until_ready() {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, child_.pid(), 0)));
  HB_BENCH_CHECK(process);
  const std::uint64_t deadline = now_ns() + kReadyNs;
  while (!takes_connections(socket_)) {
    pollfd ended{process.get(), POLLIN, 0};
    const bool has_ended = ::poll(&ended, 1, kLookMs) > 0;
    errno = 0;
    if (has_ended) die("hipbrokerd ended at its start; its log: %s", log_.c_str());
    if (now_ns() > deadline) die("hipbrokerd took no connection within 10 s; its log: %s", log_.c_str());
  }
}

PrivateDaemon::~PrivateDaemon() {
  child_.terminate(kEndMs);
  std::error_code ignored;  // a leftover in a temporary directory is not worth a failed run
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace hb::bench
