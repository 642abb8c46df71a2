// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/fixture.h"

#include <algorithm>
#include <iterator>

#include "support/fake_service_manager.h"
#include "support/fd_census.h"

namespace hb::test {
namespace {

bool is_pidfd(const std::string& fd) {
  return fd.find("anon_inode:[pidfd]") != std::string::npos || fd.rfind("pidfd:", 0) == 0;
}

std::vector<std::string> minus(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::string> out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

}  // namespace

void DaemonTest::SetUp() {
  daemon_ = std::make_unique<DaemonProcess>(options_);
  if (options_.store) {
    // What it needs to keep anything at all is there from now on.
    RawPeer first(daemon_->socket());
    ASSERT_EQ(first.hello({"resume"}).status, HB_OK);
  }
  take_baseline();
}

void DaemonTest::take_baseline() {
  std::vector<std::string> with_session;
  {
    const RawPeer probe = peer();
    // The connection that found the daemon ready may still be on its way out.
    ASSERT_TRUE(poll_until([&] { return daemon().connections() == 1; }));
    with_session = daemon().fds();
    watched_for_one_ = daemon().epoll_entries();
  }
  ASSERT_TRUE(poll_until([&] { return daemon().connections() == 0; }));
  baseline_ = daemon().fds();
  queues_ = queue_ends();
  watched_ = daemon().epoll_entries();
  watched_for_one_ -= watched_;
  ASSERT_TRUE(std::none_of(baseline_.begin(), baseline_.end(), is_pidfd));
  one_session_ = minus(with_session, baseline_);
}

RawPeer DaemonTest::peer() {
  RawPeer peer(daemon().socket());
  const auto answer = peer.hello();
  EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
  return peer;
}

RawPeer DaemonTest::admin_peer() {
  RawPeer peer(daemon().admin_socket());
  const auto answer = peer.hello();
  EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
  EXPECT_TRUE(answer.reply.admin());
  return peer;
}

std::size_t DaemonTest::queue_ends() const {
  if (!options_.store) return 0;
  const std::vector<std::string> names = daemon_->manager().stored_names();
  return static_cast<std::size_t>(
      std::count_if(names.begin(), names.end(), [](const std::string& name) { return name[0] == 'q'; }));
}

std::string DaemonTest::difference(std::size_t sessions) const {
  std::vector<std::string> want = baseline_;
  for (std::size_t i = 0; i < sessions; ++i)
    want.insert(want.end(), one_session_.begin(), one_session_.end());
  // Both ends of each queue that it has parked descriptors in, once there are some.
  for (std::size_t queue = queues_; queue < queue_ends(); ++queue) want.push_back("socket");
  std::sort(want.begin(), want.end());
  const std::vector<std::string> have = daemon_->fds();
  const std::size_t watched = daemon_->epoll_entries();
  const std::size_t expected = watched_ + sessions * watched_for_one_;
  return fd_difference(want, have) +
         (watched == expected ? ""
                              : "\n  " + std::to_string(watched) + " watched by its loop, should be " +
                                    std::to_string(expected)) +
         (have.size() == want.size()
              ? ""
              : "\n  " + std::to_string(have.size()) + " open, should be " + std::to_string(want.size()));
}

void DaemonTest::expect_baseline(const std::string& what, std::size_t sessions) {
  if (daemon().pid() <= 0) return;  // the test left it dead on purpose
  EXPECT_TRUE(poll_until([&] { return difference(sessions).empty(); }))
      << "descriptors of the daemon " << what << ":" << difference(sessions);
}

void DaemonTest::expect_fds(std::size_t count, const std::string& what) {
  EXPECT_TRUE(poll_until([&] { return daemon().fd_count() == count; }))
      << what << ": the daemon holds " << daemon().fd_count() << " descriptors, should be " << count;
}

pb::StatusReply DaemonTest::counters_when_alone() {
  RawPeer admin = admin_peer();
  pb::StatusReply reply;
  EXPECT_TRUE(poll_until([&] {
    reply = admin.status().reply;
    return reply.sessions() == 1;
  })) << reply.sessions()
      << " sessions are left";
  return reply;
}

void DaemonTest::TearDown() {
  if (daemon_ == nullptr) return;
  expect_baseline("at the end of the test");
  daemon_.reset();
}

}  // namespace hb::test
