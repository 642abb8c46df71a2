// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Peers that begin and do not go on, send and do not read, or send again: only they suffer.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/memfd.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

class Stalling : public DaemonTest {
 protected:
  RawAnswer<pb::ExportReply> begin(RawPeer& raw, const std::string& name, std::uint64_t total) {
    const UniqueFd memory = sealed_memfd(kPage, 0);
    pb::Export body = export_of(name, 1, kPage);
    body.set_total_chunks(total);
    body.set_total_size(total * kPage);
    body.set_distinct_handles(total);
    return raw.call<pb::ExportReply>(FrameType::kExport, body, {memory.get()});
  }
};

TEST_F(Stalling, InTheMiddleOfAPagedExport) {
  RawPeer stalls = peer();
  RawPeer other = peer();
  const auto begun = begin(stalls, "half", 600);
  ASSERT_EQ(begun.status, HB_OK) << begun.error.message();
  EXPECT_FALSE(begun.reply.complete());
  EXPECT_EQ(begun.reply.received_chunks(), 1u);
  EXPECT_TRUE(begun.reply.key().empty());
  // Nobody sees it, the name is taken, others work.
  EXPECT_EQ(other.list().reply.exports_size(), 0);
  EXPECT_EQ(other.acquire_name("half").status, HB_NOT_FOUND);
  EXPECT_EQ(stalls.list().reply.exports_size(), 0);
  EXPECT_EQ(begin(other, "half", 2).status, HB_EXISTS);
  const UniqueFd memory = sealed_memfd(kPage, 1);
  ASSERT_EQ(other.export_fds("whole", {memory.get()}).status, HB_OK);
  EXPECT_EQ(stalls.acquire_name("whole").status, HB_OK);
  // Pages out of order, of another session, or too many end or refuse it, never complete it.
  pb::ExportChunks page;
  page.set_export_id(begun.reply.export_id());
  page.set_first(1);
  page.add_chunks()->set_size(kPage);
  page.mutable_chunks(0)->set_handle(1);
  EXPECT_NE(other.call<pb::ExportReply>(FrameType::kExportChunks, page, {memory.get()}).status, HB_OK);
  page.set_first(7);
  EXPECT_NE(stalls.call<pb::ExportReply>(FrameType::kExportChunks, page, {memory.get()}).status, HB_OK);
  stalls.disconnect();
  EXPECT_TRUE(poll_until([&] { return begin(other, "half", 2).status == HB_OK; }))
      << "the name is free again";
  pb::ExportAbort abort;
  other.disconnect();
  expect_baseline("after both left");
}

TEST_F(Stalling, HalfExportsAreBounded) {
  RawPeer raw = peer();
  for (std::size_t i = 0; i < limits::kSessionStagings; ++i)
    ASSERT_EQ(begin(raw, "half/" + std::to_string(i), 2).status, HB_OK);
  const auto refused = begin(raw, "half/more", 2);
  EXPECT_EQ(refused.status, HB_QUOTA) << refused.error.message();
  EXPECT_EQ(refused.error.limit(), limits::kSessionStagings);
  EXPECT_FALSE(refused.error.what().empty());
}

TEST_F(Stalling, AbortLeavesNothing) {
  RawPeer raw = peer();
  const auto begun = begin(raw, "half", 600);
  ASSERT_EQ(begun.status, HB_OK);
  pb::ExportAbort abort;
  abort.set_export_id(begun.reply.export_id());
  raw.send_one_way(FrameType::kExportAbort, abort);
  EXPECT_EQ(raw.ping(), HB_OK);
  expect_baseline("after the abort", 1);
  EXPECT_EQ(begin(raw, "half", 600).status, HB_OK);
}

