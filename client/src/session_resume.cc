// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The daemon was started again and has this session as it was, but not its answers that were under way: what
// is unanswered is asked once more, by whichever thread reads, in the order of the first time. An answer that
// was remembered comes again as it was; what comes twice is dropped with its descriptors (pending.h).
#include <utility>

#include "session.h"
#include "verb.h"

namespace hb::client {

void Session::resumed(std::span<const std::byte> body) {
  const auto notice = msg::decode<msg::Resumed>(body);
  if (!notice) return lose(malformed(notice.error()).message);
  awaited_.exports.insert(awaited_.exports.end(), notice->awaited.begin(), notice->awaited.end());
  awaited_.more = awaited_.more || notice->more_awaited;
  if (awaited_.more || !awaited_.exports.empty()) has_awaited_.store(true, std::memory_order_release);
  restarts_.fetch_add(1, std::memory_order_acq_rel);
  // A second time before all was sent: that daemon has answered none of it, and this one begins anew.
  const std::vector<std::uint64_t> ids = pending_.unanswered();
  again_.assign(ids.begin(), ids.end());
  flush_unsent();
}

// False: there is more, and the socket has no room for it.
bool Session::send_again() {
  while (!again_.empty() && socket_ != nullptr && !is_lost()) {
    const std::uint64_t id = again_.front();
    if (const auto request = pending_.find(id)) {
      const auto& [type, bytes, fds] = request->request;
      const std::string name = verb(type);
      if (!request->whole) {
        lose("the daemon was started again, and there were no descriptors left to keep those of the " + name +
             " that was given up");
        return true;
      }
      auto sent = try_send(type, id, bytes, fds);
      if (!sent) {
        // Whether it was carried out is not known; the end of the session undoes it either way.
        lose("the daemon was started again and the " + name +
             " could not be sent once more: " + sent.error().message);
        return true;
      }
      if (*sent == Sent::kWouldBlock) return false;
      // Nobody waits for it: what it would wait for must not come.
      if (request->given_up == Late::kAcquire || request->given_up == Late::kJoin) {
        msg::Cancel cancel;
        cancel.request_id = id;
        unsent_.push_back({FrameType::kCancel, encoded(cancel)});
      }
    }
    again_.pop_front();
  }
  return true;
}

Session::Awaited Session::take_awaited() {
  const Lock lock(lock_);
  has_awaited_.store(false, std::memory_order_release);
  return std::exchange(awaited_, {});
}

}  // namespace hb::client
