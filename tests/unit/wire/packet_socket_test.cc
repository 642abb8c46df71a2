// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "wire/packet_socket.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <atomic>
#include <string_view>

namespace hb::test {
namespace {

struct Pair {
  UniqueFd near, far;

  Pair() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    near = UniqueFd(fds[0]);
    far = UniqueFd(fds[1]);
  }
};

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

SendOutcome send(const UniqueFd& socket, std::string_view text, std::span<const int> fds = {}) {
  const auto sent = send_packet(socket.get(), bytes_of(text), {}, fds);
  EXPECT_TRUE(sent.has_value()) << sent.error().text();
  return *sent;
}

struct Inbox {
  std::array<std::byte, 256> buffer{};
  Received got;

  explicit Inbox(const UniqueFd& socket) {
    auto received = receive_packet(socket.get(), buffer);
    EXPECT_TRUE(received.has_value()) << received.error().text();
    if (received) got = std::move(*received);
  }
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(buffer.data()), got.bytes};
  }
};

UniqueFd numbered_memfd(std::uint32_t number) {
  UniqueFd fd(::memfd_create("numbered", MFD_CLOEXEC));
  EXPECT_EQ(::pwrite(fd.get(), &number, sizeof number, 0), static_cast<ssize_t>(sizeof number));
  return fd;
}

std::uint32_t number_in(const UniqueFd& fd) {
  std::uint32_t number = ~0u;
  EXPECT_EQ(::pread(fd.get(), &number, sizeof number, 0), static_cast<ssize_t>(sizeof number));
  return number;
}

struct Memfds {
  std::vector<UniqueFd> owners;
  std::vector<int> numbers;

  explicit Memfds(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      owners.push_back(numbered_memfd(i));
      numbers.push_back(owners.back().get());
    }
  }
};

class SoftNofile {
 public:
  explicit SoftNofile(rlim_t soft) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit lowered{soft, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
  }
  ~SoftNofile() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  SoftNofile(const SoftNofile&) = delete;
  SoftNofile& operator=(const SoftNofile&) = delete;

 private:
  rlimit before_{};
};

// Standard input is free for its lifetime and is what it was afterwards.
class WithoutStdin {
 public:
  WithoutStdin() : saved_(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) { ::close(STDIN_FILENO); }
  ~WithoutStdin() { ::dup2(saved_.get(), STDIN_FILENO); }
  WithoutStdin(const WithoutStdin&) = delete;
  WithoutStdin& operator=(const WithoutStdin&) = delete;

 private:
  UniqueFd saved_;
};

// The soft limit under which exactly `room` more descriptors can be opened.
rlim_t limit_with_room_for(std::size_t room) {
  std::vector<UniqueFd> next;
  for (std::size_t i = 0; i < room; ++i) next.emplace_back(::dup(STDERR_FILENO));
  return static_cast<rlim_t>(next.back().get()) + 1;
}

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

TEST(PacketSocket, BytesOfHeadAndBodyAreOnePacket) {
  const Pair pair;
  ASSERT_EQ(send_packet(pair.near.get(), bytes_of("head "), bytes_of("body"), {}), SendOutcome::kSent);
  ASSERT_EQ(send_packet(pair.near.get(), {}, bytes_of("second"), {}), SendOutcome::kSent);
  const Inbox first(pair.far);
  EXPECT_EQ(first.got.outcome, ReceiveOutcome::kPacket);
  EXPECT_EQ(first.text(), "head body");
  EXPECT_TRUE(first.got.fds.empty());
  EXPECT_EQ(first.got.fds.capacity(), 0u) << "a packet without descriptors must not allocate";
  EXPECT_EQ(Inbox(pair.far).text(), "second");
}

