// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One connection to the daemon and everything in flight on it. It has no thread: of the threads that wait
// for an answer, one reads for all and passes the reader's place on when its own answer has come. A single
// thread sends, receives and is done, without a futex call.
//
// What never happens: a thread waits on another's deadline; an answer is lost because its caller gave up
// (its descriptors are closed, its lease or export is given back); a frame leaves after the end was seen; a
// request stays unanswered because the daemon was started again (session_resume.cc).
// Thread-safe. In a forked child only destruction is allowed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "clock.h"
#include "connect.h"
#include "error.h"
#include "fork_guard.h"
#include "lease_index.h"
#include "messages.h"
#include "pending.h"
#include "validity.h"
#include "wire/packet_socket.h"

namespace hb::client {

class Session {
 public:
  // Says hello. HB_VERSION, HB_QUOTA, HB_NO_FDS, HB_TIMEOUT, HB_CLOSED, HB_PROTO.
  [[nodiscard]] static Result<std::shared_ptr<Session>> open(Connection connection, ProcessMark mark,
                                                             std::uint64_t deadline_ns);
  Session(UniqueFd socket, std::string path, ProcessMark mark);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // One request and its answer; an error frame comes back as an Error. `late`: what to do with an answer
  // that comes after the deadline. Error::not_sent when the session was found dead before anything left.
  [[nodiscard]] Result<Reply> call(FrameType type, std::span<const std::byte> body, std::span<const int> fds,
                                   std::uint64_t deadline_ns, Late late = Late::kIgnore);

  // One-way. Never blocks and never fails: what the socket has no room for leaves with the next call.
  void release(std::uint64_t lease_id) noexcept;
  void abort_export(std::uint64_t export_id) noexcept;
  // The holder of this lease has nothing of it mapped any more.
  void unmapped(std::uint64_t lease_id) noexcept;
  // False: the session is lost.
  bool ack_step(std::uint64_t lease_id, std::uint64_t step) noexcept;
  void leave_group(std::uint64_t group_id) noexcept;
  // Takes an export back without waiting for the answer.
  void withdraw_unheard(std::uint64_t export_id) noexcept;

  // The words that say which leases are current; fetched once.
  [[nodiscard]] Result<const ValidityPage*> validity(std::uint64_t deadline_ns);

  // One page of an acquire is in flight at a time, so that at most one page of descriptors is under way.
  class PageTurn {
   public:
    PageTurn() = default;
    PageTurn(PageTurn&& other) noexcept : session_(std::exchange(other.session_, nullptr)) {}
    PageTurn& operator=(PageTurn&& other) noexcept {
      std::swap(session_, other.session_);
      return *this;
    }
    ~PageTurn();

   private:
    friend class Session;
    explicit PageTurn(Session* session) : session_(session) {}
    Session* session_ = nullptr;
  };
  [[nodiscard]] Result<PageTurn> page_turn(std::uint64_t deadline_ns);

  // Whose its leases are.
  [[nodiscard]] LeaseIndex& leases() noexcept { return leases_; }
  // A lease that a Lease held: forgotten, and given back.
  void end_lease(std::uint64_t lease_id) noexcept;
  // What answers to TakeEvents brought whose caller had given up.
  [[nodiscard]] std::vector<msg::Event> take_late_events();

  // How often the daemon was started again meanwhile, and kept this session.
  [[nodiscard]] std::uint64_t restarts() const noexcept { return restarts_.load(std::memory_order_acquire); }
  // Exports of this session whose descriptors the daemon has lost.
  struct Awaited {
    std::vector<std::uint64_t> exports;
    bool more = false;  // than those
  };
  [[nodiscard]] bool has_awaited() const noexcept { return has_awaited_.load(std::memory_order_acquire); }
  [[nodiscard]] Awaited take_awaited();

  // Ends it from this side. No other call may be under way.
  void close() noexcept;
  // The same at once, whoever is waiting for an answer: they learn that it is closed, and the daemon too.
  void cut(const std::string& reason) noexcept;
  // The end was seen. Nothing granted through it is current any more.
  [[nodiscard]] bool is_lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

  [[nodiscard]] const msg::HelloReply& hello() const { return hello_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  enum class Sent { kSent, kWouldBlock };
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] Result<void> say_hello(std::uint64_t deadline_ns);
  [[nodiscard]] Result<Sent> try_send(FrameType type, std::uint64_t id, std::span<const std::byte> body,
                                      std::span<const int> fds);
  [[nodiscard]] Result<void> wait_for_room(Lock& lock, std::uint64_t deadline_ns);
  void await(Lock& lock, Pending::Waiter& waiter, std::uint64_t deadline_ns);
  // Both want the reader's place.
  bool read_one(Lock& lock, ReceiveMode mode = ReceiveMode::kNow);
  void drain(Lock& lock);
  void take_back(Pending::Unclaimed unclaimed);
  template <class Message>
  void post(FrameType type, const Message& message) noexcept;
  void flush_unsent();
  // session_resume.cc
  void resumed(std::span<const std::byte> body);
  [[nodiscard]] bool send_again();
  void withdraw_locked(std::uint64_t export_id) noexcept;
  void lose(const std::string& reason);
  void close_when_idle();
  [[nodiscard]] Error closed_error(bool not_sent) const;

  const std::string path_;
  const ProcessMark mark_;
  std::vector<std::byte> hello_body_;  // hello_ points into it
  msg::HelloReply hello_;

  std::mutex lock_;
  std::unique_ptr<GuardedSocket> socket_;
  std::uint64_t last_id_ = 0;
  Pending pending_;
  bool reading_ = false;           // someone has the reader's place
  int pollers_ = 0;                // threads outside the lock that use the socket's number
  std::vector<std::byte> buffer_;  // the reader's
  struct OneWay {
    FrameType type;
    std::string body;
  };
  std::vector<OneWay> unsent_;
  std::deque<std::uint64_t> again_;  // requests to be sent once more, before anything else
  Awaited awaited_;
  std::atomic<bool> has_awaited_{false};
  std::atomic<std::uint64_t> restarts_{0};
  std::vector<msg::Event> late_events_;
  std::string end_reason_;
  std::atomic<bool> lost_{false};

  bool page_busy_ = false;
  std::condition_variable page_free_;
  LeaseIndex leases_;
  std::mutex validity_lock_;
  std::unique_ptr<ValidityPage> validity_;
};

// The bytes of an encoded message.
[[nodiscard]] inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
template <class Message>
[[nodiscard]] std::string encoded(const Message& message) {
  std::string out;
  msg::encode(message, out);
  return out;
}
// HB_PROTO: "the daemon's AcquireReply cannot be read: ..."
[[nodiscard]] Error malformed(const msg::DecodeError& cause);

// The Error of an error frame.
[[nodiscard]] Error error_of_reply(const Reply& reply);

}  // namespace hb::client