// No hello, or a part of one: dropped after limits::kHelloNs, and nobody waits for it.
TEST_F(Stalling, HalfAHello) {
  RawPeer silent(daemon().socket());
  RawPeer other = peer();
  EXPECT_EQ(other.ping(), HB_OK);
  EXPECT_TRUE(silent.ends()) << "a connection without a hello has to be dropped";
  EXPECT_EQ(other.ping(), HB_OK);
  pb::Hello hello;
  hello.set_lowest_version(1);
  hello.set_highest_version(1);
  const std::string bytes = encode({FrameType::kHello, 0, 0, 1}, hello.SerializeAsString());
  RawPeer half(daemon().socket());
  half.send_bytes(bytes.substr(0, bytes.size() / 2));
  EXPECT_TRUE(half.ends());
  EXPECT_EQ(other.ping(), HB_OK);
}

// Asks without end and reads nothing. Others are served while its answers pile up; then it is dropped, once
// its time is over (limits::kSlowReaderNs).
TEST_F(Stalling, AReaderThatNeverReads) {
  RawPeer owner = peer();
  std::vector<UniqueFd> memory;
  for (std::uint64_t i = 0; i < 100; ++i) memory.push_back(sealed_memfd(kPage, i));
  ASSERT_EQ(owner.export_fds("many", borrow(memory)).status, HB_OK);
  const std::size_t held = daemon().fd_count();
  RawPeer deaf = peer();
  ASSERT_EQ(::fcntl(deaf.fd(), F_SETFL, O_NONBLOCK), 0);
  pb::Acquire body;
  body.mutable_target()->mutable_name()->set_name("many");
  body.set_access(1);
  body.set_max_handles(100);
  // Until the daemon takes no more from it, or drops it.
  int sent = 0;
  for (int stalled = 0; stalled < 50 && sent < 100'000;) {
    const std::string frame = encode({FrameType::kAcquire, 0, 0, deaf.next_id()}, body.SerializeAsString());
    const ssize_t n = ::send(deaf.fd(), frame.data(), frame.size(), MSG_NOSIGNAL);
    if (n > 0) {
      ++sent;
      stalled = 0;
    } else if (errno == EAGAIN) {
      ++stalled;
      ASSERT_EQ(owner.ping(), HB_OK);
    } else {
      break;
    }
  }
  EXPECT_GT(sent, 200);
  // Everybody else: a whole round each time, as often as wanted.
  for (int i = 0; i < 20; ++i) {
    RawPeer other = peer();
    const auto got = other.acquire_name("many");
    ASSERT_EQ(got.status, HB_OK) << got.error.message();
    EXPECT_EQ(got.fds.size(), 100u);
  }
  // Its leases end with it, without a word from it.
  const auto leases = [&] { return owner.list("many").reply.exports(0).leases(); };
  EXPECT_TRUE(poll_until([&] { return leases() == 0; })) << leases() << " leases are left";
  // What it has not read is in flight as long as it keeps its socket; the daemon keeps its own to see that.
  expect_fds(held + 1, "after the deaf one was disconnected");
  deaf.disconnect();
  expect_fds(held, "after it has closed");
  EXPECT_NE(daemon().log().find("read"), std::string::npos) << "said once in the log";
}

