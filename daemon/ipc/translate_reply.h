// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Answers as frames. One buffer and one message of each kind are used again and again: a span returned here
// is valid until the next call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/effect.h"
#include "ipc/edge_error.h"
#include "ipc/outbox.h"
#include "wire/frame.h"

namespace hb::ipc {

struct HelloAnswer {
  std::uint32_t version = 0;
  BrokerId broker_id{};
  std::uint64_t session_id = 0;
  std::string scope;
  bool admin = false;
  std::uint32_t uid = 0;
  std::uint32_t pid = 0;
  bool resumes = false;  // a daemon started again goes on with this session
};

// What the core does not know.
struct EdgeCounters {
  std::uint64_t uptime_ns = 0;
  std::uint64_t fds_used = 0;
  std::uint64_t fds_limit = 0;
  std::uint64_t fds_reserve = 0;
  std::uint64_t closing = 0;
  std::uint64_t quarantined = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t in_flight_limit = 0;
  std::uint64_t answers_waiting = 0;
  std::uint64_t sockets_unread = 0;
  std::uint64_t log_waiting = 0;
  std::uint64_t log_dropped = 0;
  std::uint64_t audit_dropped = 0;
  std::uint64_t audit_told = 0;
  std::uint32_t sandbox = 0;
  bool restart_safe = false;
  std::string restart_reason;
  std::uint64_t parked = 0;
  std::uint64_t parked_limit = 0;
  std::uint64_t store_entries = 0;
  std::uint64_t store_entries_max = 0;
  std::uint64_t records = 0;
  std::uint64_t records_bytes = 0;
  std::uint64_t awaited = 0;
  std::uint64_t restarts = 0;
  bool draining = false;
  bool shown_unsafe = false;  // of the one export that is shown
};

class ReplyWriter {
 public:
  ReplyWriter();
  ~ReplyWriter();
  ReplyWriter(const ReplyWriter&) = delete;
  ReplyWriter& operator=(const ReplyWriter&) = delete;

  [[nodiscard]] std::span<const std::byte> reply(const core::Reply& reply, const EdgeCounters& counters);
  [[nodiscard]] std::span<const std::byte> error(std::uint64_t request_id, const EdgeError& error);
  [[nodiscard]] std::span<const std::byte> hello(std::uint64_t request_id, const HelloAnswer& answer);
  [[nodiscard]] std::span<const std::byte> ping(std::uint64_t request_id, const std::string& payload,
                                                std::uint64_t uptime_ns);
  [[nodiscard]] std::span<const std::byte> share_page(
      std::uint64_t request_id);  // one descriptor goes with it
  // Of the daemon's own accord. `awaited`: exports of the session.
  [[nodiscard]] std::span<const std::byte> resumed(std::uint64_t restarts,
                                                   const std::vector<core::ExportId>& awaited);

 private:
  struct Messages;
  std::unique_ptr<Messages> messages_;
};

// The handles an answer carries, in the order in which its chunks count them.
void append_handles(const core::ReplyBody& body, std::vector<OutHandle>& out);

// "hipbrokerd 0.1.0"
[[nodiscard]] const std::string& daemon_name();

}  // namespace hb::ipc