TEST(PacketSocket, Carries253DescriptorsInOrderCloseOnExec) {
  const Pair pair;
  const Memfds sent(limits::kFrameFds);
  ASSERT_EQ(send(pair.near, "x", sent.numbers), SendOutcome::kSent);
  const Inbox inbox(pair.far);
  ASSERT_EQ(inbox.got.outcome, ReceiveOutcome::kPacket);
  ASSERT_EQ(inbox.got.fds.size(), limits::kFrameFds);
  for (std::uint32_t i = 0; i < limits::kFrameFds; ++i) {
    EXPECT_EQ(number_in(inbox.got.fds[i]), i);
    EXPECT_EQ(::fcntl(inbox.got.fds[i].get(), F_GETFD), FD_CLOEXEC);
  }
}

TEST(PacketSocket, EveryCountHasItsOwnControlLength) {
  const Pair pair;
  const Memfds sent(8);
  for (std::size_t count = 1; count <= sent.numbers.size(); ++count) {
    ASSERT_EQ(send(pair.near, "x", std::span(sent.numbers).first(count)), SendOutcome::kSent);
    const Inbox inbox(pair.far);
    ASSERT_EQ(inbox.got.fds.size(), count);
    EXPECT_EQ(number_in(inbox.got.fds.back()), count - 1);
  }
}

TEST(PacketSocket, Refuses254DescriptorsBeforeTheKernel) {
  const Pair pair;
  const std::vector<int> too_many(limits::kFrameFds + 1, pair.near.get());
  const auto sent = send_packet(pair.near.get(), bytes_of("x"), {}, too_many);
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code, EINVAL);
  EXPECT_NE(sent.error().text().find("253"), std::string::npos);
  EXPECT_EQ(Inbox(pair.far).got.outcome, ReceiveOutcome::kWouldBlock) << "nothing may have been sent";
}

