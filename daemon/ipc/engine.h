// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The core and its effects: owns the Broker and the descriptors, carries out what the core decides, in order,
// and tells the core what became of it. Single-threaded, except that closer threads post to its io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/broker.h"
#include "ipc/edge_error.h"
#include "ipc/far_receive.h"
#include "ipc/handle_store.h"
#include "ipc/in_flight.h"
#include "ipc/outbox.h"
#include "ipc/rights.h"
#include "ipc/translate_reply.h"
#include "ipc/unanswered.h"
#include "os/closer.h"
#include "os/handle_probe.h"
#include "wire/frame.h"

namespace hb::ipc {

[[nodiscard]] core::Time monotonic_now();

// What the engine sees of a session. None of these calls apply(), connect() or disconnect().
class Recipient {
 public:
  virtual ~Recipient() = default;
  [[nodiscard]] virtual Unanswered::Who who() const = 0;
  virtual void deliver(const OutFrame& frame) = 0;
  virtual void set_validity(std::uint32_t slot, std::uint32_t value) = 0;
  // `handles` are sorted.
  virtual void drop_handles(std::span<const core::HandleId> handles, const Outbox::GoneFrame& gone) = 0;
  // Sends `frame` with one descriptor more, a new doorbell that takes the place of the old; or an error.
  virtual void subscribe(const OutFrame& frame) = 0;
  virtual void ring() = 0;
};

class Engine {
 public:
  Engine(boost::asio::io_context& io, const core::BrokerConfig& config, std::vector<os::DriverRule> drivers,
         Rights rights = {});
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  // --- sessions ---------------------------------------------------------------------------------
  [[nodiscard]] tl::expected<core::SessionId, core::Error> connect(const core::Principal& principal,
                                                                   core::ProcessInfo process,
                                                                   Recipient& recipient);
  void disconnect(core::SessionId session);
  void apply(core::SessionId session, std::uint64_t request_id, FrameType type, core::Request request);
  // The session has frames waiting, or none any more.
  void set_backlogged(Recipient& recipient, bool backlogged);

  [[nodiscard]] const Rights& rights() const { return rights_; }

  // --- descriptors ------------------------------------------------------------------------------
  struct BadHandle {
    std::size_t index = 0;
    std::string reason;
  };
  // Finds out what each is and keeps all, or none: then every one is on its way to a closer.
  [[nodiscard]] tl::expected<std::vector<core::HandleFacts>, BadHandle> admit(std::vector<UniqueFd> fds,
                                                                              std::uint32_t uid);
  void dispose(std::vector<UniqueFd> fds, std::uint32_t uid);
  // Closing a socket closes what is unread in it: never on the loop. `closed` runs on the loop afterwards.
  void close_socket(std::uint32_t uid, UniqueFd socket, std::function<void()> closed);
  // The socket of a session that has ended, once its peer has read what it was sent.
  void close_socket(InFlight::Line& line, std::uint32_t uid, UniqueFd socket, std::function<void()> closed);
  [[nodiscard]] bool quarantine_full(std::uint32_t uid) const { return closer_.quarantine_full(uid); }
  [[nodiscard]] const HandleStore& handles() const { return handles_; }

  // Whether there are numbers for all descriptors that one frame may bring.
  [[nodiscard]] bool frame_fits() const;
  // Receives where it may block; `done` runs on the loop, unless stop() was called.
  void receive_elsewhere(std::uint32_t uid, BorrowedFd socket, std::shared_ptr<FarReceive> packet,
                         std::function<void()> done);
  [[nodiscard]] Unanswered& unanswered() { return unanswered_; }
  [[nodiscard]] InFlight& in_flight() { return in_flight_; }

  // --- descriptor budget ------------------------------------------------------------------------
  // Descriptors of the edge: sessions before their Hello, reopened handles, those being closed.
  void note_fds(std::int64_t change) { broker_.note_extra_fds(change); }
  [[nodiscard]] bool has_room(std::uint64_t fds) const;
  [[nodiscard]] EdgeError no_fds(const std::string& message) const;
  // `what` could not be made: NO_FDS where descriptors are the reason.
  [[nodiscard]] EdgeError system_error(const std::string& what, const SysError& cause) const;
  [[nodiscard]] std::uint64_t session_budget() const;  // sessions that fit beside nothing else

  [[nodiscard]] ReplyWriter& writer() { return writer_; }
  [[nodiscard]] const core::BrokerConfig& config() const { return config_; }
  [[nodiscard]] std::uint64_t uptime_ns() const { return monotonic_now() - started_; }
  [[nodiscard]] core::Counters counters() const { return broker_.counters(); }

  // No callback of a closer thread any more; sessions must have ended.
  void stop();

 private:
  struct Parked {  // answers that wait for a close
    core::SessionId session;
    Unanswered::Who who;
    QueuedFrame frame;
  };
  void carry_out();
  void carry_out_close(const core::CloseHandles& close, std::vector<UniqueFd>& closing);
  void close_memory(std::vector<UniqueFd> fds, std::vector<Parked> parked);
  void closed(std::uint64_t batch, std::size_t fds);
  void deliver(const std::vector<Parked>& answers);
  void send(const core::Reply& reply, std::vector<Parked>* park);
  [[nodiscard]] EdgeCounters edge_counters(const core::Reply& reply);
  [[nodiscard]] std::uint64_t numbers_to_receive() const;
  // Of an acquire or a refresh.
  template <class Request>
  [[nodiscard]] tl::expected<void, EdgeError> add_read_only_facts(core::SessionId session, Request& request);
  [[nodiscard]] tl::expected<core::Level, EdgeError> read_only_level(
      const core::Broker::Candidate& candidate);
  void arm_deadline();

  boost::asio::io_context& io_;
  boost::asio::steady_timer deadline_;
  core::Time armed_for_ = core::kNever;
  core::BrokerConfig config_;
  std::vector<os::DriverRule> drivers_;
  const Rights rights_;
  core::Broker broker_;
  HandleStore handles_;
  ReplyWriter writer_;
  core::Effects effects_;               // reused
  std::vector<OutHandle> out_handles_;  // reused
  core::Time started_;
  std::unordered_map<core::SessionId, Recipient*> sessions_;
  std::unordered_set<Recipient*> backlogged_;
  std::map<std::uint64_t, std::vector<Parked>> parked_;  // by batch of the memory lane
  std::uint64_t last_batch_ = 0;
  std::uint64_t last_closed_ = 0;  // batch
  Unanswered unanswered_;
  InFlight in_flight_;
  os::Closer closer_;
};

}  // namespace hb::ipc
