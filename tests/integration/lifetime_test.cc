// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What becomes of a sharing when processes stop, die, or the daemon does.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

class Lifetime : public EveryMemory {};
HB_EVERY_MEMORY(Lifetime);

TEST_P(Lifetime, B02_AKeyOfWhatWasWithdrawnIsAnsweredAtOnce) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("objects");
  const std::string key = producer.ok("export", {{"fds", "f"}}).text("key");
  producer.ok("withdraw");
  EXPECT_EQ(consumer.call("import", {{"key", key}}).status, HB_GONE);  // no deadline: the watchdog is ours
}

TEST_P(Lifetime, B02_AProducerThatIsStoppedIsNotAsked) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("objects", {{"count", 3}, {"first", 5}});
  const std::string key = producer.ok("export", {{"fds", "f"}}).text("key");
  producer.process().signal(SIGSTOP);
  ASSERT_TRUE(poll_until([&] { return process_state(producer.pid()) == 'T'; }));
  const Answer imported = consumer.call("import", {{"key", key}});
  EXPECT_EQ(imported.status, HB_OK) << imported;
  consumer.ok("pattern", {{"first", 5}});
  producer.process().signal(SIGCONT);
  producer.ok("ping");
}

TEST_P(Lifetime, AKilledProducersExportsEndAndReadersKeepTheirBytes) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("objects", {{"count", 3}, {"first", 5}});
  const std::string key = producer.ok("export", {{"fds", "f"}, {"name", "kv"}}).text("key");
  consumer.ok("import", {{"key", key}});
  producer.kill9();
  EXPECT_TRUE(poll_until([&] { return consumer.ok("list").number("count") == 0; }));
  EXPECT_EQ(consumer.ok("current").number("current"), 0u);
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"key", key}}).status, HB_GONE);
  consumer.ok("pattern", {{"first", 5}});
  expect_baseline("after the producer was killed", 1);
}

TEST_P(Lifetime, AKilledConsumersLeasesEnd) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("objects");
  producer.ok("export", {{"fds", "f"}, {"name", "kv"}});
  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("acquire", {{"name", "kv"}});
  EXPECT_EQ(producer.ok("who").number("count"), 2u);
  consumer.kill9();
  EXPECT_TRUE(poll_until([&] { return producer.ok("who").number("count") == 0; }));
  EXPECT_EQ(producer.ok("list").number("0.leases"), 0u);
}

// A worker that the producer forked lives on: the death of the process that connected is what counts. The
// library closes its socket in the child; a client that does not, leaves it open there. Whose memory it was
// is the same to all of it.
class SleepingChild : public DaemonTest, public testing::WithParamInterface<bool> {};

TEST_P(SleepingChild, DoesNotKeepADeadProducersExports) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // the orphan becomes ours to reap
  Actor producer;
  Actor consumer(daemon());
  if (GetParam()) {
    producer.ok("open", {{"socket", daemon().socket()}});
    producer.ok("memfds");
    producer.ok("export", {{"fds", "f"}, {"name", "kv"}});
  } else {
    producer.ok("raw_export", {{"socket", daemon().socket()}, {"name", "kv"}});
  }
  EXPECT_EQ(consumer.ok("list").text("names"), "kv");
  const auto child = static_cast<pid_t>(producer.ok("fork_sleeper").number("pid"));
  producer.kill9();
  EXPECT_TRUE(poll_until([&] { return consumer.ok("list").number("count") == 0; }, 5'000'000'000))
      << "the export outlives its producer";
  EXPECT_NE(process_state(child), '\0') << "the child was to be alive all the time";
  expect_baseline("with the child still alive", 1);
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}
INSTANTIATE_TEST_SUITE_P(Lifetime, SleepingChild, testing::Bool(), [](const auto& which) {
  return which.param ? "OfTheLibrary" : "ThatHoldsTheSocket";
});

TEST_P(Lifetime, AClientOutlivesTheDaemon) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("objects", {{"first", 8}});
  producer.ok("export", {{"fds", "f"}, {"name", "kv"}});
  consumer.ok("import", {{"name", "kv"}});
  daemon().kill9();
  // A session that existed waits to its deadline, and no longer.
  const Answer while_down = consumer.call("ping", {{"timeout_ms", 100}});
  EXPECT_TRUE(while_down.status == HB_TIMEOUT || while_down.status == HB_NO_DAEMON) << while_down;
  EXPECT_EQ(consumer.ok("current").number("current"), 0u);
  consumer.ok("pattern", {{"first", 8}});
  // Who never had one is told at once, whatever the deadline.
  Actor late = process();
  EXPECT_EQ(late.call("open", {{"socket", daemon().socket()}}).status, HB_NO_DAEMON);

  consumer.start("ping");  // waits until there is a daemon again
  daemon().start();
  EXPECT_EQ(consumer.finish().status, HB_OK);
  EXPECT_EQ(consumer.ok("stats").number("reconnects"), 1u);
  late.ok("open", {{"socket", daemon().socket()}});
  producer.ok("export", {{"export", "e2"}, {"fds", "f"}, {"name", "kv"}});
  consumer.ok("import", {{"import", "again"}, {"name", "kv"}});
  consumer.ok("pattern", {{"import", "again"}, {"first", 8}});
  late.ok("import", {{"name", "kv"}});
  consumer.leave();
  producer.leave();
  late.leave();
}

