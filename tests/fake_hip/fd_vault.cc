// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "fd_vault.h"

#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <future>
#include <thread>

#include "wire/packet_socket.h"

namespace hb::fakehip {
namespace {

constexpr std::uint64_t kForever = UINT64_MAX;

struct Message {
  char operation;  // 'p'ut, 'g'et, 'd'rop; in answers 'y' or 'n'
  std::uint64_t key;
};

std::span<const std::byte> bytes_of(const Message& message) { return std::as_bytes(std::span(&message, 1)); }

bool send(int socket, const Message& message, int fd) {
  const std::array<int, 1> fds{fd};
  const auto sent = send_packet(socket, bytes_of(message), {},
                                fd >= 0 ? std::span<const int>(fds) : std::span<const int>());
  return sent.has_value() && *sent == SendOutcome::kSent;
}

tl::expected<Received, SysError> receive(int socket, Message& message) {
  if (const auto ready = wait_socket(socket, WaitFor::kReadable, kForever); !ready.has_value())
    return tl::unexpected(ready.error());
  return receive_packet(socket, std::as_writable_bytes(std::span(&message, 1)));
}

void keep(int socket) {
  std::map<std::uint64_t, UniqueFd> kept;
  for (;;) {
    Message message{};
    auto received = receive(socket, message);
    if (!received.has_value() || received->outcome == ReceiveOutcome::kEnd) return;
    if (received->outcome == ReceiveOutcome::kWouldBlock) continue;
    Message answer{'n', message.key};
    int out = -1;
    if (message.operation == 'p' && received->outcome == ReceiveOutcome::kPacket &&
        received->fds.size() == 1) {
      kept[message.key] = std::move(received->fds[0]);
      answer.operation = 'y';
    } else if (message.operation == 'g') {
      if (const auto found = kept.find(message.key); found != kept.end()) {
        out = found->second.get();
        answer.operation = 'y';
      }
    } else if (message.operation == 'd') {
      kept.erase(message.key);
      answer.operation = 'y';
    }
    if (!send(socket, answer, out)) return;
  }
}

}  // namespace

bool FdVault::start_keeper() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return false;
  UniqueFd mine(pair[0]);
  UniqueFd theirs(pair[1]);
  // The host program's signals are not the keeper's business.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::promise<bool> started;
  std::thread([&started, socket = theirs.get()] {
    const bool alone = ::unshare(CLONE_FILES) == 0;
    if (alone) {
      if (socket > 0) ::close_range(0, static_cast<unsigned>(socket) - 1, 0);
      ::close_range(static_cast<unsigned>(socket) + 1, ~0u, 0);
    }
    started.set_value(alone);
    if (!alone) return;
    keep(socket);
  }).detach();
  const bool ok = started.get_future().get();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (ok) keepers_.push_back(std::move(mine));
  return ok;
}

FdVault::Answer FdVault::ask(std::size_t keeper, char operation, std::uint64_t key, int fd) {
  const int socket = keepers_[keeper].get();
  if (!send(socket, Message{operation, key}, fd)) return {};
  Message answer{};
  auto received = receive(socket, answer);
  if (!received.has_value() || received->outcome != ReceiveOutcome::kPacket || answer.operation != 'y') {
    errno = EMFILE;
    return {};
  }
  Answer out{true, {}};
  if (!received->fds.empty()) out.fd = std::move(received->fds[0]);
  return out;
}

bool FdVault::put(std::uint64_t key, UniqueFd fd) {
  // The newest keeper has room, unless it has just become full: older ones may have room again.
  for (std::size_t i = keepers_.size(); i-- > 0;)
    if (ask(i, 'p', key, fd.get()).ok) {
      where_[key] = i;
      return true;
    }
  if (!start_keeper() || !ask(keepers_.size() - 1, 'p', key, fd.get()).ok) return false;
  where_[key] = keepers_.size() - 1;
  return true;
}

UniqueFd FdVault::get(std::uint64_t key) {
  const auto found = where_.find(key);
  if (found == where_.end()) {
    errno = ENOENT;
    return {};
  }
  return ask(found->second, 'g', key, -1).fd;
}

void FdVault::drop(std::uint64_t key) {
  const auto found = where_.find(key);
  if (found == where_.end()) return;
  static_cast<void>(ask(found->second, 'd', key, -1));
  where_.erase(found);
}

}  // namespace hb::fakehip
