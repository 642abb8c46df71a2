// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What becomes of what one holds, told to real processes; and a daemon that dies under them.
#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

class EventPath : public EveryMemory {};
HB_EVERY_MEMORY(EventPath);

// The owner is killed: the export is gone, its subscriber is told, its bytes stay.
TEST_P(EventPath, B01_AKilledProducerIsToldAndLeavesNothing) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("objects", {{"count", 3}, {"first", 5}});
  const std::string key = producer.ok("export", {{"fds", "f"}, {"name", "kv"}}).text("key");
  consumer.ok("import", {{"key", key}});
  EXPECT_EQ(consumer.ok("dispatch").number("count"), 0u);
  EXPECT_EQ(consumer.ok("events_fd").number("readable"), 0u);
  producer.kill9();
  const Answer told = consumer.ok("dispatch", {{"count", 1}});
  EXPECT_EQ(told.text("events"), "owner-died i 1 0");
  EXPECT_EQ(consumer.ok("list").number("count"), 0u);
  EXPECT_EQ(consumer.ok("list", {{"ended", 1}}).text("0.state"), "gone");
  EXPECT_EQ(consumer.ok("list", {{"ended", 1}}).number("0.descriptors"), 0u);
  EXPECT_EQ(consumer.ok("current").number("current"), 0u);
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"key", key}}).status, HB_GONE);
  consumer.ok("pattern", {{"first", 5}});
  consumer.ok("close_import");
  EXPECT_EQ(consumer.ok("list", {{"ended", 1}}).number("count"), 0u);
}

// Withdrawn while it is read: told, and the bytes stay right; the name is free at once.
TEST_P(EventPath, B25_WithdrawWhileInUse) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("objects", {{"count", 3}, {"first", 5}});
  const std::string id = producer.ok("export", {{"fds", "f"}, {"name", "kv"}}).text("export_id");
  const std::size_t with_export = daemon().fd_count();
  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("listen");
  const Answer ended = producer.ok("withdraw_wait");
  EXPECT_EQ(ended.number("exports"), 1u);
  EXPECT_EQ(ended.text("left"), std::to_string(consumer.pid()));
  expect_fds(with_export + 1 - 3, "after the withdrawal: a doorbell more, three objects less");
  consumer.ok("heard", {{"count", 1}});
  const Answer again = producer.ok("export", {{"export", "e2"}, {"fds", "f"}, {"name", "kv"}});
  EXPECT_EQ(again.number("generation"), 2u);
  for (int i = 0; i < 20; ++i) consumer.ok("pattern", {{"first", 5}});
  EXPECT_EQ(consumer.ok("unlisten").text("events"), "withdrawn i 1 0");
  // It holds the old one still, and who asks for the name hears of it.
  EXPECT_EQ(producer.ok("who", {{"name", "kv"}}).text("states"), "withdrawn");
  EXPECT_EQ(producer.ok("who", {{"id", id}}).text("states"), "withdrawn");
  consumer.ok("close_import");
  EXPECT_TRUE(poll_until([&] { return producer.call("who", {{"id", id}}).status == HB_GONE; }));
}

// Nobody but its owner withdraws; another process of the owner's uid revokes.
TEST_P(EventPath, B25_WhoMayTakeItAway) {
  if (!may_change_uid()) return;
  ProcessOptions stranger;
  stranger.uid = 1003;
  Actor producer = actor();
  Actor sibling = actor();
  Actor other = actor(stranger);
  producer.ok("objects");
  const Answer made = producer.ok("export", {{"fds", "f"}, {"name", "kv"}, {"acl", "u:1003:1"}});
  const std::string id = made.text("export_id");
  EXPECT_EQ(other.call("withdraw", {{"id", id}}).status, HB_DENIED);
  EXPECT_EQ(other.call("revoke", {{"id", id}}).status, HB_DENIED);
  EXPECT_EQ(sibling.call("withdraw", {{"id", id}}).status, HB_DENIED);
  producer.ok("dispatch");
  const Answer revoked = sibling.ok("revoke", {{"name", "kv"}});
  EXPECT_EQ(revoked.number("exports"), 1u);
  EXPECT_EQ(revoked.number("holders"), 0u);
  // The owner is told, too.
  EXPECT_EQ(producer.ok("dispatch", {{"count", 1}}).text("events"), "revoked - 1 0");
  EXPECT_EQ(producer.call("withdraw").status, HB_GONE);
}

