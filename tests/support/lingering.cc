// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/lingering.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace hb::test {

LingerTrap::LingerTrap() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int small = 4096;
  ::setsockopt(listener_.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_.get(), 64) != 0)
    throw std::runtime_error(std::string("a TCP listener: ") + std::strerror(errno));
}

UniqueFd LingerTrap::socket() {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length);
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error(std::string("a TCP connection: ") + std::strerror(errno));
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  const std::string bytes(65'536, 'x');
  while (::write(socket.get(), bytes.data(), bytes.size()) > 0) {
  }
  const linger value{1, 3'600};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &value, sizeof value);
  return socket;
}

}  // namespace hb::test
