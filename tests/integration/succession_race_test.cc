// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Restarts, many of them: of consumers of a large export, and of producers of one name.
#include <sys/resource.h>

#include <list>

#include "hipbroker/hipbroker.h"
#include "support/actor.h"
#include "support/fixture.h"
#include "support/memfd.h"

namespace hb::test {
namespace {

class SuccessionRace : public DaemonTest {};

TEST_F(SuccessionRace, S1_ALargeExportOutlivesItsOwnerAndEveryConsumer) {
  // 18,000 where the descriptors allow it, else as many as they do: what is left of the limit is the
  // daemon's.
  Actor owner(daemon());
  rlimit descriptors{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &descriptors), 0);
  const std::uint64_t limit = descriptors.rlim_max;
  const std::uint64_t chunks = limit >= 19'000 ? 18'000 : limit - 600;
  owner.ok("limit", {{"nofile", limit}});
  RecordProperty("chunks", static_cast<int>(chunks));
  owner.ok("memfds", {{"count", chunks}, {"first", 7}});
  const std::string key =
      owner
          .ok("export",
              {{"fds", "f"}, {"name", "kv"}, {"lifetime", HB_LIFETIME_LINGER}, {"linger_ms", 3'600'000}})
          .text("key");
  owner.ok("drop_fds");
  const std::size_t held = daemon().fd_count();
  for (int restart = 0; restart < 20; ++restart) {
    Actor consumer(daemon());
    consumer.ok("import", {{"key", key}});
    EXPECT_EQ(consumer.ok("show", {{"name", "kv"}}).number("leases"), 1u);
    if (restart == 0 || restart == 19) consumer.ok("pattern", {{"first", 7}});
    consumer.kill9();
    EXPECT_TRUE(poll_until([&] { return owner.ok("show", {{"name", "kv"}}).number("leases") == 0; }));
    expect_fds(held, "after consumer " + std::to_string(restart));
  }
  Actor consumer(daemon());
  consumer.ok("import", {{"key", key}});
  owner.kill9();
  EXPECT_EQ(consumer.ok("told").text("events"), "owner-died");
  consumer.ok("pattern", {{"first", 7}});
  Actor heir(daemon());
  const Answer claimed = heir.ok("claim", {{"key", key}});
  EXPECT_EQ(claimed.number("bytes"), chunks * kPage);
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"key", key}}).status, HB_STALE);
  consumer.ok("close_import");
  consumer.ok("import", {{"key", claimed.text("key")}});
  consumer.ok("pattern", {{"first", 7}});
  heir.ok("withdraw");
  consumer.leave();
  heir.leave();
}

TEST_F(SuccessionRace, B26_AConsumerSeesOneRunOrNone) {
  constexpr std::uint64_t kChunks = 16;
  constexpr std::uint64_t kRuns = 200;
  std::list<Actor> consumers;
  for (int i = 0; i < 4; ++i) {
    consumers.emplace_back(daemon());
    consumers.back().start("consume", {{"name", "x"}, {"chunks", kChunks}, {"timeout_ms", 300'000}});
  }
  for (std::uint64_t run = 1; run <= kRuns; ++run) {
    Actor producer(daemon());
    const bool lingers = run % 2 == 0;  // what follows replaces it; else there is nothing in between
    producer.ok("memfds", {{"count", kChunks}, {"first", run * kChunks}});
    // The dead one before may not have been seen to be dead.
    EXPECT_TRUE(poll_until([&] {
      const hb_status status =
          producer
              .call("export", {{"fds", "f"},
                               {"name", "x"},
                               {"meta", std::to_string(run)},
                               {"replace", 1},
                               {"lifetime", lingers ? HB_LIFETIME_LINGER : HB_LIFETIME_OWNER},
                               {"linger_ms", lingers ? 60'000 : 0}})
              .status;
      return status == HB_OK;
    })) << "run "
        << run;
    producer.kill9();
  }
  Actor last(daemon());
  last.ok("memfds", {{"count", kChunks}});
  EXPECT_TRUE(poll_until([&] {
    return last.call("export", {{"fds", "f"}, {"name", "x"}, {"meta", "last"}, {"replace", 1}}).status ==
           HB_OK;
  }));
  for (Actor& consumer : consumers) {
    const Answer seen = consumer.finish();
    EXPECT_EQ(seen.status, HB_OK) << seen;
    EXPECT_GT(seen.number("good"), 0u);
    consumer.leave();
  }
  last.leave();
}

}  // namespace
}  // namespace hb::test
