// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The requests of one session that wait for an answer. Not locked: the session's lock guards it.
//
// What never happens: a descriptor of an answer nobody waits for stays open; an answer reaches a request
// other than its own; a request that obtains something is forgotten before its answer, so that a daemon that
// was started again can be asked once more.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "wire/frame.h"
#include "wire/unique_fd.h"

namespace hb::client {

struct Reply {
  FrameHeader header;
  std::vector<std::byte> body;
  std::vector<UniqueFd> fds;
  bool fds_truncated = false;  // the body is whole, the descriptors did not fit into this process
};

// What an answer that comes after its caller gave up must be followed by.
enum class Late : std::uint8_t {
  kIgnore,   // nothing was obtained
  kAcquire,  // a lease to give back
  kExport,   // an export to take back
  kJoin,     // a group to leave, and its leases
  kEvents,   // events to be told all the same
};

// As it left. What it points at belongs to its caller, or to what is kept of it.
struct Request {
  FrameType type{};
  std::span<const std::byte> body;
  std::span<const int> fds;
};

class Pending {
 public:
  // On the stack of the calling thread.
  struct Waiter {
    std::uint64_t id = 0;
    Request request;  // valid as long as the waiter is
    std::condition_variable wake;
    bool done = false;    // reply is filled
    bool closed = false;  // the session ended first
    Reply reply;
  };

  void add(Waiter& waiter);
  void remove(Waiter& waiter);
  // Its caller gave up; the answer is still to come. What it may have obtained has to be given back: of such
  // a request all is kept that sending it again needs, with descriptors of its own.
  void abandon(Waiter& waiter, Late late);

  struct Unclaimed {
    Late late = Late::kIgnore;
    Reply reply;
  };
  // Gives the answer to its waiter and wakes it, or hands back an answer whose caller gave up. An answer
  // to nothing is dropped with its descriptors.
  std::optional<Unclaimed> deliver(Reply reply);

  // The daemon was started again: the ids of all that have to be asked once more, in their order. What
  // obtained nothing, and whose caller has gone, is not waited for any more.
  [[nodiscard]] std::vector<std::uint64_t> unanswered();
  struct Again {
    Request request;
    Late given_up = Late::kIgnore;  // of one whose caller has gone
    bool whole = true;              // false: there was no room for descriptors of its own
  };
  // Empty: it was answered meanwhile.
  [[nodiscard]] std::optional<Again> find(std::uint64_t id) const;

  // The session ended: every waiter learns it.
  void close_all();
  // The reader's place is free: one waiter may take it.
  void wake_one();

  [[nodiscard]] bool has_abandoned() const { return !abandoned_.empty(); }
  [[nodiscard]] std::size_t waiting() const { return waiters_.size(); }

 private:
  std::vector<Waiter*> waiters_;  // few, one a thread
  struct Abandoned {
    Late late = Late::kIgnore;
    FrameType type{};
    std::vector<std::byte> body;
    std::vector<UniqueFd> fds;
    std::vector<int> numbers;  // of those
    bool whole = true;
  };
  std::unordered_map<std::uint64_t, Abandoned> abandoned_;
};

}  // namespace hb::client