TEST(PacketSocket, CredentialsAndPidfdLeaveRoomFor253AndLeakNothing) {
  constexpr int kSoPasspidfd = 76;  // Linux 6.5; older kernels refuse it and send none
  const Pair pair;
  const int on = 1;
  ASSERT_EQ(::setsockopt(pair.far.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
  if (::setsockopt(pair.far.get(), SOL_SOCKET, kSoPasspidfd, &on, sizeof on) != 0) {
    ASSERT_EQ(errno, ENOPROTOOPT);
  }
  const Memfds sent(limits::kFrameFds);
  ASSERT_EQ(send(pair.near, "full", sent.numbers), SendOutcome::kSent);
  ASSERT_EQ(send(pair.near, "bare"), SendOutcome::kSent);
  const Inbox full(pair.far);
  EXPECT_EQ(full.got.outcome, ReceiveOutcome::kPacket);
  EXPECT_EQ(full.got.fds.size(), limits::kFrameFds) << "a pidfd is no descriptor of the packet";
  const Inbox bare(pair.far);
  EXPECT_EQ(bare.got.outcome, ReceiveOutcome::kPacket);
  EXPECT_TRUE(bare.got.fds.empty());
  EXPECT_EQ(bare.got.fds.capacity(), 0u) << "nor may it allocate";
}

TEST(PacketSocket, OwnDescriptorLimitTruncatesDescriptorsButNotBytes) {
  const Pair pair;
  const Memfds sent(10);
  ASSERT_EQ(send(pair.near, "request", sent.numbers), SendOutcome::kSent);
  ASSERT_EQ(send(pair.near, "next"), SendOutcome::kSent);
  const SoftNofile limit(limit_with_room_for(3));
  const Inbox inbox(pair.far);
  EXPECT_EQ(inbox.got.outcome, ReceiveOutcome::kFdsTruncated);
  EXPECT_EQ(inbox.text(), "request");
  EXPECT_EQ(inbox.got.fds.size(), 3u) << "those that did arrive are the caller's to dispose of";
  EXPECT_EQ(Inbox(pair.far).text(), "next") << "the connection goes on";
}

TEST(PacketSocket, NoDescriptorFreeAtAll) {
  const Pair pair;
  const Memfds sent(1);
  ASSERT_EQ(send(pair.near, "request", sent.numbers), SendOutcome::kSent);
  const SoftNofile limit(3);
  const Inbox inbox(pair.far);
  EXPECT_EQ(inbox.got.outcome, ReceiveOutcome::kFdsTruncated);
  EXPECT_EQ(inbox.text(), "request");
  EXPECT_TRUE(inbox.got.fds.empty());
}

TEST(PacketSocket, ReceivedDescriptorZeroIsMovedUp) {
  const Pair pair;
  const Memfds sent(2);
  ASSERT_EQ(send(pair.near, "x", sent.numbers), SendOutcome::kSent);
  const WithoutStdin zero_is_free;
  const Inbox inbox(pair.far);
  ASSERT_EQ(inbox.got.outcome, ReceiveOutcome::kPacket);
  ASSERT_EQ(inbox.got.fds.size(), 2u);
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_GT(inbox.got.fds[i].get(), 2);
    EXPECT_EQ(number_in(inbox.got.fds[i]), i);
    EXPECT_EQ(::fcntl(inbox.got.fds[i].get(), F_GETFD), FD_CLOEXEC);
  }
  EXPECT_EQ(::fcntl(STDIN_FILENO, F_GETFD), -1) << "the low number is free again";
}

TEST(PacketSocket, DescriptorZeroThatCannotMoveCountsAsTruncated) {
  const Pair pair;
  const Memfds sent(1);
  ASSERT_EQ(send(pair.near, "x", sent.numbers), SendOutcome::kSent);
  Received got;
  {
    const WithoutStdin zero_is_free;
    const SoftNofile limit(3);
    Inbox inbox(pair.far);
    got = std::move(inbox.got);
    EXPECT_EQ(got.fds.size(), 1u);
    got.fds.clear();
  }
  EXPECT_EQ(got.outcome, ReceiveOutcome::kFdsTruncated);
}

TEST(PacketSocket, LongPacketIsTruncatedAndItsDescriptorsAreTheCallers) {
  const Pair pair;
  const Memfds sent(2);
  ASSERT_EQ(send(pair.near, std::string(257, 'x'), sent.numbers), SendOutcome::kSent);
  ASSERT_EQ(send(pair.near, std::string(256, 'y')), SendOutcome::kSent);
  const Inbox inbox(pair.far);
  EXPECT_EQ(inbox.got.outcome, ReceiveOutcome::kBytesTruncated);
  EXPECT_EQ(inbox.got.bytes, 256u);
  ASSERT_EQ(inbox.got.fds.size(), 2u);
  EXPECT_EQ(number_in(inbox.got.fds[1]), 1u);
  EXPECT_EQ(Inbox(pair.far).got.outcome, ReceiveOutcome::kPacket) << "exactly the buffer fits";
}

TEST(PacketSocket, EmptyPacketWithADescriptorIsNotTheEnd) {
  const Pair pair;
  const Memfds sent(1);
  iovec nothing{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &nothing;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* message = CMSG_FIRSTHDR(&header);
  message->cmsg_level = SOL_SOCKET;
  message->cmsg_type = SCM_RIGHTS;
  message->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(message), sent.numbers.data(), sizeof(int));
  ASSERT_EQ(::sendmsg(pair.near.get(), &header, MSG_NOSIGNAL), 0);
  const Inbox inbox(pair.far);
  EXPECT_EQ(inbox.got.outcome, ReceiveOutcome::kPacket);
  EXPECT_EQ(inbox.got.bytes, 0u);
  ASSERT_EQ(inbox.got.fds.size(), 1u);
}

TEST(PacketSocket, EmptyPacketsAreNotSent) {
  const Pair pair;
  const Memfds fds(1);
  const auto sent = send_packet(pair.near.get(), {}, {}, fds.numbers);
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code, EINVAL);
  EXPECT_EQ(Inbox(pair.far).got.outcome, ReceiveOutcome::kWouldBlock);
}

