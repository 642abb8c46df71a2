// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the daemon holds when a sharing ends, and what holders cost who never listen.
#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

class TakingBack : public EveryMemory {};
HB_EVERY_MEMORY(TakingBack);

// ROCm/rocm-systems#4754: exported once, memory stays pinned although nobody imported it.
TEST_P(TakingBack, S2_AnExportThatNobodyImportedLeavesNothing) {
  Actor owner = actor();
  owner.ok("objects", {{"count", 2}});
  const std::size_t before = daemon().fd_count();
  owner.ok("export", {{"fds", "f"}, {"name", "kv"}});
  EXPECT_EQ(daemon().fd_count(), before + 2);
  owner.ok("withdraw");
  EXPECT_EQ(daemon().fd_count(), before) << "closed before the answer";
}

// Revoked while four hold it, by another process of the uid; three give it back.
TEST_P(TakingBack, RevokeAnswersWhenTheLastHasGivenItBack) {
  Actor owner = actor();
  Actor sibling = actor();
  Actor first = actor();
  Actor second = actor();
  owner.ok("objects", {{"count", 2}});
  const std::size_t before = daemon().fd_count();
  const std::string id = owner.ok("export", {{"fds", "f"}, {"name", "kv"}}).text("export_id");
  first.ok("import", {{"name", "kv"}});
  second.ok("import", {{"name", "kv"}});
  sibling.start("revoke", {{"name", "kv"}, {"grace_ms", 20'000}});
  ASSERT_TRUE(poll_until([&] { return owner.ok("list").number("count") == 0; }));
  expect_fds(before, "its descriptors are closed while it waits");
  EXPECT_FALSE(sibling.answered());
  first.ok("close_import");
  EXPECT_EQ(owner.ok("who", {{"id", id}}).text("pids"), std::to_string(second.pid()));
  EXPECT_FALSE(sibling.answered());
  second.kill9();
  const Answer revoked = sibling.finish();
  EXPECT_EQ(revoked.status, HB_OK) << revoked;
  EXPECT_EQ(revoked.number("exports"), 1u);
  EXPECT_EQ(revoked.number("holders"), 0u);
}

class SlowReader : public DaemonTest {};

TEST_F(SlowReader, ThousandRoundsLeaveNoDescriptor) {
  Actor owner(daemon());
  owner.ok("memfds");
  const std::size_t before = daemon().fd_count();
  for (int i = 0; i < 1'000; ++i) {
    owner.ok("export", {{"fds", "f"}, {"name", "kv"}});
    owner.ok("withdraw");
    owner.ok("destroy");
  }
  EXPECT_EQ(daemon().fd_count(), before);
}

// One that subscribed and never reads: it costs one entry a lease, is named, and delays nobody.
TEST_F(SlowReader, IsBoundedAndNamedAndDelaysNobody) {
  Actor owner(daemon());
  Actor deaf(daemon());
  Actor swift(daemon());
  Actor admin;
  admin.ok("open", {{"socket", daemon().admin_socket()}});
  deaf.ok("events_fd");
  swift.ok("listen", {{"close", 1}});
  owner.ok("memfds");
  // Warm: what a round costs for good is not counted.
  const auto round = [&](int i) {
    const std::string name = "kv" + std::to_string(i);
    owner.ok("export", {{"export", name}, {"fds", "f"}, {"name", name}});
    deaf.ok("import", {{"import", name}, {"name", name}});
    owner.ok("withdraw", {{"export", name}});
    deaf.ok("close_import", {{"import", name}});
    owner.ok("destroy", {{"export", name}});
  };
  for (int i = 0; i < 50; ++i) round(i);
  EXPECT_EQ(admin.ok("daemon_status").number("events_pending"), 0u) << "what is given back is not kept";
  owner.ok("export", {{"export", "held"}, {"fds", "f"}, {"name", "held"}});
  deaf.ok("import", {{"import", "h1"}, {"name", "held"}});
  deaf.ok("acquire", {{"handles", "h2"}, {"name", "held"}});
  owner.ok("withdraw", {{"export", "held"}});
  for (int i = 50; i < 250; ++i) round(i);
  EXPECT_EQ(admin.ok("daemon_status").number("events_pending"), 2u);
  EXPECT_EQ(admin.ok("daemon_status").number("ended_held"), 1u);
  const Answer who = owner.ok("who");
  EXPECT_EQ(who.text("states"), "withdrawn withdrawn");
  EXPECT_GT(who.number("unread_ns"), 0u);
  EXPECT_EQ(who.number("listening"), 2u);
  // Meanwhile another one is served.
  owner.ok("export", {{"export", "quick"}, {"fds", "f"}, {"name", "quick"}});
  swift.ok("unlisten");
  swift.ok("import", {{"name", "quick"}});
  owner.ok("withdraw", {{"export", "quick"}});
  EXPECT_EQ(swift.ok("dispatch", {{"count", 1}}).text("events"), "withdrawn i 1 0");
  // It reads at last: each lease once.
  EXPECT_EQ(deaf.ok("dispatch", {{"count", 2}}).text("events"), "withdrawn - 1 0\nwithdrawn h1 1 0");
  EXPECT_EQ(admin.ok("daemon_status").number("events_pending"), 0u);
}

}  // namespace
}  // namespace hb::test
