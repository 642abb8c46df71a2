// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/channel.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace hb::test {
namespace {

constexpr std::size_t kMessageBytes = 128 * 1024;

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n' || c == '=' || c == '%') {
      constexpr char kDigits[] = "0123456789abcdef";
      out += '%';
      out += kDigits[static_cast<unsigned char>(c) >> 4];
      out += kDigits[static_cast<unsigned char>(c) & 15];
    } else {
      out += c;
    }
  }
  return out;
}

int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

std::string unescape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(digit(text[i + 1]) << 4 | digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

std::string encode_message(const Message& message) {
  std::string out;
  for (const auto& [name, value] : message) out += name + "=" + escape(value.text) + "\n";
  return out;
}

Message decode_message(const std::string& text) {
  Message out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t equals = text.find('=', at);
    const std::size_t end = text.find('\n', at);
    if (equals == std::string::npos || end == std::string::npos || equals > end)
      throw std::runtime_error("bad message between test processes: " + text);
    out.emplace(text.substr(at, equals - at), unescape(text.substr(equals + 1, end - equals - 1)));
    at = end + 1;
  }
  return out;
}

std::string text_of(const Message& message, const std::string& name, const std::string& fallback) {
  const auto found = message.find(name);
  return found == message.end() ? fallback : found->second.text;
}

std::uint64_t number_of(const Message& message, const std::string& name, std::uint64_t fallback) {
  const auto found = message.find(name);
  return found == message.end() ? fallback : std::strtoull(found->second.text.c_str(), nullptr, 0);
}

bool has(const Message& message, const std::string& name) { return message.count(name) != 0; }

bool send_message(int fd, const Message& message) {
  const std::string bytes = encode_message(message);
  if (bytes.size() > kMessageBytes) throw std::runtime_error("message between test processes is too long");
  ssize_t n;
  do {
    n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(bytes.size());
}

std::optional<Message> receive_message(int fd, std::uint64_t limit_ns) {
  if (!wait_readable(fd, limit_ns)) return std::nullopt;
  std::vector<char> buffer(kMessageBytes);
  ssize_t n;
  do {
    n = ::recv(fd, buffer.data(), buffer.size(), 0);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) return std::nullopt;
  return decode_message(std::string(buffer.data(), static_cast<std::size_t>(n)));
}

std::pair<UniqueFd, UniqueFd> channel_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error("socketpair");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string to_hex(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string from_hex(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out += static_cast<char>(digit(text[i]) << 4 | digit(text[i + 1]));
  return out;
}

}  // namespace hb::test
