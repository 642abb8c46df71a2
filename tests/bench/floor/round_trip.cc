// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/floor/round_trip.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "bench/floor/channel.h"
#include "bench/harness/check.h"
#include "bench/harness/clock.h"

namespace hb::bench {

RoundTrip::RoundTrip(const RoundTripSpec& spec, Placement placement)
    : Case(spec.name + "@" + placement_name(placement), spec.samples),
      spec_(spec),
      placement_(placement),
      series_(&make_series(name(), "us", spec.per_fd ? 1e3 * static_cast<double>(spec.reply_fds) : 1e3)),
      request_(spec.request_bytes, kRequest),
      reply_(spec.reply_bytes) {}

void RoundTrip::set_up() {
  auto [client, server] = make_channel();
  Reply reply;
  reply.bytes = spec_.reply_bytes;
  reply.keeps_fds = spec_.registers;
  for (std::size_t i = 0; i < spec_.reply_fds; ++i) reply.fds.push_back(make_memory(kMappedBytes));
  if (spec_.registers) registered_ = make_memory(kMappedBytes);
  server_ = Child::fork_and_run([&, side = &server] {
    client.reset();
    pin_to_cpu(server_cpu(placement_));
    std::vector<UniqueFd> clients;
    clients.push_back(std::move(*side));
    serve(std::move(clients), reply);
  });
  socket_ = std::move(client);
}

void RoundTrip::tear_down() {
  socket_.reset();
  server_.kill_and_reap();
}

void RoundTrip::step() {
  if (spec_.registers) {
    const PreparedMessage message(request_, std::span(&registered_, 1));
    HB_BENCH_CHECK(message.send(socket_.get()));
  } else {
    HB_BENCH_CHECK(::send(socket_.get(), request_.data(), request_.size(), MSG_NOSIGNAL) > 0);
  }
  std::array<int, kMaxFds> fds;
  std::size_t count = spec_.reply_fds;
  const ssize_t received = receive_message(socket_.get(), reply_, fds, count);
  HB_BENCH_CHECK(received == static_cast<ssize_t>(reply_.size()) && count == spec_.reply_fds);
  if (spec_.maps) {
    void* mapped = ::mmap(nullptr, kMappedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
    HB_BENCH_CHECK(mapped != MAP_FAILED);
    ::munmap(mapped, kMappedBytes);
  }
  if (spec_.close_range) {
    close_runs(std::span(fds.data(), count));
  } else {
    for (std::size_t i = 0; i < count; ++i) ::close(fds[i]);
  }
}

// Outside the measured time, as the product's withdraw is.
void RoundTrip::drop() {
  std::array<char, 64> request;
  request.fill(kDropRequest);
  HB_BENCH_CHECK(::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) > 0);
  HB_BENCH_CHECK(::recv(socket_.get(), reply_.data(), reply_.size(), 0) > 0);
}

void RoundTrip::run(int samples) {
  pin_to_cpu(client_cpu(placement_));
  const int warm_up = std::min(samples / 10 + 1, 20);
  for (int i = -warm_up; i < samples; ++i) {
    const std::uint64_t start = now_ns();
    step();
    const std::uint64_t end = now_ns();
    if (spec_.registers) drop();
    if (i >= 0) series_->add(static_cast<double>(end - start));
  }
  unpin();
}

RoundTripSpec acquire_floor() {
  return {.name = "floor.acquire", .reply_bytes = 256, .reply_fds = 1, .maps = true};
}

void add_round_trips(CaseList& cases, Placement placement) {
  const std::array specs{
      RoundTripSpec{.name = "floor.rtt"},
      acquire_floor(),
      RoundTripSpec{.name = "floor.acquire.nomap", .reply_bytes = 256, .reply_fds = 1},
      RoundTripSpec{.name = "floor.register", .samples = 400, .request_bytes = 256, .registers = true},
      RoundTripSpec{.name = "floor.batch253.nomap",
                    .samples = 30,
                    .reply_bytes = 256 * kMaxFds,
                    .reply_fds = kMaxFds,
                    .close_range = true,
                    .per_fd = true},
  };
  for (const RoundTripSpec& spec : specs) cases.push_back(std::make_unique<RoundTrip>(spec, placement));
}

}  // namespace hb::bench
