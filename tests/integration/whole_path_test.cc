// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A producer and a consumer in different processes, through the library and the daemon, with every kind of
// memory.
#include <signal.h>

#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class WholePath : public EveryMemory {
 protected:
  // 6 MiB in three chunks, every byte known, exported as "kv".
  Answer export_kv(Actor& producer, Message more = {}) {
    producer.ok("alloc", {{"bytes", 6 * kMiB}, {"chunk", 2 * kMiB}});
    producer.ok("fill", {{"mem", "m"}, {"seed", 1}});
    more.emplace("mem", "m");
    more.emplace("name", "kv");
    return producer.ok("export", more);
  }
};
HB_EVERY_MEMORY(WholePath);

// Names and keys are the same whatever they name.
class NamesAndKeys : public DaemonTest {};

TEST_P(WholePath, ThreeChunksByNameAndBack) {
  Actor producer = actor();
  Actor consumer = actor();
  const Answer exported = export_kv(producer, {{"meta", "layout=nhd"}});
  EXPECT_EQ(exported.number("bytes"), 6 * kMiB);

  const Answer imported = consumer.ok("import", {{"name", "kv"}, {"access", HB_ACCESS_READ_WRITE}});
  EXPECT_EQ(imported.number("bytes"), 6 * kMiB);
  EXPECT_EQ(imported.number("export_bytes"), 6 * kMiB);
  EXPECT_EQ(imported.number("chunks"), 3u);
  EXPECT_EQ(imported.text("meta"), "layout=nhd");
  EXPECT_EQ(imported.number("export_id"), exported.number("export_id"));
  EXPECT_EQ(imported.number("generation"), exported.number("generation"));
  EXPECT_EQ(imported.number("kind"), std::uint64_t{HB_KIND_MEMFD});
  EXPECT_EQ(imported.number("owner"), ::geteuid());
  consumer.ok("check", {{"import", "i"}, {"seed", 1}});

  consumer.ok("fill", {{"import", "i"}, {"seed", 2}});
  producer.ok("check", {{"mem", "m"}, {"seed", 2}});

  EXPECT_EQ(producer.ok("who", {{"name", "kv"}}).text("pids"), std::to_string(consumer.pid()));
  const Answer listed = consumer.ok("list");
  EXPECT_EQ(listed.text("names"), "kv");
  EXPECT_EQ(listed.number("0.bytes"), 6 * kMiB);
  EXPECT_EQ(listed.number("0.leases"), 1u);
  EXPECT_EQ(listed.number("0.pid"), static_cast<std::uint64_t>(producer.pid()));
  consumer.leave();
  producer.leave();
}

TEST_P(WholePath, AnImporterThatWaitsForANameGetsItOnceItExists) {
  Actor producer = actor();
  Actor consumer = actor();
  consumer.start("import", {{"name", "kv"}, {"wait", 1}});
  RawPeer admin = admin_peer();
  ASSERT_TRUE(poll_until([&] { return admin.status().reply.waits() == 1; }));
  EXPECT_FALSE(consumer.answered());
  export_kv(producer);
  const Answer imported = consumer.finish();
  EXPECT_EQ(imported.status, HB_OK) << imported;
  consumer.ok("check", {{"import", "i"}, {"seed", 1}});
  consumer.ok("wait_name", {{"name", "kv"}});
  EXPECT_EQ(consumer.call("wait_name", {{"name", "other"}, {"timeout_ms", 30}}).status, HB_TIMEOUT);
  EXPECT_EQ(consumer.call("import", {{"name", "other"}, {"wait", 1}, {"timeout_ms", 30}}).status, HB_TIMEOUT);
  EXPECT_EQ(consumer.call("import", {{"name", "other"}}).status, HB_NOT_FOUND);
  EXPECT_TRUE(poll_until([&] { return admin.status().reply.waits() == 0; }));
}

