// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One session spoken by hand: what it costs is the daemon and the kernel, as with the floor's own client.
#pragma once

#include <hipbroker/hipbroker.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/unique_fd.h"

namespace hb::bench {

class RawSession {
 public:
  // Connects and exchanges Hello.
  RawSession(const std::string& socket, const hb_key& key);

  [[nodiscard]] int socket() const { return socket_.get(); }
  void send_acquire();
  // Closes the descriptor. The lease, to be released.
  [[nodiscard]] std::uint64_t receive_acquired();
  void send_release(std::uint64_t lease);
  void ping();  // when it returns, all that was sent before has been dealt with

 private:
  using Bytes = std::vector<std::byte>;
  void send(Bytes& frame);
  [[nodiscard]] std::size_t receive();  // bytes in buffer_; descriptors are closed

  UniqueFd socket_;
  std::uint64_t next_request_ = 1;
  Bytes acquire_, ping_, release_;
  std::vector<std::byte> buffer_;
  std::size_t fds_received_ = 0;
};

}  // namespace hb::bench
