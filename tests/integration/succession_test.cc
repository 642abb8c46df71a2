// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What outlives its owner, and who takes it over: lifetimes, claims, names and their replacement.
#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

class Succession : public EveryMemory {
 protected:
  // Three chunks numbered from `first` on, under the name "kv".
  Answer shared(Actor& owner, std::uint64_t linger_ms, std::uint64_t first = 5) {
    owner.ok("objects", {{"count", 3}, {"first", first}});
    return owner.ok("export", {{"fds", "f"},
                               {"name", "kv"},
                               {"lifetime", linger_ms == 0 ? HB_LIFETIME_OWNER : HB_LIFETIME_LINGER},
                               {"linger_ms", linger_ms}});
  }
  bool is_orphaned(Actor& anyone) {
    return poll_until([&] { return anyone.ok("show", {{"name", "kv"}}).text("state") == "orphaned"; });
  }
};
HB_EVERY_MEMORY(Succession);

constexpr std::uint64_t kLong = 60'000;

TEST_P(Succession, S1_AnHeirClaimsWhatAKilledOwnerLeft) {
  Actor owner = actor();
  Actor consumer = actor();
  Actor heir = actor();
  Actor late = actor();
  const std::string old_key = shared(owner, kLong).text("key");
  consumer.ok("import", {{"key", old_key}});
  EXPECT_EQ(heir.call("claim", {{"name", "kv"}}).status, HB_EXISTS);
  owner.kill9();
  ASSERT_TRUE(is_orphaned(heir));
  EXPECT_EQ(consumer.ok("told").text("events"), "owner-died");
  consumer.ok("pattern", {{"first", 5}});
  EXPECT_EQ(consumer.ok("current").number("current"), 1u);
  const Answer claimed = heir.ok("claim", {{"name", "kv"}});
  EXPECT_EQ(claimed.number("generation"), 2u);
  const Answer second = late.call("claim", {{"name", "kv"}});
  EXPECT_EQ(second.status, HB_EXISTS);
  EXPECT_NE(second.message().find("pid " + std::to_string(heir.pid())), std::string::npos) << second;
  EXPECT_EQ(consumer.ok("told").text("events"), "claimed");
  EXPECT_EQ(consumer.ok("current").number("current"), 0u);
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"key", old_key}}).status, HB_STALE);
  consumer.ok("import", {{"import", "new"}, {"key", claimed.text("key")}});
  consumer.ok("pattern", {{"import", "new"}, {"first", 5}});
  consumer.ok("pattern", {{"first", 5}});
  heir.ok("withdraw");
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"key", claimed.text("key")}}).status, HB_GONE);
  for (Actor* one : {&consumer, &heir, &late}) one->leave();
}

// B01's second half. The time is long enough for a slow machine to look before it is over.
TEST_P(Succession, B01_WhatLingersIsAcquiredUntilItsTimeIsOver) {
  Actor owner = actor();
  Actor consumer = actor();
  const std::string key = shared(owner, 4000).text("key");
  consumer.ok("import", {{"key", key}});
  owner.kill9();
  ASSERT_TRUE(is_orphaned(consumer));
  consumer.ok("acquire", {{"key", key}});
  consumer.ok("release");
  EXPECT_EQ(consumer.ok("told").text("events"), "owner-died");
  EXPECT_EQ(consumer.ok("told").text("events"), "gone");
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"key", key}}).status, HB_GONE);
  consumer.ok("pattern", {{"first", 5}});
  consumer.leave();
  expect_baseline("when the time was over");
}

TEST_P(Succession, B11_AProducerThatClosedItsOwnAndLeftIsNotMissed) {
  Actor producer = actor();
  Actor consumer = actor();
  const std::string key = shared(producer, kLong).text("key");
  if (!on_gpu()) producer.ok("drop_fds");
  producer.leave();
  ASSERT_TRUE(is_orphaned(consumer));
  consumer.ok("import", {{"key", key}});
  consumer.ok("pattern", {{"first", 5}});
  consumer.ok("claim", {{"name", "kv"}});
  consumer.leave();
}

TEST_P(Succession, AHandleOfAFormerOwnerIsGone) {
  Actor owner = actor();
  Actor heir = actor();
  shared(owner, kLong);
  owner.ok("close");
  ASSERT_TRUE(is_orphaned(heir));
  heir.ok("claim", {{"name", "kv"}});
  EXPECT_EQ(owner.call("withdraw").status, HB_GONE);
  EXPECT_EQ(owner.call("publish", {{"step", 1}}).status, HB_GONE);
  EXPECT_EQ(owner.call("ticket").status, HB_GONE);
  EXPECT_EQ(heir.ok("list").text("names"), "kv");
  heir.leave();
  owner.leave();
}

