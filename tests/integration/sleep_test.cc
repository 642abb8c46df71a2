// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// An engine sleeps: its memory goes back to the system, the importers give way, and all come back at the same
// addresses with the same access.
#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

class Sleeping : public EveryMemory {
 protected:
  static constexpr std::uint64_t kChunks = 3;
  Answer export_kv(Actor& producer) {
    producer.ok("alloc", {{"bytes", kChunks * unit()}, {"chunk", unit()}, {"host", HB_HOST_PREFER}});
    producer.ok("fill", {{"mem", "m"}, {"seed", 1}});
    return producer.ok("export", {{"mem", "m"}, {"name", "kv"}});
  }
  static Answer import_kv(Actor& consumer, const std::string& import = "i") {
    Answer got = consumer.ok("import", {{"import", import}, {"name", "kv"}, {"host", HB_HOST_PREFER}});
    consumer.ok("check", {{"import", import}, {"seed", 1}});
    consumer.ok("await");
    return got;
  }
};
HB_EVERY_MEMORY(Sleeping);

TEST_P(Sleeping, VllmSleepMode_MemoryIsGivenBackAndAllComeBackWhereTheyWere) {
  Actor producer = actor();
  Actor a = actor();
  Actor b = actor();
  const std::size_t alone = daemon().fd_count();
  const Answer made = export_kv(producer);
  const Answer mine[] = {import_kv(a), import_kv(b)};
  for (int nap = 0; nap < 2; ++nap) {
    const std::uint64_t layout = 2 + 2 * static_cast<std::uint64_t>(nap);
    producer.start("suspend", {{"wait_ms", kWatchdogNs / 1'000'000}});
    for (Actor* importer : {&a, &b}) {
      const Answer told = importer->ok("await", {{"kind", "suspended"}});
      EXPECT_EQ(told.text("told"), "suspended");
      EXPECT_EQ(told.number("layout"), layout);
      EXPECT_EQ(importer->ok("current").number("current"), 0u);
      EXPECT_FALSE(producer.answered());  // it waits for the last one
      importer->ok("unmap");
      EXPECT_EQ(importer->ok("look").number("asleep"), 1u);
      EXPECT_EQ(importer->ok("stats").number("mapped_bytes"), 0u);
      EXPECT_EQ(importer->ok("cpu_reads").number("reads"), 0u);
    }
    const Answer suspended = producer.finish();
    ASSERT_EQ(suspended.status, HB_OK) << suspended;
    EXPECT_EQ(suspended.number("holders"), 0u);
    EXPECT_EQ(suspended.number("version"), layout);
    producer.ok("sleep_memory");
    if (on_gpu()) {
      for (Actor* each : {&producer, &a, &b}) {
        const Answer counts = each->ok("control");
        for (const char* what : {"device_bytes", "handles", "mappings"})
          EXPECT_EQ(counts.number(what), 0u) << what;
      }
    }
    expect_fds(alone + 2, "asleep");  // the two subscriptions alone
    EXPECT_EQ(a.call("import", {{"import", "new"}, {"name", "kv"}}).status, HB_SUSPENDED);
    const Answer early = a.call("refresh");
    EXPECT_EQ(early.status, HB_SUSPENDED) << early;
    EXPECT_EQ(early.number("asleep"), 1u);

    producer.ok("wake_memory");
    const auto seed = static_cast<std::uint64_t>(nap) + 7;
    producer.ok("fill", {{"mem", "m"}, {"seed", seed}});
    const Answer resumed = producer.ok("resume", {{"mem", "m"}});
    EXPECT_EQ(resumed.number("layout"), layout + 1);
    EXPECT_EQ(resumed.number("bytes"), kChunks * unit());
    int which = 0;
    for (Actor* importer : {&a, &b}) {
      const Answer& was = mine[which++];
      const Answer told = importer->ok("await", {{"kind", "resumed"}});
      EXPECT_EQ(told.text("told"), "resumed");
      const Answer back = importer->ok("refresh");
      EXPECT_EQ(back.number("woken"), 1u);
      EXPECT_EQ(back.number("asleep"), 0u);
      EXPECT_EQ(back.number("ptr"), was.number("ptr"));
      EXPECT_EQ(back.number("host_granted"), was.number("host_granted"));
      EXPECT_EQ(back.text("peers"), was.text("peers"));
      EXPECT_EQ(importer->ok("cpu_reads").number("reads"), was.number("host_granted"));
      importer->ok("check", {{"import", "i"}, {"seed", seed}});
      EXPECT_EQ(importer->ok("current").number("current"), 1u);
      EXPECT_EQ(importer->ok("stats").number("mapped_bytes"), kChunks * unit());
    }
    // The key is the old one.
    a.ok("import", {{"import", "new"}, {"key", made.text("key")}});
    a.ok("check", {{"import", "new"}, {"seed", seed}});
    a.ok("close_import", {{"import", "new"}});
  }
  for (Actor* importer : {&a, &b}) EXPECT_EQ(importer->ok("stats").number("failed_frees"), 0u);
}

