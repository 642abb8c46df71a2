// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Tickets between processes: what is on its way lives until it is there.
#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

class Ticket : public EveryMemory {
 protected:
  Answer shared(Actor& owner, const Message& more = {}) {
    owner.ok("objects", {{"count", 4}, {"first", 5}});
    Message arguments{{"fds", "f"}, {"name", "buffer"}};
    for (const auto& [name, value] : more) arguments.insert_or_assign(name, value);
    return owner.ok("export", arguments);
  }
};
HB_EVERY_MEMORY(Ticket);

TEST_P(Ticket, ABufferOnAQueueOutlivesItsProducer) {
  Actor producer = actor();
  Actor consumer = actor();
  const std::string key = shared(producer).text("key");
  const Answer ticket = producer.ok("ticket");
  EXPECT_EQ(ticket.number("kind"), static_cast<std::uint64_t>(HB_KEY_TICKET));
  EXPECT_EQ(ticket.number("length"), 4 * unit());
  const auto producer_pid = static_cast<std::uint64_t>(producer.pid());
  producer.kill9();
  ASSERT_TRUE(poll_until([&] { return consumer.ok("list").number("count") == 0; }));
  EXPECT_EQ(consumer.call("import", {{"key", key}}).status, HB_GONE);
  const Answer held = consumer.ok("who", {{"name", "buffer"}});
  EXPECT_EQ(held.number("count"), 1u);
  EXPECT_EQ(held.text("pids"), std::to_string(producer_pid));  // it made the ticket, and has gone
  consumer.ok("import", {{"key", ticket.text("key")}});
  consumer.ok("pattern", {{"first", 5}});
  EXPECT_EQ(consumer.ok("current").number("current"), 0u);
  // Each works once: not even this process finds its own import by it.
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"key", ticket.text("key")}}).status, HB_GONE);
  // On to the next process.
  Actor next = actor();
  const std::string onward = consumer.ok("ticket", {{"import", "i"}}).text("key");
  consumer.leave();
  next.ok("import", {{"key", onward}});
  next.ok("pattern", {{"first", 5}});
  next.ok("close_import");
  expect_baseline("when the last had closed it", 1);
  next.leave();
}

TEST_P(Ticket, OfAPartItIsThatPart) {
  Actor producer = actor();
  Actor consumer = actor();
  shared(producer);
  const std::string ticket = producer.ok("ticket", {{"offset", unit()}, {"bytes", 2 * unit()}}).text("key");
  const Answer got = consumer.ok("import", {{"key", ticket}});
  EXPECT_EQ(got.number("bytes"), 2 * unit());
  EXPECT_EQ(got.number("offset"), unit());
  consumer.ok("pattern", {{"first", 6}});
  producer.leave();
  consumer.leave();
}

TEST_P(Ticket, DroppedItPinsNoLonger) {
  Actor producer = actor();
  Actor consumer = actor();
  shared(producer);
  const std::string ticket = producer.ok("ticket").text("key");
  EXPECT_EQ(producer.ok("withdraw").number("holders"), 1u);
  producer.ok("drop_ticket", {{"key", ticket}});
  expect_baseline("after the drop", 2);
  EXPECT_EQ(consumer.call("import", {{"key", ticket}}).status, HB_GONE);
  EXPECT_EQ(producer.call("drop_ticket", {{"key", ticket}}).status, HB_GONE);
  producer.leave();
  consumer.leave();
}

TEST_P(Ticket, ItsTimeEndsIt) {
  Actor producer = actor();
  Actor consumer = actor();
  shared(producer);
  const std::string ticket = producer.ok("ticket", {{"ttl_ms", 50}}).text("key");
  producer.leave();
  expect_baseline("when its time was over", 1);
  EXPECT_EQ(consumer.call("import", {{"key", ticket}}).status, HB_GONE);
  consumer.leave();
}

class TicketOfTwoUids : public DaemonTest {};

TEST_F(TicketOfTwoUids, AddsNoRight) {
  ProcessOptions as_reader;
  as_reader.uid = 1002;
  ProcessOptions as_stranger;
  as_stranger.uid = 1003;
  Actor producer(daemon());
  Actor reader(daemon(), as_reader);
  Actor stranger(daemon(), as_stranger);
  producer.ok("memfds", {{"first", 5}});
  producer.ok("export", {{"fds", "f"}, {"acl", "u:1002:1"}});
  const std::string ticket = producer.ok("ticket").text("key");
  EXPECT_EQ(stranger.call("import", {{"key", ticket}}).status, HB_DENIED);
  reader.ok("import", {{"key", ticket}});
  reader.ok("pattern", {{"first", 5}});
  EXPECT_EQ(stranger.call("import", {{"key", ticket}}).status, HB_NOT_FOUND);
  for (Actor* one : {&producer, &reader, &stranger}) one->leave();
}

}  // namespace
}  // namespace hb::test
