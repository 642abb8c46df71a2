// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/floor/throughput.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "bench/floor/channel.h"
#include "bench/floor/server.h"
#include "bench/harness/check.h"
#include "bench/harness/closed_loop.h"

namespace hb::bench {
namespace {

class BareClient : public LoopClient {
 public:
  explicit BareClient(std::vector<UniqueFd> sockets) : sockets_(std::move(sockets)) {
    request_.fill(kRequest);
  }
  std::size_t size() const override { return sockets_.size(); }
  int socket(std::size_t connection) const override { return sockets_[connection].get(); }
  void send(std::size_t connection) override {
    HB_BENCH_CHECK(::send(socket(connection), request_.data(), request_.size(), MSG_NOSIGNAL) > 0);
  }
  void receive(std::size_t connection) override {
    std::array<int, 1> fds;
    std::size_t count = fds.size();
    HB_BENCH_CHECK(receive_message(socket(connection), reply_, fds, count) == 256 && count == 1);
    ::close(fds[0]);
  }

 private:
  std::vector<UniqueFd> sockets_;
  std::array<char, 64> request_;
  std::array<char, 512> reply_;
};

class Throughput : public Case {
 public:
  Throughput(std::size_t connections, Placement placement)
      : Case("floor.acquires.conns" + std::to_string(connections) + "@" + placement_name(placement),
             throughput_samples(connections)),
        connections_(connections),
        placement_(placement),
        latency_(&make_series(name(), "us", 1e3)),
        rate_(&make_series(name() + " rate", "1/s", 1)),
        cpu_(&make_series(name() + " server cpu", "us", 1e3)) {}

  void set_up() override {
    std::vector<UniqueFd> clients, servers;
    for (std::size_t i = 0; i < connections_; ++i) {
      auto [client, server] = make_channel();
      clients.push_back(std::move(client));
      servers.push_back(std::move(server));
    }
    Reply reply;
    reply.bytes = 256;
    reply.fds.push_back(make_memory(kMappedBytes));
    server_ = Child::fork_and_run([&] {
      clients.clear();
      pin_to_cpu(server_cpu(placement_));
      serve(std::move(servers), reply);
    });
    servers.clear();
    loop_ = std::make_unique<ClosedLoop>(connections_, placement_, ClosedLoop::Settling::kUncounted,
                                         [&](std::size_t process, std::size_t connections) {
                                           const std::size_t count = ClosedLoop::process_count(connections_);
                                           std::vector<UniqueFd> mine;
                                           for (std::size_t i = process; i < connections_; i += count)
                                             mine.push_back(std::move(clients[i]));
                                           HB_BENCH_CHECK(mine.size() == connections);
                                           clients.clear();
                                           return std::make_unique<BareClient>(std::move(mine));
                                         });
  }
  void run(int samples) override {
    const LoopResult result = loop_->run(samples, server_.pid());
    for (const std::uint32_t ns : result.latencies_ns) latency_->add(ns);
    rate_->add(result.operations_per_second);
    cpu_->add(result.server_cpu_ns);
  }
  void tear_down() override {
    loop_.reset();
    server_.kill_and_reap();
  }

 private:
  std::size_t connections_;
  Placement placement_;
  Series *latency_, *rate_, *cpu_;
  Child server_;
  std::unique_ptr<ClosedLoop> loop_;
};

}  // namespace

int throughput_samples(std::size_t connections) { return connections >= 64 ? 16000 : 6000; }

void add_throughput(CaseList& cases, Placement placement) {
  for (const std::size_t connections : {1u, 8u, 64u, 512u}) {
    cases.push_back(std::make_unique<Throughput>(connections, placement));
  }
}

}  // namespace hb::bench
