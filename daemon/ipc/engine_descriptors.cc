// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The engine's descriptors: let in, got rid of where that may block, and how many more there may be.
#include <boost/asio/post.hpp>
#include <cerrno>
#include <string>
#include <utility>

#include "ipc/engine.h"
#include "os/unread.h"
#include "wire/limits.h"

namespace hb::ipc {

tl::expected<std::vector<core::HandleFacts>, Engine::BadHandle> Engine::admit(std::vector<UniqueFd> fds,
                                                                              const Payer& payer) {
  std::vector<core::HandleFacts> facts;
  facts.reserve(fds.size());
  for (const UniqueFd& fd : fds) {
    auto probed = os::probe_handle(fd, drivers_);
    if (!probed) {
      BadHandle bad{facts.size(), std::move(probed.error().reason)};
      dispose(std::move(fds), payer);
      return tl::unexpected(std::move(bad));
    }
    facts.push_back(*probed);
  }
  for (std::size_t i = 0; i < fds.size(); ++i) {
    handles_.add(std::move(fds[i]), facts[i]);
    continuity_->expect(facts[i].id);
  }
  return facts;
}

void Engine::dispose(std::vector<UniqueFd> fds, const Payer& payer) {
  std::vector<UniqueFd> memory;
  for (UniqueFd& fd : fds) {
    const auto probed = os::probe_handle(fd, {});
    if (probed || !probed.error().may_block) {
      memory.push_back(std::move(fd));
      continue;
    }
    note_fds(1);
    closer_.quarantine(closer_key(payer), std::move(fd),
                       [this] { boost::asio::post(io_, [this] { note_fds(-1); }); });
  }
  if (!memory.empty()) close_memory(std::move(memory), {});
}

void Engine::close_socket(const Payer& payer, UniqueFd socket, std::function<void()> closed) {
  // Where many wait for a close that does not return, the harmless ones need not.
  if (closer_.crowded(closer_key(payer)) && os::shut_and_empty(socket)) {
    socket.reset();
    if (closed) boost::asio::post(io_, std::move(closed));
    return;
  }
  note_fds(1);
  closer_.close_socket(closer_key(payer), std::move(socket), [this, closed = std::move(closed)] {
    boost::asio::post(io_, [this, closed] {
      note_fds(-1);
      if (closed) closed();
    });
  });
}

void Engine::close_socket(InFlight::Line& line, const Payer& payer, UniqueFd socket,
                          std::function<void()> closed) {
  note_fds(1);
  in_flight_.end(line, std::move(socket), [this, payer, closed = std::move(closed)](UniqueFd read) mutable {
    note_fds(-1);
    close_socket(payer, std::move(read), std::move(closed));
  });
}

// --- descriptor budget ----------------------------------------------------------------------------

bool Engine::has_room(std::uint64_t fds) const {
  return broker_->fds_used() + fds + limits::fd_reserve(config_.fd_limit) <= config_.fd_limit;
}

std::uint64_t Engine::session_budget() const {
  const std::uint64_t taken = limits::fd_reserve(config_.fd_limit) + config_.fd_base;
  return config_.fd_limit > taken ? (config_.fd_limit - taken) / config_.fds_per_session : 0;
}

EdgeError Engine::system_error(const std::string& what, const SysError& cause) const {
  EdgeError error = cause.code == EMFILE || cause.code == ENFILE
                        ? no_fds(what + " could not be made")
                        : edge_error(HB_SYSTEM, what + ": " + cause.text());
  error.sys_errno = cause.code;
  error.operation = cause.operation;
  return error;
}

EdgeError Engine::no_fds(const std::string& message) const {
  EdgeError error =
      edge_error(HB_NO_FDS, message + ": RLIMIT_NOFILE of hipbrokerd is " + std::to_string(config_.fd_limit) +
                                ", " + std::to_string(broker_->fds_used()) +
                                " are in use; ask again with fewer, or raise its LimitNOFILE");
  error.what = "RLIMIT_NOFILE";
  error.used = broker_->fds_used();
  error.limit = config_.fd_limit;
  error.who = "hipbrokerd";
  return error;
}

}  // namespace hb::ipc
