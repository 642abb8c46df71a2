// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/floor/server.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "bench/floor/channel.h"
#include "bench/harness/check.h"

namespace hb::bench {
namespace {

class Server {
 public:
  Server(std::vector<UniqueFd> clients, const Reply& reply)
      : clients_(std::move(clients)),
        reply_(reply),
        bytes_(reply.bytes, 'r'),
        message_(bytes_, reply.fds),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    HB_BENCH_CHECK(epoll_);
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      HB_BENCH_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, clients_[i].get(), &event) == 0);
    }
  }

  void run() {
    std::array<epoll_event, 512> events;
    for (std::size_t open = clients_.size(); open > 0;) {
      const int ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
      HB_BENCH_CHECK(ready >= 0 || errno == EINTR);
      for (int i = 0; i < ready; ++i) {
        UniqueFd& client = clients_[events[static_cast<std::size_t>(i)].data.u64];
        if (answer(client.get())) continue;
        client.reset();
        --open;
      }
    }
  }

 private:
  bool answer(int client) {
    const ssize_t received = reply_.keeps_fds
                                 ? receive_kept(client)
                                 : ::recv(client, request_.data(), request_.size(), MSG_DONTWAIT);
    if (received < 0 && errno == EAGAIN) return true;
    return received > 0 && message_.send(client);
  }

  // As a broker must: with room for 253 descriptors in any request.
  ssize_t receive_kept(int client) {
    std::array<int, kMaxFds> fds;
    std::size_t count = fds.size();
    const ssize_t received = receive_message(client, request_, fds, count);
    for (std::size_t i = 0; i < count; ++i) kept_.emplace_back(fds[i]);
    if (received > 0 && request_[0] == kDropRequest) kept_.clear();
    return received;
  }

  std::vector<UniqueFd> clients_;
  const Reply& reply_;
  std::vector<char> bytes_;
  PreparedMessage message_;
  UniqueFd epoll_;
  std::vector<UniqueFd> kept_;
  std::array<char, 4096> request_;
};

}  // namespace

void serve(std::vector<UniqueFd> clients, const Reply& reply) { Server(std::move(clients), reply).run(); }

}  // namespace hb::bench
