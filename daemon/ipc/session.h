// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One connection of one process, from accept to its end: EOF, the death of the process that connected, a
// fault, or a reader too slow.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ipc/administration.h"
#include "ipc/doorbell.h"
#include "ipc/edge_note.h"
#include "ipc/engine.h"
#include "ipc/far_receive.h"
#include "ipc/method_table.h"
#include "ipc/outbox.h"
#include "ipc/scope.h"
#include "ipc/translate_request.h"
#include "observe/log.h"
#include "os/peer_credentials.h"
#include "os/validity_page.h"
#include "restart/inbox.h"
#include "restart/parked.h"
#include "wire/frame.h"
#include "wire/packet_socket.h"

namespace hb::ipc {

class Session;

// What all sessions of the loop share, and who keeps them alive.
class SessionHost {
 public:
  virtual ~SessionHost() = default;
  [[nodiscard]] virtual restart::Inbox& inbox() = 0;
  [[nodiscard]] virtual RequestReader& reader() = 0;
  // Null where the daemon was composed without one.
  [[nodiscard]] virtual Administration* administration() = 0;
  // A line that a peer caused, throttled over all of them.
  virtual void log_fault(const observe::Who& who, const std::string& text) = 0;
  // The same for connections that never became sessions: fewer lines still.
  virtual void log_refusal(const observe::Who& who, const std::string& text) = 0;
  virtual void session_ended(Session& session) = 0;
  virtual void socket_closed(const Payer& payer) = 0;  // its close() returned
};

enum class SessionState : std::uint8_t {
  kAwaitHello,
  kOpen,
  kFailing,  // nothing more is read or sent; end() is on its way
  kEnded,
};

class Session : public Recipient, public std::enable_shared_from_this<Session> {
 public:
  Session(boost::asio::io_context& io, Engine& engine, SessionHost& host, const os::PeerCredentials& peer,
          const Door& door);

  // Takes both over, or neither: the kernel bounds what one user may watch (fs.epoll.max_user_watches).
  [[nodiscard]] tl::expected<void, SysError> adopt(UniqueFd& socket, UniqueFd& pidfd);

  void start();
  // In place of start(), for one that goes on from an earlier daemon: what was recorded of it, and what was
  // parked for it. False: it has a page or a doorbell that did not come back, and its client would wait for
  // what nobody says; nothing has happened.
  struct Parked {
    UniqueFd page;
    UniqueFd doorbell;
  };
  [[nodiscard]] bool resume(const core::Broker::Restored& recorded, Parked parked);
  [[nodiscard]] UniqueFd give_back() { return UniqueFd(socket_.release()); }  // then
  // Tells the client, once the core knows what became of everything.
  void announce_resumed(std::uint64_t restarts);
  // A one-way frame that an earlier daemon took out of the socket and did not carry out.
  void carry_out_left(std::span<const std::byte> frame);
  // The process ends, the session does not: nothing is told to anybody, nothing closed that could wait.
  void leave();
  // Its leases, waits and exports of lifetime `owner` end now. `why` is for the log.
  void end(const std::string& why);

  [[nodiscard]] core::SessionId id() const { return id_; }
  [[nodiscard]] std::uint32_t uid() const { return who_.uid; }
  [[nodiscard]] const Scope& scope() const { return *scope_; }
  [[nodiscard]] SessionState state() const { return state_; }

  [[nodiscard]] Unanswered::Who who() const override { return Unanswered::who(principal_); }
  void deliver(const OutFrame& frame) override;
  void set_validity(std::uint32_t slot, std::uint32_t value) override;
  void drop_handles(std::span<const core::HandleId> handles, const Outbox::GoneFrame& gone) override;
  void subscribe(const OutFrame& frame) override;
  void ring() override;
  void refuse(std::uint64_t request_id, const EdgeError& error) override { answer(request_id, error); }
  [[nodiscard]] bool outlives() const override;

 private:
  void set_state(SessionState next);
  [[nodiscard]] bool reading() const;
  // --- in ---
  void watch_process();
  void wait_readable();
  void on_readable();
  [[nodiscard]] bool on_received(Received received, std::span<const std::byte> bytes);
  // False: it can be received here and now.
  [[nodiscard]] bool receive_elsewhere();
  void on_far_packet();
  void on_packet(Received received, std::span<const std::byte> bytes);
  void on_truncated(Received received, std::span<const std::byte> bytes);
  void on_request(const Method& method, const FrameView& frame, std::vector<UniqueFd> fds);
  void on_hello(const FrameView& frame);
  void on_share_page(std::uint64_t request_id);
  void on_admin_request(const FrameView& frame);
  void on_core_request(const Method& method, const FrameView& frame, std::vector<UniqueFd> fds);
  [[nodiscard]] bool admit_into(core::Request& request, std::uint64_t request_id, std::vector<UniqueFd> fds);
  // --- out ---
  enum class Sent : std::uint8_t { kSent, kLater, kFailed };
  [[nodiscard]] Sent send_now(const OutFrame& frame, std::span<const UniqueFd> owned);
  void enqueue(QueuedFrame frame);
  void deliver_owned(const OutFrame& frame, UniqueFd fd);
  void drop_doorbell();
  void set_doorbell(Doorbell doorbell);
  // --- what outlives the daemon (session_restart.cc) ---
  [[nodiscard]] bool keeps() const;  // this session is one that can
  [[nodiscard]] restart::ParkedEntry entry(restart::ParkedKind kind) const;
  [[nodiscard]] bool park_socket();
  void keep_page(UniqueFd memory);
  void unpark_all();
  void wait_writable();
  void flush();
  void expect_reader();
  void answer(std::uint64_t request_id, const EdgeError& error);
  // Answers where the request is known, then ends the session.
  void fail(std::uint64_t request_id, const EdgeError& error);
  void fail_later(const std::string& why);
  void close_socket(UniqueFd socket);
  void end_at(core::Time deadline, const char* why);
  // For the audit trail: who it was.
  void note(core::Audit audit);
  void note_refused(const EdgeError& error);  // where it is a refusal

  boost::asio::io_context& io_;
  Engine& engine_;
  SessionHost& host_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::posix::stream_descriptor pidfd_;
  boost::asio::steady_timer deadline_;  // of the Hello, then of the outbox
  SessionState state_ = SessionState::kAwaitHello;
  core::SessionId id_;
  const std::shared_ptr<const Scope> scope_;
  const Payer payer_;
  core::Principal principal_;
  bool uid_known_ = true;
  observe::Who who_;
  core::ProcessInfo process_;
  std::uint16_t frame_type_ = 0;  // of the request under way
  Outbox outbox_;
  bool waiting_readable_ = false;  // two waits at once would each go on for ever
  InFlight::Line line_;
  std::shared_ptr<FarReceive> far_;  // while a thread receives: nothing else is read
  bool too_many_in_flight_logged_ = false;
  EdgeNote edge_;
  os::ValidityPage page_;
  UniqueFd page_memory_;  // of one that outlives the daemon; counted in the engine's budget
  Doorbell doorbell_;                 // counted in the engine's budget while it is there
  std::vector<std::uint32_t> words_;  // of the validity page, until it is made and when it is made again
};

}  // namespace hb::ipc
