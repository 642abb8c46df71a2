// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Job S9: a trainer hands its weights to engines step by step.
#include <list>

#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

class Steps : public EveryMemory {
 protected:
  static constexpr int kEngines = 8;

  // One export of `chunks` chunks and an import of it in every engine.
  void share(std::uint64_t chunks) {
    trainer = std::make_unique<Actor>(actor());
    trainer->ok("objects", {{"count", chunks}, {"first", 5}});
    trainer->ok("export", {{"fds", "f"}, {"name", "weights"}});
    for (int i = 0; i < kEngines; ++i) {
      engines.push_back(actor());
      engines.back().ok("import", {{"name", "weights"}});
    }
  }
  void leave() {
    for (Actor& engine : engines) engine.leave();
    engines.clear();
    trainer->leave();
    trainer.reset();
  }
  std::unique_ptr<Actor> trainer;
  std::list<Actor> engines;
};
HB_EVERY_MEMORY(Steps);

// An export in many chunks, as expandable segments are, and one in one behave alike.
TEST_P(Steps, S9_AThousandStepsMoveNoDescriptor) {
  for (const std::uint64_t chunks : {1u, 32u}) {
    share(chunks);
    const std::size_t daemon_fds = daemon().fd_count();
    std::vector<std::size_t> before;
    for (Actor& engine : engines) before.push_back(engine.ok("fds").number("count"));
    const std::uint64_t trainers = trainer->ok("fds").number("count");
    for (Actor& engine : engines) engine.start("follow", {{"steps", 1000}});
    const Answer led = trainer->call("lead", {{"steps", 1000}, {"count", kEngines}, {"timeout_ms", 100'000}});
    EXPECT_EQ(led.status, HB_OK) << led;
    for (Actor& engine : engines) {
      const Answer followed = engine.finish();
      EXPECT_EQ(followed.status, HB_OK) << followed;
    }
    EXPECT_EQ(daemon().fd_count(), daemon_fds);
    std::size_t i = 0;
    for (Actor& engine : engines) EXPECT_EQ(engine.ok("fds").number("count"), before[i++]);
    EXPECT_EQ(trainer->ok("fds").number("count"), trainers);
    EXPECT_EQ(trainer->ok("show", {{"name", "weights"}}).number("leases"),
              static_cast<std::uint64_t>(kEngines));
    leave();
  }
}

TEST_P(Steps, S9_ADeadEngineLeavesTheSetAndIsNamed) {
  share(4);
  trainer->ok("publish", {{"step", 1}});
  Actor& dying = engines.front();
  for (Actor& engine : engines) {
    if (&engine == &dying) continue;
    engine.ok("wait_step", {{"step", 1}});
    engine.ok("ack_step", {{"step", 1}});
  }
  const Answer early = trainer->ok("wait_acks", {{"step", 1}, {"timeout_ms", 0}});
  EXPECT_EQ(early.text("missing"), std::to_string(dying.pid()));
  EXPECT_EQ(early.number("acked"), static_cast<std::uint64_t>(kEngines - 1));
  trainer->start("wait_acks", {{"step", 1}});
  const auto pid = dying.pid();
  dying.kill9();
  const Answer done = trainer->finish();
  EXPECT_EQ(done.status, HB_OK) << done;
  EXPECT_EQ(done.text("missing"), "");
  EXPECT_EQ(done.text("left"), std::to_string(pid));
  EXPECT_NE(done.text("left_command"), "");
  engines.pop_front();
  trainer->ok("publish", {{"step", 2}});
  for (Actor& engine : engines) {
    engine.ok("wait_step", {{"step", 2}});
    engine.ok("ack_step", {{"step", 2}});
  }
  const Answer next = trainer->ok("wait_acks", {{"step", 2}});
  EXPECT_EQ(next.text("left"), "");
  EXPECT_EQ(next.number("acked"), static_cast<std::uint64_t>(kEngines - 1));
  leave();
}

TEST_P(Steps, S9_AccessOfTheCpuIsAFlagOrRefusedWhole) {
  share(2);
  const bool granted = !on_gpu() || is({"7.2", "7.14"});
  Actor& engine = engines.front();
  const Answer preferred =
      engine.ok("import", {{"import", "p"}, {"name", "weights"}, {"host", HB_HOST_PREFER}});
  EXPECT_EQ(preferred.number("host_granted"), granted ? 1u : 0u);
  const Answer required =
      engine.call("import", {{"import", "r"}, {"name", "weights"}, {"host", HB_HOST_REQUIRE}});
  EXPECT_EQ(required.status, granted ? HB_OK : HB_UNSUPPORTED) << required;
  if (!granted) EXPECT_EQ(engine.ok("fake").number("reservations"), 2u);  // of the others
  trainer->ok("publish", {{"step", 1}});
  engine.ok("wait_step", {{"import", "p"}, {"step", 1}});
  engine.ok("pattern", {{"import", "p"}, {"first", 5}});
  engine.ok("ack_step", {{"import", "p"}, {"step", 1}});
  leave();
}

TEST_P(Steps, AWaitKeepsNoOtherThreadWaiting) {
  Actor one = actor();
  one.ok("objects");
  one.ok("export", {{"fds", "f"}, {"name", "weights"}});
  one.ok("import", {{"name", "weights"}});
  const Answer waited =
      one.ok("wait_step_beside", {{"step", 1}, {"rounds", 50}, {"name", "weights"}, {"timeout_ms", 60'000}});
  EXPECT_EQ(waited.number("reached"), 1u);
  one.leave();
}

TEST_P(Steps, DeadlinesAndEndsAreTold) {
  share(1);
  Actor& engine = engines.front();
  EXPECT_EQ(engine.call("wait_step", {{"step", 1}, {"timeout_ms", 20}}).status, HB_TIMEOUT);
  EXPECT_EQ(engine.call("wait_step", {{"step", 1}, {"timeout_ms", 0}}).status, HB_TIMEOUT);
  EXPECT_EQ(trainer->call("wait_acks", {{"step", 1}}).status, HB_INVALID);
  trainer->ok("publish", {{"step", 1}});
  EXPECT_EQ(trainer->call("publish", {{"step", 1}}).status, HB_INVALID);
  const Answer missing = trainer->ok("wait_acks", {{"step", 1}, {"timeout_ms", 20}});
  EXPECT_EQ(missing.number("acked"), 0u);
  engine.start("wait_step", {{"step", 2}});
  trainer->ok("withdraw");
  const Answer ended = engine.finish();
  EXPECT_EQ(ended.status, HB_GONE) << ended;
  EXPECT_EQ(trainer->call("publish", {{"step", 2}}).status, HB_GONE);
  leave();
}

}  // namespace
}  // namespace hb::test