TEST_P(Succession, WhatIsReplacedIsStaleAndTheNameIsNeverFree) {
  Actor owner = actor();
  Actor consumer = actor();
  const std::string old_key = shared(owner, 0).text("key");
  consumer.ok("import", {{"name", "kv"}});
  owner.ok("objects", {{"fds", "g"}, {"count", 3}, {"first", 40}});
  EXPECT_EQ(owner.call("export", {{"export", "n"}, {"fds", "g"}, {"name", "kv"}}).status, HB_EXISTS);
  const Answer next = owner.ok("export", {{"export", "n"}, {"fds", "g"}, {"name", "kv"}, {"replace", 1}});
  EXPECT_EQ(next.number("generation"), 2u);
  EXPECT_EQ(owner.call("withdraw").status, HB_GONE);  // the handle of the old one
  EXPECT_EQ(consumer.ok("current").number("current"), 0u);
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"key", old_key}}).status, HB_STALE);
  consumer.ok("import", {{"import", "n"}, {"name", "kv"}});
  consumer.ok("pattern", {{"import", "n"}, {"first", 40}});
  consumer.ok("pattern", {{"first", 5}});  // what is mapped stays what it was
  owner.ok("withdraw", {{"export", "n"}});
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"key", next.text("key")}}).status, HB_GONE);
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"key", old_key}}).status, HB_STALE);
  consumer.leave();
  owner.leave();
}

TEST_P(Succession, WhoWaitsForANameGetsWhatComes) {
  Actor owner = actor();
  Actor first = actor();
  Actor second = actor();
  shared(owner, 0);
  owner.ok("withdraw");
  first.start("import", {{"name", "kv"}, {"wait", 1}});
  second.start("wait_name", {{"name", "kv"}});
  ASSERT_TRUE(poll_until([&] {
    RawPeer admin = admin_peer();
    return admin.status().reply.waits() == 2;
  }));
  owner.ok("objects", {{"count", 3}, {"first", 9}});
  owner.ok("export", {{"export", "again"}, {"fds", "f"}, {"name", "kv"}});
  EXPECT_EQ(first.finish().status, HB_OK);
  EXPECT_EQ(second.finish().status, HB_OK);
  first.ok("pattern", {{"first", 9}});
  // Nobody comes: the deadline ends it.
  EXPECT_EQ(first.call("import", {{"import", "x"}, {"name", "none"}, {"wait", 1}, {"timeout_ms", 50}}).status,
            HB_TIMEOUT);
  for (Actor* one : {&owner, &first, &second}) one->leave();
}

// ---- persist, a right --------------------------------------------------------------------------

const std::string kEverything = "[[rule]]\nallow = \"all\"\n";

class Persist : public DaemonTest {
 protected:
  static DaemonOptions allowing(const std::string& policy) {
    DaemonOptions options;
    options.policy = policy;
    options.store = true;
    return options;
  }
  explicit Persist(const std::string& policy = "") : DaemonTest(allowing(policy)) {}
};
class PersistAllowed : public Persist {
 protected:
  PersistAllowed() : Persist(kEverything + "uid = [" + std::to_string(::geteuid()) + "]\n") {}
};
class PersistOfAGroup : public Persist {
 protected:
  PersistOfAGroup() : Persist(kEverything + "gid = [" + std::to_string(::getegid()) + "]\n") {}
};

TEST_F(Persist, IsRefusedWithoutTheRight) {
  Actor owner(daemon());
  owner.ok("memfds");
  const Answer refused =
      owner.call("export", {{"fds", "f"}, {"name", "kv"}, {"lifetime", HB_LIFETIME_PERSIST}});
  EXPECT_EQ(refused.status, HB_DENIED);
  EXPECT_NE(refused.message().find("check-policy --as"), std::string::npos) << refused;
  owner.leave();
}

TEST_F(PersistAllowed, LivesOnUntilItIsWithdrawn) {
  Actor owner(daemon());
  owner.ok("memfds", {{"first", 4}});
  owner.ok("export", {{"fds", "f"}, {"name", "kv"}, {"lifetime", HB_LIFETIME_PERSIST}});
  owner.kill9();
  Actor heir(daemon());
  ASSERT_TRUE(poll_until([&] { return heir.ok("show", {{"name", "kv"}}).text("state") == "orphaned"; }));
  heir.ok("import", {{"name", "kv"}});
  heir.ok("pattern", {{"first", 4}});
  heir.ok("claim", {{"name", "kv"}, {"lifetime", HB_LIFETIME_PERSIST}});
  heir.ok("withdraw");
  heir.leave();
}

TEST_F(PersistOfAGroup, IsGivenToItsMembers) {
  Actor owner(daemon());
  owner.ok("memfds");
  owner.ok("export", {{"fds", "f"}, {"name", "kv"}, {"lifetime", HB_LIFETIME_PERSIST}});
  owner.ok("withdraw");
  owner.leave();
}

}  // namespace
}  // namespace hb::test