// What dies in the middle of `script`, after so many frames sent or received, leaves nothing behind.
class KillPoints : public EveryMemory {
 protected:
  // False once the script ran to its end without being killed.
  template <class Script>
  bool dies(const std::string& where, int frames, Script&& script) {
    ProcessOptions options;
    options.env.emplace_back("HB_TEST_DIE_AT", where + ":" + std::to_string(frames));
    Actor actor = process(options);
    if (!script(actor)) return true;
    actor.leave();
    return false;
  }
  void nothing_left(const std::string& when, std::uint64_t exports) {
    const pb::StatusReply left = counters_when_alone();
    EXPECT_EQ(left.exports(), exports) << when;
    EXPECT_EQ(left.leases(), 0u) << when;
    EXPECT_EQ(left.stagings(), 0u) << when;
    EXPECT_EQ(left.waits(), 0u) << when;
  }
};
HB_EVERY_MEMORY(KillPoints);

TEST_P(KillPoints, OfAProducer) {
  for (const std::string where : {"send", "sent", "receive"}) {
    int frames = 0;
    const auto script = [&](Actor& actor) {
      return !actor.call("open", {{"socket", daemon().socket()}}).died &&
             !actor.call("objects", {{"count", 600}}).died &&
             !actor.call("export", {{"fds", "f"}, {"name", "kv"}}).died &&
             !actor.call("export", {{"export", "part"}, {"fds", "f"}, {"index", 3}}).died &&
             !actor.call("withdraw", {{"export", "part"}}).died;
    };
    while (dies(where, frames, script)) {
      const std::string when = "killed at " + where + " " + std::to_string(frames);
      nothing_left(when, 0);
      expect_baseline(when);
      ASSERT_LT(++frames, 40);
    }
    EXPECT_GE(frames, 6) << "hello, three pages, a second export and a withdrawal are six frames at least";
    nothing_left("after the last", 0);
  }
}

TEST_P(KillPoints, OfAConsumer) {
  Actor owner = actor();
  owner.ok("objects", {{"count", 600}});
  owner.ok("export", {{"fds", "f"}, {"name", "kv"}});
  const std::size_t held = daemon().fd_count();
  const auto leases_left = [&] { return owner.ok("who").number("count"); };
  for (const std::string where : {"send", "sent", "receive"}) {
    int frames = 0;
    const auto script = [&](Actor& actor) {
      return !actor.call("open", {{"socket", daemon().socket()}}).died &&
             !actor.call("import", {{"name", "kv"}}).died && !actor.call("acquire", {{"name", "kv"}}).died &&
             !actor.call("release").died && !actor.call("close_import").died;
    };
    while (dies(where, frames, script)) {
      EXPECT_TRUE(poll_until([&] { return leases_left() == 0 && daemon().fd_count() == held; }))
          << "killed at " << where << " " << frames << ": " << leases_left() << " leases, "
          << daemon().fd_count() << " descriptors, should be " << held;
      ASSERT_LT(++frames, 60);
    }
    EXPECT_GE(frames, 6);
  }
}

}  // namespace
}  // namespace hb::test