TEST_P(Sleeping, WhoIgnoresItIsNamedAndGoesByItsEnd) {
  Actor producer = actor();
  Actor a = actor();
  Actor b = actor();
  Actor c = actor();
  export_kv(producer);
  for (Actor* importer : {&a, &b, &c}) import_kv(*importer);
  EXPECT_EQ(producer.ok("suspend").number("holders"), 3u);
  a.ok("unmap");
  a.ok("unmap");  // says so again
  c.ok("close_import");
  a.ok("ping");
  c.ok("ping");
  const Answer left = producer.ok("suspend", {{"wait_ms", 1}});
  EXPECT_EQ(left.number("holders"), 1u);
  EXPECT_EQ(left.text("pids"), std::to_string(b.pid()));
  b.ok("check", {{"import", "i"}, {"seed", 1}});  // nobody can take it from outside
  producer.start("suspend", {{"wait_ms", kWatchdogNs / 1'000'000}});
  b.kill9();
  const Answer none = producer.finish();
  EXPECT_EQ(none.status, HB_OK) << none;
  EXPECT_EQ(none.number("holders"), 0u);
}

TEST_P(Sleeping, OneUnmapIsForAllUsersOfTheMappingAndWakingToo) {
  Actor producer = actor();
  Actor a = actor();
  export_kv(producer);
  import_kv(a);
  import_kv(a, "same");
  producer.ok("suspend");
  a.ok("unmap");
  EXPECT_EQ(a.ok("look", {{"import", "same"}}).number("asleep"), 1u);
  EXPECT_EQ(producer.ok("suspend", {{"wait_ms", kWatchdogNs / 1'000'000}}).number("holders"), 0u);
  producer.ok("sleep_memory");
  producer.ok("wake_memory");
  producer.ok("fill", {{"mem", "m"}, {"seed", 4}});
  producer.ok("resume", {{"mem", "m"}});
  // Stacks of threads may get addresses that are free meanwhile.
  EXPECT_EQ(a.ok("refresh", {{"threads", is({"7.2"}) ? 1 : 3}}).number("asleep"), 0u);
  a.ok("check", {{"import", "same"}, {"seed", 4}});
  EXPECT_EQ(a.ok("stats").number("fetched_fds"), 2 * kChunks);
  a.ok("close_import");
  a.ok("close_import", {{"import", "same"}});
}

TEST_P(Sleeping, WhatIsSuspendedIsTheOwnersAndComesBackWithAnyMemoryOfTheSameSizes) {
  Actor producer = actor();
  Actor a = actor();
  export_kv(producer);
  import_kv(a);
  EXPECT_EQ(producer.call("resume", {{"mem", "m"}}).status, HB_INVALID);
  producer.ok("suspend");
  EXPECT_EQ(producer.ok("withdraw", {{"mem", "m"}, {"bytes", unit()}}).number("exports"), 0u);
  EXPECT_EQ(producer.call("replace", {{"chunk", 0}, {"mem", "m"}}).status, HB_SUSPENDED);
  producer.ok("free");
  producer.ok("alloc", {{"mem", "less"}, {"bytes", 2 * unit()}, {"chunk", unit()}});
  const Answer less = producer.call("resume", {{"mem", "less"}});
  EXPECT_EQ(less.status, HB_MISMATCH) << less;
  EXPECT_EQ(a.call("refresh").status, HB_SUSPENDED);
  a.ok("check", {{"import", "i"}, {"seed", 1}});  // it has not unmapped, and keeps what it has
  producer.ok("alloc", {{"mem", "n"}, {"bytes", kChunks * unit()}, {"chunk", unit()}});
  producer.ok("fill", {{"mem", "n"}, {"seed", 5}});
  producer.ok("resume", {{"mem", "n"}});
  // Who never unmapped gets all of it replaced in its place.
  EXPECT_EQ(a.ok("refresh").number("replaced"), kChunks);
  a.ok("check", {{"import", "i"}, {"seed", 5}});
  EXPECT_EQ(producer.ok("withdraw", {{"mem", "n"}, {"bytes", unit()}}).number("exports"), 1u);
}

