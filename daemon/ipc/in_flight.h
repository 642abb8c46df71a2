// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Descriptors that were sent and not yet read. The kernel lets a user without CAP_SYS_RESOURCE have as many
// as its soft RLIMIT_NOFILE, all its sockets together, and answers ETOOMANYREFS beyond: one peer that does
// not read would keep the daemon from sending to anybody. So the daemon keeps this ledger, a reply that does
// not fit waits in the outbox of its session, and who does not read uses up its own share.
//
// That all was read the kernel tells (SIOCOUTQ is 0), that some was it does not: a line is charged until all
// of it was read.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "ipc/scope.h"
#include "wire/unique_fd.h"

namespace hb::ipc {

class InFlight {
 public:
  // What one socket has in flight. It lives in its session and stays where it is.
  class Line {
   public:
    // `retry` sends what waits, and calls wait() again where that does not fit either.
    Line(const Payer& payer, std::function<void()> retry) : payer_(payer), retry_(std::move(retry)) {}
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;
    void open(BorrowedFd socket) { socket_ = socket; }

    [[nodiscard]] std::uint64_t unread() const { return unread_; }
    [[nodiscard]] bool waits() const { return waits_; }

   private:
    friend class InFlight;
    Payer payer_;
    BorrowedFd socket_;
    std::function<void()> retry_;
    std::uint64_t unread_ = 0;
    bool waits_ = false;
    std::list<Line*>::iterator held_;     // in InFlight::held_, while unread_ is not 0
    std::list<Line*>::iterator waiting_;  // in InFlight::waiting_, while it waits
  };

  // `limit` is the soft RLIMIT_NOFILE.
  InFlight(boost::asio::io_context& io, std::uint64_t limit);

  // Charges the line for `fds` where they may be sent now.
  [[nodiscard]] bool admit(Line& line, std::size_t fds);
  // They were not sent after all.
  void give_back(Line& line, std::size_t fds);
  // Nothing is unread by the line's peer.
  [[nodiscard]] bool all_read(Line& line);
  // Asks the kernel about a few lines, those first that were not asked for longest.
  void look_at_oldest();
  // retry() is called once, from the loop, when it may be worth the try.
  void wait(Line& line);
  // The session has ended. What its peer has not read stays in flight as long as the peer likes: `socket`,
  // which alone tells, is kept until then and handed to `done`.
  using Done = std::function<void(UniqueFd socket)>;
  void end(Line& line, UniqueFd socket, Done done);

  // The charge of a line whose session goes, under a line of its own that is to be handed to end().
  [[nodiscard]] std::unique_ptr<Line> detach(Line& line, BorrowedFd socket);

  // Descriptors that the daemon itself keeps in the queue of a socket: they share the budget.
  void set_parked(std::uint64_t fds) { parked_ = fds; }

  // Nothing is called any more.
  void stop();

  [[nodiscard]] std::uint64_t unread() const { return total_; }
  [[nodiscard]] std::uint64_t budget() const { return budget_; }
  [[nodiscard]] std::pair<Payer, std::uint64_t> largest() const;
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::size_t kept() const { return kept_.size(); }  // sockets of sessions that have ended

 private:
  struct Kept {
    std::unique_ptr<Line> line;
    UniqueFd socket;
    Done done;
  };
  [[nodiscard]] bool fits(const Line& line, std::uint64_t fds) const;
  void charge(Line& line, std::uint64_t fds);
  void discharge(Line& line, std::uint64_t fds);
  // Forgets what the peer has read; true where that was something.
  bool look(Line& line);
  void stop_waiting(Line& line);
  void arm(std::chrono::milliseconds after);
  void tick();
  [[nodiscard]] bool release_kept();

  std::uint64_t budget_;
  std::uint64_t parked_ = 0;
  std::uint64_t total_ = 0;
  std::map<Payer, std::uint64_t> by_payer_;
  std::list<Line*> held_;     // least recently sent to or looked at first
  std::list<Line*> waiting_;  // first come first
  std::list<Kept> kept_;
  boost::asio::steady_timer timer_;
  bool turning_ = false;  // inside tick()
  bool stopped_ = false;
  std::chrono::milliseconds pause_;
};

}  // namespace hb::ipc