// Both reconnect unasked, the producer exports again from its handler, a third one gets it.
TEST_P(EventPath, B08_ADaemonThatIsKilledAndStarted) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("objects", {{"count", 2}, {"first", 8}});
  producer.ok("export", {{"fds", "f"}, {"name", "kv"}});
  consumer.ok("import", {{"name", "kv"}});
  producer.ok("listen",
              {{"new.verb", "export"}, {"new.export", "again"}, {"new.fds", "f"}, {"new.name", "kv"}});
  consumer.ok("listen");
  daemon().kill9();
  consumer.ok("heard", {{"count", 1}});
  EXPECT_EQ(consumer.ok("current").number("current"), 0u);
  consumer.ok("pattern", {{"first", 8}});
  daemon().start();
  EXPECT_EQ(producer.ok("heard", {{"count", 2}}).text("events"),
            "session-lost - 0 0\nsession-new status=0 0 0");
  EXPECT_EQ(consumer.ok("heard", {{"count", 2}}).text("events"), "session-lost - 0 0\nsession-new - 0 0");
  consumer.ok("pattern", {{"first", 8}});
  Actor third = actor();
  third.ok("import", {{"name", "kv"}});
  third.ok("pattern", {{"first", 8}});
  // A second time, the same way.
  daemon().restart();
  producer.ok("heard", {{"count", 4}});
  consumer.ok("heard", {{"count", 4}});
  third.ok("import", {{"import", "again"}, {"name", "kv"}});
  third.ok("pattern", {{"import", "again"}, {"first", 8}});
  consumer.ok("pattern", {{"first", 8}});
  EXPECT_EQ(consumer.ok("stats").number("reconnects"), 2u);
  // Closing a client ends its loop.
  EXPECT_EQ(producer.ok("close").number("loop"), 0u);
  EXPECT_EQ(consumer.ok("unlisten").status, HB_OK);
  consumer.leave();
  producer.leave();
  third.leave();
}

class EventOrder : public DaemonTest {};

// What happened before the subscription is told first, and what was overtaken is left out.
TEST_F(EventOrder, ALateSubscriberGetsThePresentStateFirst) {
  Actor producer(daemon());
  Actor consumer(daemon());
  for (const char* name : {"a", "b", "c"}) {
    producer.ok("memfds");
    producer.ok("export", {{"export", name}, {"fds", "f"}, {"name", name}});
    consumer.ok("import", {{"import", name}, {"name", name}});
  }
  producer.ok("withdraw", {{"export", "b"}});
  producer.ok("withdraw", {{"export", "a"}});
  consumer.ok("close_import", {{"import", "a"}});
  EXPECT_EQ(consumer.ok("events_fd", {{"wait_ms", 20'000}}).number("readable"), 1u);
  producer.ok("withdraw", {{"export", "c"}});
  EXPECT_EQ(consumer.ok("dispatch", {{"count", 2}}).text("events"), "withdrawn b 1 0\nwithdrawn c 1 0");
  EXPECT_EQ(consumer.ok("events_fd").number("readable"), 0u);
}

// One mapping is told of once, however often it was opened; closing it in the handler gives it back.
TEST_F(EventOrder, AnEventComesOnceForAMappingAndMayCloseIt) {
  Actor producer(daemon());
  Actor consumer(daemon());
  producer.ok("memfds");
  producer.ok("export", {{"fds", "f"}, {"name", "kv"}});
  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("listen", {{"close", 1}, {"stop", "withdrawn"}});
  const Answer ended = producer.ok("withdraw_wait", {{"wait_ms", 20'000}});
  EXPECT_EQ(ended.number("holders"), 0u);
  const Answer stopped = consumer.ok("unlisten");  // it stopped itself
  EXPECT_EQ(stopped.text("events"), "withdrawn i 1 0");
  EXPECT_EQ(consumer.ok("stats").number("mapped_bytes"), 0u);
}

// An import that is only kept for later pins nothing once its export has ended.
TEST_F(EventOrder, WhatIsOnlyKeptInTheCacheGoesWithItsExport) {
  Actor producer(daemon());
  Actor consumer;
  consumer.ok("open", {{"socket", daemon().socket()}, {"cache", 1u << 30}});
  producer.ok("memfds");
  producer.ok("export", {{"fds", "f"}, {"name", "kv"}});
  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("close_import");
  EXPECT_EQ(producer.ok("who").number("count"), 1u);
  consumer.ok("listen");
  EXPECT_EQ(producer.ok("withdraw_wait", {{"wait_ms", 20'000}}).number("holders"), 0u);
  EXPECT_EQ(consumer.ok("unlisten").text("events"), "");
}

TEST_F(EventOrder, AForkedChildIsRefused) {
  Actor consumer(daemon());
  consumer.ok("dispatch");
  for (const char* verb : {"events_fd", "dispatch"})
    EXPECT_EQ(consumer.call("in_child", {{"do", verb}}).status, HB_FORKED) << verb;
  consumer.ok("dispatch");
}

}  // namespace
}  // namespace hb::test