TEST(PacketSocket, NothingToReadWouldBlock) {
  const Pair pair;
  EXPECT_EQ(Inbox(pair.far).got.outcome, ReceiveOutcome::kWouldBlock);
}

TEST(PacketSocket, AReaderThatDoesNotReadWouldBlock) {
  const Pair pair;
  const std::string text(1000, 'x');
  int sent = 0;
  while (send(pair.near, text) == SendOutcome::kSent) ++sent;
  EXPECT_GT(sent, 0);
  EXPECT_EQ(send(pair.near, text), SendOutcome::kWouldBlock);
  std::array<std::byte, 1000> buffer;
  for (int i = 0; i < sent; ++i) ASSERT_TRUE(receive_packet(pair.far.get(), buffer).has_value());
  EXPECT_EQ(send(pair.near, text), SendOutcome::kSent);
}

TEST(PacketSocket, ClosedPeer) {
  Pair pair;
  pair.near.reset();
  EXPECT_EQ(Inbox(pair.far).got.outcome, ReceiveOutcome::kEnd);
  EXPECT_EQ(send(pair.far, "x"), SendOutcome::kPeerGone) << "and no SIGPIPE";
}

TEST(PacketSocket, LastWordsOfAPeerThatDidNotReadOursArrive) {
  Pair pair;
  ASSERT_EQ(send(pair.far, "unread"), SendOutcome::kSent);
  ASSERT_EQ(send(pair.near, "last words"), SendOutcome::kSent);
  pair.near.reset();
  const Inbox inbox(pair.far);
  EXPECT_EQ(inbox.got.outcome, ReceiveOutcome::kPacket);
  EXPECT_EQ(inbox.text(), "last words");
  EXPECT_EQ(Inbox(pair.far).got.outcome, ReceiveOutcome::kEnd);
}

TEST(PacketSocket, ResetWithoutLastWordsIsTheEnd) {
  Pair pair;
  ASSERT_EQ(send(pair.far, "unread"), SendOutcome::kSent);
  pair.near.reset();
  EXPECT_EQ(Inbox(pair.far).got.outcome, ReceiveOutcome::kEnd);
}

TEST(PacketSocket, TooLongToSendNamesTheCall) {
  const Pair pair;
  const std::vector<std::byte> huge(8u << 20);
  const auto sent = send_packet(pair.near.get(), huge, {}, {});
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code, EMSGSIZE);
  EXPECT_EQ(sent.error().text().rfind("sendmsg: EMSGSIZE", 0), 0u) << sent.error().text();
}

TEST(PacketSocket, NotASocketNamesTheCall) {
  const Memfds file(1);
  std::array<std::byte, 16> buffer;
  const auto received = receive_packet(file.numbers[0], buffer);
  ASSERT_FALSE(received.has_value());
  EXPECT_EQ(received.error().code, ENOTSOCK);
  EXPECT_EQ(received.error().text().rfind("recvmsg: ENOTSOCK", 0), 0u) << received.error().text();
}

// In a child of another uid: the count is per uid, and root is exempt from it.
int send_until_too_many_in_flight() {
  if (::geteuid() == 0) {
    constexpr uid_t kUidOfNobodyElse = 54'321;
    if (::setgroups(0, nullptr) != 0) return 10;
    if (::setresuid(kUidOfNobodyElse, kUidOfNobodyElse, kUidOfNobodyElse) != 0) return 11;
  }
  const Pair pair;
  const SoftNofile limit(32);
  const int fd = pair.near.get();
  for (int i = 0; i < 200; ++i) {
    const auto sent = send_packet(pair.near.get(), bytes_of("x"), {}, std::span(&fd, 1));
    if (!sent) return 12;
    if (*sent == SendOutcome::kSent) continue;
    if (*sent != SendOutcome::kTooManyInFlight) return 13;
    return send(pair.near, "without descriptors") == SendOutcome::kSent ? 0 : 14;
  }
  return 15;
}

