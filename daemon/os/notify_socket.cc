// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/notify_socket.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "wire/name.h"
#include "wire/sys_error.h"

namespace hb::os {
namespace {

struct Address {
  sockaddr_un name{};
  socklen_t length = 0;
};

// "/run/systemd/notify", or "@name" of the abstract namespace.
tl::expected<Address, std::string> parse(const std::string& text) {
  Address address;
  if ((text[0] != '/' && text[0] != '@') || text.size() < 2) {
    return tl::unexpected(std::string("neither a path nor @name"));
  }
  if (text.size() >= sizeof address.name.sun_path) {
    return tl::unexpected(std::to_string(text.size()) + " bytes, the limit is " +
                          std::to_string(sizeof address.name.sun_path - 1));
  }
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path, text.data(), text.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size());
  if (text[0] == '@') {
    address.name.sun_path[0] = '\0';
  } else {
    ++address.length;
  }
  return address;
}

}  // namespace

bool notify_wanted() {
  const char* place = std::getenv("NOTIFY_SOCKET");
  return place != nullptr && place[0] != '\0';
}

tl::expected<void, std::string> notify_send(const std::string& lines, std::span<const BorrowedFd> fds,
                                            std::uint64_t wait_ns) {
  if (!notify_wanted()) return {};
  const std::string place = std::getenv("NOTIFY_SOCKET");
  const auto failed = [&place](const std::string& why) {
    return tl::unexpected("$NOTIFY_SOCKET \"" + escape_for_display(place) + "\": " + why);
  };
  auto address = parse(place);
  if (!address) return failed(address.error());
  if (fds.size() > kNotifyFds) {
    return failed(std::to_string(fds.size()) + " descriptors in one message, the limit is " +
                  std::to_string(kNotifyFds));
  }
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return failed(SysError::last("socket").text());
  // Never 0: that would be without end.
  const timeval wait{static_cast<time_t>(wait_ns / 1'000'000'000),
                     static_cast<suseconds_t>(wait_ns % 1'000'000'000 / 1000 + 1)};
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0) {
    return failed(SysError::last("setsockopt(SO_SNDTIMEO)").text());
  }
  iovec part{const_cast<char*>(lines.data()), lines.size()};
  msghdr message{};
  message.msg_name = &address->name;
  message.msg_namelen = address->length;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kNotifyFds * sizeof(int))> control{};
  if (!fds.empty()) {
    std::array<int, kNotifyFds> numbers;
    for (std::size_t i = 0; i < fds.size(); ++i) numbers[i] = fds[i].get();
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), numbers.data(), fds.size() * sizeof(int));
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket.get(), &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return {};
  const SysError error = SysError::last("sendmsg");
  if (error.code != EAGAIN) return failed(error.text());
  return failed(error.text() + ": the service manager took nothing for " +
                std::to_string(wait_ns / 1'000'000) + " ms");
}

}  // namespace hb::os
