// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/harness/answer_rounds.h"
#include "bench/harness/closed_loop.h"
#include "bench/product/cases.h"
#include "bench/product/raw_session.h"

namespace hb::bench {
namespace {

class RawClient : public LoopClient {
 public:
  RawClient(const Rig& rig, const hb_key& key, std::size_t connections, bool release_each)
      : release_each_(release_each), unreleased_(connections) {
    for (std::size_t i = 0; i < connections; ++i) sessions_.push_back(RawSession(rig.socket, key));
  }
  std::size_t size() const override { return sessions_.size(); }
  int socket(std::size_t connection) const override { return sessions_[connection].socket(); }
  void send(std::size_t connection) override { sessions_[connection].send_acquire(); }
  void receive(std::size_t connection) override {
    const std::uint64_t lease = sessions_[connection].receive_acquired();
    if (release_each_) {
      sessions_[connection].send_release(lease);
    } else {
      unreleased_[connection].push_back(lease);
    }
  }
  void settle() override {
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      for (const std::uint64_t lease : unreleased_[i]) sessions_[i].send_release(lease);
      unreleased_[i].clear();
    }
    // One session of this process is enough where each has at most one release under way.
    for (RawSession& session : sessions_) {
      session.ping();
      if (release_each_) break;
    }
  }

 private:
  bool release_each_;
  std::vector<RawSession> sessions_;
  std::vector<std::vector<std::uint64_t>> unreleased_;
};

}  // namespace

void run_throughput(const Rig& rig, std::size_t connections, bool release_each) {
  const Exporter exporter(rig, {});
  // A release is answered by nothing: its work may be done after the last acquire has been answered.
  const auto settling = release_each ? ClosedLoop::Settling::kCounted : ClosedLoop::Settling::kUncounted;
  ClosedLoop loop(connections, rig.placement, settling, [&](std::size_t, std::size_t share) {
    return std::make_unique<RawClient>(rig, exporter.keys()[0], share, release_each);
  });
  answer_rounds([&](int samples) {
    const LoopResult result = loop.run(samples, rig.server);
    RoundAnswer answer;
    answer.samples_ns.assign(result.latencies_ns.begin(), result.latencies_ns.end());
    answer.metrics = {{"ops_per_s", result.operations_per_second}, {"cpu_ns", result.server_cpu_ns}};
    return answer;
  });
}

}  // namespace hb::bench