TEST_F(Stalling, ARequestSentAgainGetsItsFirstAnswer) {
  RawPeer raw = peer();
  const UniqueFd memory = sealed_memfd(kPage, 1);
  const std::string body = export_of("once", 1, kPage).SerializeAsString();
  const std::uint64_t id = raw.next_id();
  raw.send_frame({FrameType::kExport, 0, 1, id}, body, {memory.get()});
  const auto first = raw.await<pb::ExportReply>(id);
  ASSERT_EQ(first.status, HB_OK) << first.error.message();
  const std::size_t held = daemon().fd_count();
  raw.send_frame({FrameType::kExport, 0, 1, id}, body, {memory.get()});
  const auto again = raw.await<pb::ExportReply>(id);
  ASSERT_EQ(again.status, HB_OK) << again.error.message();
  EXPECT_EQ(again.reply.SerializeAsString(), first.reply.SerializeAsString());
  EXPECT_EQ(raw.list().reply.exports_size(), 1);
  EXPECT_TRUE(poll_until([&] { return daemon().fd_count() == held; }))
      << "the descriptor sent again is not kept";

  // An acquire counts once as well, and a refusal stays a refusal.
  pb::Acquire acquire;
  acquire.mutable_target()->mutable_name()->set_name("once");
  acquire.set_access(1);
  acquire.set_max_handles(1);
  const std::uint64_t acquire_id = raw.next_id();
  raw.send_frame({FrameType::kAcquire, 0, 0, acquire_id}, acquire.SerializeAsString());
  const auto lease = raw.await<pb::AcquireReply>(acquire_id);
  raw.send_frame({FrameType::kAcquire, 0, 0, acquire_id}, acquire.SerializeAsString());
  const auto same = raw.await<pb::AcquireReply>(acquire_id);
  ASSERT_EQ(same.status, HB_OK) << same.error.message();
  EXPECT_EQ(same.reply.lease_id(), lease.reply.lease_id());
  EXPECT_EQ(raw.list().reply.exports(0).leases(), 1u);

  pb::Withdraw withdraw;
  withdraw.mutable_target()->set_export_id(first.reply.export_id());
  const std::uint64_t withdraw_id = raw.next_id();
  for (int i = 0; i < 2; ++i) {
    raw.send_frame({FrameType::kWithdraw, 0, 0, withdraw_id}, withdraw.SerializeAsString());
    const auto answer = raw.await<pb::WithdrawReply>(withdraw_id);
    ASSERT_EQ(answer.status, HB_OK) << answer.error.message();
    EXPECT_EQ(answer.reply.withdrawn(), 1u);
  }
  // Older than everything remembered.
  for (int i = 0; i < 20; ++i) {
    const auto one = raw.export_fds("n", {memory.get()});
    ASSERT_EQ(one.status, HB_OK) << one.error.message();
    raw.withdraw_id(one.reply.export_id());
  }
  raw.send_frame({FrameType::kExport, 0, 1, id}, body, {memory.get()});
  const auto forgotten = raw.await<pb::ExportReply>(id);
  EXPECT_TRUE(forgotten.ended || forgotten.status == HB_PROTO) << forgotten.error.message();
  EXPECT_EQ(peer().list().reply.exports_size(), 0);
}

// A TCP socket that lingers: its last close takes as long as its maker says. The daemon refuses it and serves
// the others meanwhile.
UniqueFd lingering_socket(const UniqueFd& listener, int seconds) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length);
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  const std::string bytes(65'536, 'x');
  while (::write(socket.get(), bytes.data(), bytes.size()) > 0) {
  }
  const linger value{1, seconds};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &value, sizeof value);
  return socket;
}

TEST_F(Stalling, ALingeringSocketDelaysNobody) {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int small = 4096;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  RawPeer other = peer();
  constexpr int kSeconds = 3'600;
  // The daemon's copy has to be the last one when it is closed: it sleeps until ours are gone.
  const auto stopped = [&](auto&& during) {
    daemon().process().signal(SIGSTOP);
    ASSERT_TRUE(poll_until([&] { return process_state(daemon().pid()) == 'T'; }));
    during();
    daemon().process().signal(SIGCONT);
  };
  const pb::Export body = export_of("x", 1, kPage);
  RawPeer raw = peer();
  std::uint64_t id = 0;
  stopped([&] {
    const UniqueFd socket = lingering_socket(listener, kSeconds);
    ASSERT_TRUE(socket);
    id = raw.send(FrameType::kExport, body, {socket.get()});
  });
  EXPECT_EQ(raw.await<pb::ExportReply>(id).status, HB_BAD_HANDLE);
  EXPECT_EQ(raw.ping(), HB_OK);
  // One behind a frame that ends the session: it is closed unread, with the socket it lies in.
  stopped([&] {
    const UniqueFd socket = lingering_socket(listener, kSeconds);
    raw.send_bytes("not a frame");
    raw.send(FrameType::kExport, body, {socket.get()});
    raw.disconnect();
  });
  for (int i = 0; i < 20; ++i) ASSERT_EQ(other.ping(), HB_OK);
  EXPECT_EQ(peer().ping(), HB_OK);
  // The other ends go: then the closes come back, and the daemon is as it was.
  listener.reset();
  expect_baseline("once the sockets could be closed", 1);
}

}  // namespace
}  // namespace hb::test