TEST_P(WholePath, AnonymousByKeyAndSubRangeKeys) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("alloc", {{"bytes", 6 * kMiB}, {"chunk", 2 * kMiB}});
  producer.ok("fill", {{"mem", "m"}, {"seed", 7}});
  const std::string key = producer.ok("export", {{"mem", "m"}}).text("key");
  const Answer whole = consumer.ok("import", {{"import", "whole"}, {"key", key}});
  EXPECT_EQ(whole.number("bytes"), 6 * kMiB);
  consumer.ok("check", {{"import", "whole"}, {"seed", 7}});

  // Over the border of two chunks, and not at a page's start.
  const std::uint64_t at = 2 * kMiB - 5000;
  const std::string part_key = producer.ok("subkey", {{"offset", at}, {"bytes", 10'000}}).text("key");
  const Answer part = consumer.ok("import", {{"import", "part"}, {"key", part_key}});
  EXPECT_EQ(part.number("bytes"), 10'000u);
  EXPECT_EQ(part.number("offset"), at);
  EXPECT_EQ(part.number("chunks"), 2u);
  consumer.ok("check", {{"import", "part"}, {"seed", 7}, {"at", at}});

  // A part of a part, and a key made by an importer.
  const Answer inner =
      consumer.ok("import", {{"import", "inner"}, {"key", part_key}, {"offset", 8}, {"bytes", 4096}});
  EXPECT_EQ(inner.number("offset"), at + 8);
  consumer.ok("check", {{"import", "inner"}, {"seed", 7}, {"at", at + 8}});
  const std::string made =
      consumer.ok("subkey", {{"import", "whole"}, {"offset", 8192}, {"bytes", 64}}).text("key");
  EXPECT_EQ(producer.ok("import", {{"import", "own"}, {"key", made}}).number("offset"), 8192u);
  EXPECT_EQ(consumer.call("import", {{"key", part_key}, {"offset", 9'999}, {"bytes", 2}}).status, HB_RANGE);
  EXPECT_EQ(producer.call("subkey", {{"offset", 6 * kMiB - 1}, {"bytes", 2}}).status, HB_RANGE);
  consumer.leave();
  producer.leave();
}

TEST_P(WholePath, AtAWishedAddress) {
  Actor producer = actor();
  Actor consumer = actor();
  export_kv(producer);
  // Free under the sanitizers too, which take most addresses for themselves.
  const std::uint64_t wish = 0x7e90'0000'0000;
  EXPECT_EQ(consumer.ok("import", {{"name", "kv"}, {"address", wish}}).number("ptr"), wish);
  consumer.ok("check", {{"import", "i"}, {"seed", 1}});
  const Answer part = consumer.ok("import", {{"import", "part"},
                                             {"name", "kv"},
                                             {"offset", 5000},
                                             {"bytes", 100},
                                             {"address", wish + 0x1000'0000 + 5000 % unit()}});
  EXPECT_EQ(part.number("ptr"), wish + 0x1000'0000 + 5000 % unit());
  EXPECT_EQ(
      consumer
          .call("import", {{"name", "kv"}, {"offset", 4096}, {"bytes", 100}, {"address", wish + 0x2000'0001}})
          .status,
      HB_RANGE);
  // Taken: by the first import, and nothing of it may have been touched.
  EXPECT_EQ(consumer
                .call("import", {{"import", "x"},
                                 {"name", "kv"},
                                 {"access", HB_ACCESS_READ_WRITE},
                                 {"address", wish + 2 * kMiB}})
                .status,
            HB_ADDRESS);
  consumer.ok("check", {{"import", "i"}, {"seed", 1}});
  EXPECT_EQ(producer.ok("who", {{"name", "kv"}}).number("count"), 2u);
}

TEST_P(WholePath, InTheExportingProcessAsSecondMappingOrAlias) {
  Actor producer = actor();
  const Answer exported = export_kv(producer);
  const Answer second =
      producer.ok("import", {{"import", "second"}, {"name", "kv"}, {"access", HB_ACCESS_READ_WRITE}});
  const Answer alias = producer.ok(
      "import",
      {{"import", "alias"}, {"key", exported.text("key")}, {"access", HB_ACCESS_READ_WRITE}, {"alias", 1}});
  EXPECT_NE(second.number("ptr"), alias.number("ptr"));
  producer.ok("poke", {{"import", "second"}, {"offset", 5 * kMiB}, {"value", 77}});
  EXPECT_EQ(producer.ok("peek", {{"mem", "m"}, {"offset", 5 * kMiB}}).number("value"), 77u);
  EXPECT_EQ(producer.ok("peek", {{"import", "alias"}, {"offset", 5 * kMiB}}).number("value"), 77u);
  producer.ok("close_import", {{"import", "alias"}});
  // The owner's memory is still there.
  EXPECT_EQ(producer.ok("peek", {{"mem", "m"}, {"offset", 5 * kMiB}}).number("value"), 77u);
  producer.leave();
}

TEST_P(WholePath, ReadOnlyRefusesWriting) {
  Actor producer = actor();
  Actor consumer = actor();
  export_kv(producer);
  consumer.ok("import", {{"name", "kv"}, {"access", HB_ACCESS_READ}});
  EXPECT_EQ(consumer.ok("try_write", {{"import", "i"}}).number("signal"), std::uint64_t{SIGSEGV});
  consumer.ok("check", {{"import", "i"}, {"seed", 1}});
  // The control: with write access nothing is raised.
  consumer.ok("import", {{"import", "w"}, {"name", "kv"}, {"access", HB_ACCESS_READ_WRITE}});
  EXPECT_EQ(consumer.ok("try_write", {{"import", "w"}}).number("signal"), 0u);
}

TEST_P(WholePath, MaxAccessReadKeepsEvenTheOwnersUidFromWriting) {
  Actor producer = actor();
  Actor consumer = actor();
  export_kv(producer, {{"max_access", HB_ACCESS_READ}});
  EXPECT_EQ(consumer.call("import", {{"name", "kv"}, {"access", HB_ACCESS_READ_WRITE}}).status, HB_READ_ONLY);
  consumer.ok("import", {{"name", "kv"}, {"access", HB_ACCESS_READ}});
}

// A second import is the first one: same pointer, no lease, and no word with the daemon, which is stopped.
TEST_P(WholePath, ACachedImportNeedsNoDaemon) {
  Actor producer = actor();
  Actor consumer = actor();
  const Answer exported = export_kv(producer);
  const Answer first = consumer.ok("import", {{"import", "a"}, {"key", exported.text("key")}});
  daemon().process().signal(SIGSTOP);
  ASSERT_TRUE(poll_until([&] { return process_state(daemon().pid()) == 'T'; }));
  const Answer again = consumer.ok("import", {{"import", "b"}, {"key", exported.text("key")}});
  daemon().process().signal(SIGCONT);
  EXPECT_EQ(again.number("ptr"), first.number("ptr"));
  EXPECT_EQ(producer.ok("who", {{"name", "kv"}}).number("count"), 1u);
  const Answer stats = consumer.ok("stats");
  EXPECT_EQ(stats.number("imports"), 1u);
  EXPECT_EQ(stats.number("cache_hits"), 1u);
  EXPECT_EQ(stats.number("mapped_bytes"), 6 * kMiB);
  consumer.ok("close_import", {{"import", "a"}});
  consumer.ok("check", {{"import", "b"}, {"seed", 1}});
  EXPECT_EQ(producer.ok("who", {{"name", "kv"}}).number("count"), 1u);
  consumer.ok("close_import", {{"import", "b"}});
  EXPECT_TRUE(poll_until([&] { return producer.ok("who", {{"name", "kv"}}).number("count") == 0; }));
}

TEST_P(WholePath, KeptImportsHitAfterTheirLastCloseButNeverAfterTheEnd) {
  Actor producer = actor();
  Actor consumer = process();
  consumer.ok("open", {{"socket", daemon().socket()}, {"cache", 64 * kMiB}});
  const Answer exported = export_kv(producer);
  const std::string key = exported.text("key");
  const std::uint64_t ptr = consumer.ok("import", {{"key", key}}).number("ptr");
  consumer.ok("close_import");
  EXPECT_EQ(consumer.ok("import", {{"key", key}}).number("ptr"), ptr);
  EXPECT_EQ(consumer.ok("stats").number("cache_hits"), 1u);
  EXPECT_EQ(consumer.ok("current").number("current"), 1u);
  consumer.ok("close_import");
  producer.ok("withdraw");
  EXPECT_EQ(consumer.call("import", {{"key", key}}).status, HB_GONE);
  EXPECT_EQ(consumer.ok("stats").number("cache_hits"), 1u);
  consumer.leave();
}

TEST_P(WholePath, WithdrawnIsGoneButWhatIsMappedStays) {
  Actor producer = actor();
  Actor consumer = actor();
  const Answer exported = export_kv(producer);
  consumer.ok("import", {{"key", exported.text("key")}});
  EXPECT_EQ(consumer.ok("current").number("current"), 1u);
  const Answer ended = producer.ok("withdraw");
  EXPECT_EQ(ended.number("exports"), 1u);
  EXPECT_EQ(ended.number("holders"), 1u);
  expect_baseline("after withdraw answered", 2);
  EXPECT_EQ(consumer.ok("current").number("current"), 0u);
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"key", exported.text("key")}}).status, HB_GONE);
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"name", "kv"}}).status, HB_NOT_FOUND);
  consumer.ok("check", {{"import", "i"}, {"seed", 1}});
  EXPECT_EQ(producer.ok("list").number("count"), 0u);
  // The name is free at once.
  const Answer next = producer.ok("export", {{"export", "e2"}, {"mem", "m"}, {"name", "kv"}});
  EXPECT_EQ(next.number("generation"), exported.number("generation") + 1);
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"key", exported.text("key")}}).status, HB_STALE);
  EXPECT_EQ(producer.ok("stats").number("withdrawn"), 1u);
  consumer.leave();
  producer.leave();
}

TEST_P(WholePath, WithdrawByIdByRangeAndAll) {
  Actor producer = actor();
  producer.ok("alloc", {{"bytes", 8 * kMiB}, {"chunk", 2 * kMiB}});
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 4; ++i)
    ids.push_back(producer
                      .ok("export", {{"export", "e" + std::to_string(i)},
                                     {"name", "part/" + std::to_string(i)},
                                     {"mem", "m"},
                                     {"offset", i * 2 * kMiB},
                                     {"bytes", 2 * kMiB}})
                      .number("export_id"));
  EXPECT_EQ(producer.call("export", {{"export", "x"}, {"name", "part/0"}, {"mem", "m"}}).status, HB_EXISTS);
  EXPECT_EQ(producer.ok("withdraw", {{"id", ids[0]}}).number("exports"), 1u);
  EXPECT_EQ(producer.call("withdraw", {{"id", ids[0]}}).status, HB_GONE);
  EXPECT_EQ(producer.call("withdraw", {{"id", ids[3] + 77}}).status, HB_NOT_FOUND);
  EXPECT_EQ(producer.ok("list").text("names"), "part/1 part/2 part/3");
  // One byte of each of the two in the middle.
  EXPECT_EQ(producer.ok("withdraw", {{"mem", "m"}, {"offset", 4 * kMiB - 1}, {"bytes", 2}}).number("exports"),
            2u);
  EXPECT_EQ(producer.ok("list").text("names"), "part/3");
  EXPECT_EQ(producer.ok("withdraw", {{"mem", "m"}, {"offset", 0}, {"bytes", kMiB}}).number("exports"), 0u);
  EXPECT_EQ(producer.ok("withdraw", {{"all", 1}}).number("exports"), 1u);
  EXPECT_EQ(producer.ok("withdraw", {{"all", 1}}).number("exports"), 0u);
  expect_baseline("after all was withdrawn", 1);
}

TEST_P(WholePath, DescriptorsWithoutMapping) {
  Actor producer = actor();
  Actor consumer = actor();
  const std::uint64_t size = 4 * unit();
  producer.ok("objects", {{"count", 5}, {"bytes", size}, {"first", 40}});
  producer.ok("export", {{"fds", "f"}, {"bytes", size}, {"name", "raw"}});
  const std::uint64_t before = consumer.ok("fds").number("count");
  const Answer got = consumer.ok("acquire", {{"name", "raw"}});
  EXPECT_EQ(got.number("fd_count"), 5u);
  EXPECT_EQ(got.number("handle_chunks"), 5u);
  EXPECT_EQ(got.number("ptr"), 0u);
  consumer.ok("handle_pattern", {{"first", 40}});
  // Part: the chunks it touches.
  const Answer part =
      consumer.ok("acquire", {{"handles", "part"}, {"name", "raw"}, {"offset", size + 8}, {"bytes", size}});
  EXPECT_EQ(part.number("fd_count"), 2u);
  EXPECT_EQ(part.number("first_offset"), size);
  consumer.ok("handle_pattern", {{"handles", "part"}, {"first", 41}});
  EXPECT_EQ(producer.ok("who", {{"name", "raw"}}).number("count"), 2u);
  consumer.ok("release", {{"handles", "part"}});
  consumer.ok("release");
  // A session may have kept one descriptor, its page of validity words.
  EXPECT_LE(consumer.ok("fds").number("count"), before + 1);
  EXPECT_TRUE(poll_until([&] { return producer.ok("who", {{"name", "raw"}}).number("count") == 0; }));
  consumer.leave();
}

TEST_F(NamesAndKeys, NamesAtTheLimitAndOtherScripts) {
  Actor producer(daemon());
  Actor consumer(daemon());
  producer.ok("memfds");
  const std::string longest(255, 'n');
  for (const std::string& name :
       {longest, std::string("größe/模型/ключ"), std::string("a"), std::string("with blank = 5%")}) {
    producer.ok("export", {{"export", name}, {"fds", "f"}, {"name", name}});
    EXPECT_EQ(consumer.ok("import", {{"import", name}, {"name", name}}).number("bytes"), kPage);
  }
  for (const std::string& name :
       {std::string(256, 'n'), std::string(""), std::string("a//b"), std::string("a/../b"),
        std::string("a\tb"), std::string("a\x80"), std::string("/a"), std::string("a/")})
    EXPECT_EQ(producer.call("export", {{"export", "bad"}, {"fds", "f"}, {"name", name}}).status, HB_INVALID)
        << name;
  EXPECT_EQ(
      producer
          .ok("export", {{"export", "meta"}, {"fds", "f"}, {"name", "m"}, {"meta", std::string(4096, 'm')}})
          .status,
      HB_OK);
  EXPECT_EQ(consumer.ok("import", {{"name", "m"}}).text("meta"), std::string(4096, 'm'));
  EXPECT_NE(
      producer.call("export", {{"export", "meta2"}, {"fds", "f"}, {"meta", std::string(4097, 'm')}}).status,
      HB_OK);
}

TEST_F(NamesAndKeys, TheBrokerIdSaysWhereAKeyCanBeOpened) {
  Actor producer(daemon());
  producer.ok("memfds");
  const std::string text = producer.ok("export", {{"fds", "f"}}).text("key");
  hb_key key{};
  ASSERT_EQ(hb_key_from_text(text.c_str(), &key, nullptr), HB_OK);
  hb_key_info info = HB_KEY_INFO_INIT;
  ASSERT_EQ(hb_key_inspect(&key, &info, nullptr), HB_OK);
  const Answer client = producer.ok("info");
  EXPECT_EQ(client.text("broker_id"),
            to_hex(std::string(reinterpret_cast<char*>(info.broker_id), sizeof info.broker_id)));
  EXPECT_EQ(client.number("uid"), ::geteuid());
  EXPECT_EQ(client.number("pid"), static_cast<std::uint64_t>(producer.pid()));
  EXPECT_EQ(client.number("admin"), 0u);
  const DaemonProcess other;
  Actor stranger(other);
  EXPECT_NE(stranger.ok("info").text("broker_id"), client.text("broker_id"));
  EXPECT_EQ(stranger.call("import", {{"key", text}}).status, HB_NOT_FOUND);
  stranger.leave();
}

}  // namespace
}  // namespace hb::test
