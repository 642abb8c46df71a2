// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/doorbell.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "support/memfd.h"
#include "wire/packet_socket.h"

namespace hb::test {
namespace {

using ipc::Doorbell;

// Bytes that one read brings: 0 at the end, none where there is nothing to read.
std::optional<ssize_t> heard(const UniqueFd& fd) {
  char bytes[16];
  const ssize_t got = ::recv(fd.get(), bytes, sizeof bytes, 0);
  if (got < 0) {
    EXPECT_EQ(errno, EAGAIN);
    return std::nullopt;
  }
  return got;
}

TEST(Doorbell, RingsOnce) {
  auto made = Doorbell::make();
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(heard(made->heard), std::nullopt);
  EXPECT_TRUE(made->doorbell.ring());
  EXPECT_EQ(heard(made->heard), 1);
  EXPECT_EQ(heard(made->heard), std::nullopt);
  EXPECT_NE(::fcntl(made->heard.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Doorbell, RungTwiceAndUnreadItIsOneByte) {
  auto made = Doorbell::make();
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_TRUE(made->doorbell.ring());
  EXPECT_TRUE(made->doorbell.ring());
  EXPECT_EQ(heard(made->heard), 1);
  EXPECT_EQ(heard(made->heard), std::nullopt);
  EXPECT_TRUE(made->doorbell.ring()) << "and rings again once it was read";
  EXPECT_EQ(heard(made->heard), 1);
}

TEST(Doorbell, ItsEndIsHeard) {
  auto made = Doorbell::make();
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_TRUE(made->doorbell.ring());
  made->doorbell = {};
  EXPECT_EQ(heard(made->heard), 1);
  EXPECT_EQ(heard(made->heard), 0);
}

TEST(Doorbell, OfAClientThatClosedItIsNoneAnyMore) {
  auto made = Doorbell::make();
  ASSERT_TRUE(made) << made.error().text();
  made->heard.reset();
  EXPECT_TRUE(made->doorbell);
  EXPECT_FALSE(made->doorbell.ring());
  EXPECT_FALSE(made->doorbell);
  EXPECT_FALSE(made->doorbell.ring());
}

// What lies unread in the daemon's end would be closed on its loop.
TEST(Doorbell, TheClientCannotPutDescriptorsIntoIt) {
  auto made = Doorbell::make();
  ASSERT_TRUE(made) << made.error().text();
  const UniqueFd memory = plain_memfd(kPage);
  const std::byte byte{1};
  const int fds[] = {memory.get()};
  const auto sent = send_packet(made->heard.get(), {}, std::span(&byte, 1), fds);
  ASSERT_TRUE(sent) << sent.error().text();
  EXPECT_EQ(*sent, SendOutcome::kPeerGone);
  EXPECT_TRUE(made->doorbell.ring()) << "the other way is open";
  EXPECT_EQ(heard(made->heard), 1);
}

TEST(Doorbell, WithoutDescriptorsThereIsNone) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(UniqueFd(::dup(0)).get());  // the lowest free number
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto made = Doorbell::make();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, EMFILE);
  EXPECT_EQ(made.error().operation, std::string("socketpair"));
}

}  // namespace
}  // namespace hb::test