TEST(PacketSocket, TooManyDescriptorsInFlightIsAnOutcomeOfItsOwn) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(send_until_too_many_in_flight());
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

std::atomic<int> ticks{0};

// SIGALRM every 0.5 ms without SA_RESTART.
class IntervalTimer {
 public:
  IntervalTimer() {
    ticks = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { ticks.fetch_add(1, std::memory_order_relaxed); };
    EXPECT_EQ(::sigaction(SIGALRM, &action, &before_), 0);
    const itimerval every{{0, 500}, {0, 500}};
    EXPECT_EQ(::setitimer(ITIMER_REAL, &every, nullptr), 0);
  }
  ~IntervalTimer() {
    const itimerval off{};
    ::setitimer(ITIMER_REAL, &off, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }
  IntervalTimer(const IntervalTimer&) = delete;
  IntervalTimer& operator=(const IntervalTimer&) = delete;

 private:
  struct sigaction before_ {};
};

TEST(WaitSocket, SignalsNeitherEndNorProlongTheWait) {
  const Pair pair;
  const IntervalTimer timer;
  const std::uint64_t deadline = now_ns() + 50'000'000;
  const auto readable = wait_socket(pair.near.get(), WaitFor::kReadable, deadline);
  ASSERT_TRUE(readable.has_value()) << readable.error().text();
  EXPECT_FALSE(*readable);
  EXPECT_GE(now_ns(), deadline);
  EXPECT_GT(ticks.load(), 0) << "the wait was never interrupted: this test shows nothing";
}

TEST(WaitSocket, SignalsDoNotEndAWaitWithoutDeadline) {
  const Pair pair;
  const IntervalTimer timer;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Timers are not inherited; the parent waits through a few ticks before there is something to read.
    (void)wait_socket(pair.far.get(), WaitFor::kReadable, now_ns() + 20'000'000);
    ::_exit(send(pair.far, "x") == SendOutcome::kSent ? 0 : 1);
  }
  EXPECT_EQ(wait_socket(pair.near.get(), WaitFor::kReadable, UINT64_MAX), true);
  EXPECT_EQ(Inbox(pair.near).text(), "x");
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  EXPECT_EQ(status, 0);
}

TEST(WaitSocket, ZeroDoesNotWait) {
  const Pair pair;
  EXPECT_EQ(wait_socket(pair.near.get(), WaitFor::kReadable, 0), false);
  EXPECT_EQ(wait_socket(pair.near.get(), WaitFor::kWritable, 0), true);
  ASSERT_EQ(send(pair.far, "x"), SendOutcome::kSent);
  EXPECT_EQ(wait_socket(pair.near.get(), WaitFor::kReadable, 0), true);
}

TEST(WaitSocket, PastDeadlineStillSeesWhatIsReady) {
  const Pair pair;
  EXPECT_EQ(wait_socket(pair.near.get(), WaitFor::kReadable, 1), false);
  ASSERT_EQ(send(pair.far, "x"), SendOutcome::kSent);
  EXPECT_EQ(wait_socket(pair.near.get(), WaitFor::kReadable, 1), true);
}

TEST(WaitSocket, FullQueueIsNotWritable) {
  const Pair pair;
  while (send(pair.near, std::string(1000, 'x')) == SendOutcome::kSent) {
  }
  EXPECT_EQ(wait_socket(pair.near.get(), WaitFor::kWritable, 0), false);
}

TEST(WaitSocket, ClosedPeerWakesTheWaiter) {
  Pair pair;
  pair.far.reset();
  EXPECT_EQ(wait_socket(pair.near.get(), WaitFor::kReadable, UINT64_MAX), true);
}

TEST(WaitSocket, ClosedDescriptorIsAnError) {
  const auto waited = wait_socket(1'000'000, WaitFor::kReadable, 0);
  ASSERT_FALSE(waited.has_value());
  EXPECT_EQ(waited.error().code, EBADF);
}

}  // namespace
}  // namespace hb::test