TEST_P(Sleeping, ASleepEndsWithTheOwnerAndTheHandleIsClosedAsAlways) {
  Actor producer = actor();
  Actor a = actor();
  export_kv(producer);
  import_kv(a);
  producer.ok("suspend");
  a.ok("unmap");
  producer.kill9();
  a.ok("await", {{"kind", "owner-died"}});
  const Answer gone = a.call("refresh");
  EXPECT_EQ(gone.status, HB_GONE) << gone;
  EXPECT_EQ(gone.number("asleep"), 1u);
  a.ok("close_import");
}

// Where a reservation pins memory its addresses are free while it sleeps.
class GpuSleeping : public Sleeping {};
HB_EVERY_GPU_VERSION(GpuSleeping);

TEST_P(GpuSleeping, AddressesThatAnotherHasAreWaitedForByTheCallerAndNothingIsHalfMapped) {
  ProcessOptions options;
  options.env = {{"FAKE_HIP_SWITCHES", "reuse_addresses=1"}};
  Actor producer = actor();
  Actor a = actor(options);
  export_kv(producer);
  const Answer mine = import_kv(a);
  producer.ok("suspend");
  a.ok("unmap");
  const Answer other = a.ok("alloc", {{"mem", "squatter"}, {"bytes", kChunks * unit()}, {"chunk", unit()}});
  EXPECT_EQ(other.number("ptr") == mine.number("ptr"), is({"7.2"}));
  producer.ok("sleep_memory");
  producer.ok("wake_memory");
  producer.ok("fill", {{"mem", "m"}, {"seed", 6}});
  producer.ok("resume", {{"mem", "m"}});
  const Answer before = a.ok("control");
  if (is({"7.2"})) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      const Answer taken = a.call("refresh");
      EXPECT_EQ(taken.status, HB_ADDRESS) << taken;
      EXPECT_EQ(taken.number("asleep"), 1u);
      const Answer after = a.ok("control");
      for (const char* what : {"handles", "imports", "mappings", "reservations"})
        EXPECT_EQ(after.number(what), before.number(what)) << what;
    }
    // What lies there is the program's own: exported like any other.
    a.ok("export", {{"mem", "squatter"}, {"name", "own"}});
    a.ok("withdraw");
    a.ok("free", {{"mem", "squatter"}});
  }
  EXPECT_EQ(a.ok("refresh").number("ptr"), mine.number("ptr"));
  a.ok("check", {{"import", "i"}, {"seed", 6}});
}

TEST_P(GpuSleeping, AWakeThatFailsHalfWaySleepsOnAndMayBeTriedAgain) {
  Actor producer = actor();
  Actor a = actor();
  export_kv(producer);
  const Answer mine = import_kv(a);
  producer.ok("suspend");
  a.ok("unmap");
  const Answer asleep = a.ok("control");
  producer.ok("resume", {{"mem", "m"}});
  for (const char* fail : {"fail=hipMemMap:1", "fail=hipMemMap:3", "fail=hipMemSetAccess:2"}) {
    a.ok("control", {{"text", fail}});
    const Answer failed = a.call("refresh");
    a.ok("control", {{"text", "fail="}});
    EXPECT_NE(failed.status, HB_OK) << fail;
    EXPECT_EQ(failed.number("asleep"), 1u);
    const Answer after = a.ok("control");
    for (const char* what : {"handles", "imports", "mappings", "reservations"})
      EXPECT_EQ(after.number(what), asleep.number(what)) << what << " after " << fail;
  }
  EXPECT_EQ(a.ok("refresh").number("ptr"), mine.number("ptr"));
  a.ok("check", {{"import", "i"}, {"seed", 1}});
}

}  // namespace
}  // namespace hb::test
