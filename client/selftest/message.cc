// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "message.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "hipbroker/hipbroker.h"

namespace hb::selftest {
namespace {

constexpr std::size_t kMost = 64 * 1024;
constexpr char kBetween = '\x1e';
constexpr char kAssign = '\x1f';
volatile sig_atomic_t stop_asked = 0;

}  // namespace

void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_asked = 1; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}
bool interrupted() { return stop_asked != 0; }

std::string Message::text(const std::string& name) const {
  const auto found = fields_.find(name);
  return found == fields_.end() ? "" : found->second;
}

std::uint64_t Message::number(const std::string& name, std::uint64_t otherwise) const {
  const auto found = fields_.find(name);
  return found == fields_.end() ? otherwise : std::strtoull(found->second.c_str(), nullptr, 10);
}

std::string Message::packed() const {
  std::string out;
  for (const auto& [name, value] : fields_) out += name + kAssign + value + kBetween;
  return out;
}

Message Message::unpacked(const std::string& packet) {
  Message out;
  for (std::size_t start = 0; start < packet.size();) {
    const std::size_t stop = std::min(packet.find(kBetween, start), packet.size());
    const std::string field = packet.substr(start, stop - start);
    start = stop + 1;
    const std::size_t assign = field.find(kAssign);
    if (assign != std::string::npos) out.set(field.substr(0, assign), field.substr(assign + 1));
  }
  return out;
}

bool send_message(const UniqueFd& socket, const Message& message) {
  const std::string packet = message.packed();
  ssize_t sent = -1;
  do {
    sent = ::send(socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(packet.size());
}

std::optional<Message> receive_message(const UniqueFd& socket, std::uint64_t deadline_ns) {
  for (;;) {
    const std::uint64_t now = hb_deadline_in(0);
    if (now >= deadline_ns || interrupted()) return std::nullopt;
    const std::uint64_t left = deadline_ns == HB_NO_DEADLINE ? 1'000 : (deadline_ns - now) / 1'000'000 + 1;
    pollfd ready{socket.get(), POLLIN, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::min<std::uint64_t>(left, 60'000)));
    if (count <= 0) continue;
    std::string packet(kMost, '\0');
    const ssize_t got = ::recv(socket.get(), packet.data(), packet.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    packet.resize(static_cast<std::size_t>(got));
    return Message::unpacked(packet);
  }
}

}  // namespace hb::selftest
