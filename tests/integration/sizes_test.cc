// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Sizes, offsets, order and identity of what is shared.
#include <fcntl.h>

#include <cstring>

#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class Sizes : public EveryMemory {};
HB_EVERY_MEMORY(Sizes);

// About descriptors as they come, not about memory: chunks that share an object or a page, openings of one
// file, pages of a reply. A GPU's runtime maps whole allocations and shows no descriptor of its own.
class Descriptors : public DaemonTest {};

TEST_P(Sizes, B03_EverySizeIsReportedExactly) {
  Actor producer = actor();
  Actor consumer = actor();
  const std::uint64_t sizes[] = {(1ull << 31) - unit(), 1ull << 31, (1ull << 32) + 2 * kMiB, 120ull << 30};
  int number = 0;
  for (const std::uint64_t size : sizes) {
    const std::string name = "size" + std::to_string(++number);
    producer.ok("objects", {{"fds", name}, {"bytes", size}, {"first", number}});
    EXPECT_EQ(producer.ok("export", {{"export", name}, {"fds", name}, {"bytes", size}, {"name", name}})
                  .number("bytes"),
              size);
    EXPECT_EQ(consumer.ok("list", {{"prefix", name}}).number("0.bytes"), size);
    const Answer shown = consumer.ok("show", {{"name", name}});
    EXPECT_EQ(shown.number("bytes"), size);
    EXPECT_EQ(shown.number("shown_total"), size);
    EXPECT_EQ(shown.number("object_bytes"), size);
    const Answer got = consumer.ok("acquire", {{"name", name}});
    EXPECT_EQ(got.number("bytes"), size);
    EXPECT_EQ(got.number("chunk_total"), size);
    consumer.ok("handle_pattern", {{"first", number}});
    consumer.ok("release");
    // At the end, and past it.
    EXPECT_EQ(
        consumer.ok("import", {{"import", "end"}, {"name", name}, {"offset", size - 4096}, {"bytes", 4096}})
            .number("offset"),
        size - 4096);
    EXPECT_EQ(consumer.ok("peek", {{"import", "end"}, {"offset", 4095}}).number("value"),
              static_cast<std::uint64_t>(number));
    consumer.ok("close_import", {{"import", "end"}});
    const Answer past = consumer.call("import", {{"name", name}, {"offset", size - 4096}, {"bytes", 8192}});
    EXPECT_EQ(past.status, HB_RANGE) << past;
    EXPECT_EQ(consumer.call("import", {{"name", name}, {"offset", size}, {"bytes", 1}}).status, HB_RANGE);
  }
  // The largest is mapped whole as well.
  consumer.ok("import", {{"name", "size4"}});
  consumer.ok("pattern", {{"chunk_bytes", 120ull << 30}, {"first", 4}});
  EXPECT_EQ(consumer.ok("stats").number("mapped_bytes"), 120ull << 30);
}

TEST_F(Descriptors, B03_SixtyOneThousandChunksOfOneObject) {
  Actor producer(daemon());
  Actor consumer(daemon());
  constexpr std::uint64_t kCount = 61'440;
  constexpr std::uint64_t kTotal = 128'849'018'880;
  producer.ok("memfds", {{"bytes", kTotal}});
  for (const std::uint64_t i : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{255}, kCount - 1})
    producer.ok("put", {{"index", 0}, {"offset", i * 2 * kMiB}, {"bytes", kPage}, {"number", i}});
  EXPECT_EQ(
      producer
          .ok("export", {{"fds", "f"}, {"index", 0}, {"count", kCount}, {"bytes", 2 * kMiB}, {"name", "big"}})
          .number("bytes"),
      kTotal);
  const Answer listed = consumer.ok("list");
  EXPECT_EQ(listed.number("0.bytes"), kTotal);
  EXPECT_EQ(listed.number("0.chunks"), kCount);
  EXPECT_EQ(listed.number("0.allocations"), 1u);
  const Answer shown = consumer.ok("show", {{"name", "big"}});
  EXPECT_EQ(shown.number("shown_chunks"), kCount);
  EXPECT_EQ(shown.number("shown_total"), kTotal);
  const Answer got = consumer.ok("acquire", {{"name", "big"}});
  EXPECT_EQ(got.number("handle_chunks"), kCount);
  EXPECT_EQ(got.number("chunk_total"), kTotal);
  // One object: however many pages it took, no more descriptors than pages.
  EXPECT_LE(got.number("fd_count"), kCount / 1024 + 1);
  const Answer imported = consumer.ok("import", {{"name", "big"}});
  EXPECT_EQ(imported.number("bytes"), kTotal);
  for (const std::uint64_t i : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{255}, kCount - 1}) {
    std::string want(8, '\0');
    std::memcpy(want.data(), &i, sizeof i);
    EXPECT_EQ(consumer.ok("peek", {{"import", "i"}, {"offset", i * 2 * kMiB}, {"count", 8}}).text("hex"),
              to_hex(want));
  }
}

TEST_P(Sizes, B15_EveryViewIntoOneAllocationReadsItsOwnBytes) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("objects", {{"bytes", 16 * kMiB}});
  const std::size_t before = daemon().fd_count();
  for (std::uint64_t i = 0; i < 4; ++i) {
    producer.ok("put", {{"index", 0}, {"offset", i * 4 * kMiB}, {"bytes", kMiB}, {"number", i + 1}});
    producer.ok("export", {{"export", "v" + std::to_string(i)},
                           {"fds", "f"},
                           {"index", 0},
                           {"from", i * 4 * kMiB},
                           {"bytes", kMiB},
                           {"name", "view" + std::to_string(i)}});
  }
  expect_fds(before + 1, "one allocation is held once");
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::string name = "view" + std::to_string(i);
    const Answer got = consumer.ok("acquire", {{"handles", name}, {"name", name}});
    EXPECT_EQ(got.number("object_offset"), i * 4 * kMiB);
    EXPECT_EQ(got.number("chunk_total"), kMiB);
    consumer.ok("handle_pattern", {{"handles", name}, {"first", i + 1}});
    consumer.ok("import", {{"import", name}, {"name", name}});
    EXPECT_EQ(consumer.ok("peek", {{"import", name}}).number("value"), i + 1);
    consumer.ok("pattern", {{"import", name}, {"chunk_bytes", kMiB}, {"first", i + 1}});
  }
  const std::uint64_t allocation = producer.ok("show", {{"name", "view0"}}).number("0.allocation");
  EXPECT_EQ(producer.ok("show", {{"name", "view3"}}).number("0.allocation"), allocation);
  for (const std::uint64_t from : {15 * kMiB + kPage, 16 * kMiB - kPage}) {
    const Answer past = producer.call(
        "export", {{"export", "past"}, {"fds", "f"}, {"index", 0}, {"from", from}, {"bytes", kMiB}});
    EXPECT_EQ(past.status, HB_RANGE) << past;
  }
}

TEST_F(Descriptors, B18_OneAllocationIsKnownUnderAllItsNames) {
  Actor producer(daemon());
  Actor consumer(daemon());
  RawPeer admin = admin_peer();
  producer.ok("memfds", {{"fds", "p"}, {"first", 1}});
  producer.ok("more", {{"fds", "q"}, {"from", "p"}, {"index", 0}, {"as", "dup"}});
  producer.ok("memfds", {{"fds", "r"}, {"first", 2}});
  producer.ok("more", {{"fds", "s"}, {"from", "p"}, {"index", 0}, {"as", "ro"}});
  const std::size_t before = daemon().fd_count();
  const auto share = [&](const std::string& name) {
    producer.ok("export", {{"export", name}, {"fds", name}, {"name", name}});
    return producer.ok("show", {{"name", name}}).number("0.allocation");
  };
  const std::uint64_t p = share("p");
  const std::uint64_t q = share("q");
  const std::uint64_t r = share("r");
  EXPECT_EQ(p, q);
  EXPECT_NE(p, r);
  expect_fds(before + 2, "allocations held");
  EXPECT_EQ(admin.status().reply.allocations(), 2u);
  EXPECT_EQ(admin.status().reply.bytes(), 2 * kPage);
  // The read-only opening is held apart, and nobody gets write through it.
  EXPECT_NE(share("s"), p);
  expect_fds(before + 3, "allocations held");
  EXPECT_EQ(consumer.call("import", {{"name", "s"}, {"access", HB_ACCESS_READ_WRITE}}).status, HB_READ_ONLY);
  consumer.ok("acquire", {{"name", "s"}});
  EXPECT_EQ(consumer.ok("write_handle").number("mode"), std::uint64_t{O_RDONLY});
  EXPECT_EQ(producer.call("export", {{"export", "s2"}, {"fds", "s"}, {"acl", "u:1002:3"}}).status,
            HB_READ_ONLY);

  producer.ok("withdraw", {{"export", "p"}});
  expect_fds(before + 3, "q still holds the allocation");
  consumer.ok("import", {{"name", "q"}, {"access", HB_ACCESS_READ_WRITE}});
  consumer.ok("pattern", {{"first", 1}});
  producer.ok("withdraw", {{"export", "q"}});
  expect_fds(before + 2, "allocations held");
}

TEST_F(Descriptors, TwoExportsOfOneAllocationInOneExport) {
  RawPeer raw = peer();
  const UniqueFd memory = sealed_memfd(kPage, 3);
  const UniqueFd again = memory.duplicate();
  const std::size_t before = daemon().fd_count();
  ASSERT_EQ(raw.export_fds("twice", {memory.get(), again.get(), memory.get()}).status, HB_OK);
  expect_fds(before + 1, "allocations held");
  const auto got = raw.acquire_name("twice");
  ASSERT_EQ(got.status, HB_OK) << got.error.message();
  EXPECT_EQ(got.reply.chunks_size(), 3);
  EXPECT_EQ(got.fds.size(), 1u);
}

class Counts : public EveryMemory {
 protected:
  void in_order_both_ways(std::uint64_t n) {
    SCOPED_TRACE(std::to_string(n) + " chunks");
    Actor producer = actor();
    Actor consumer = actor();
    producer.ok("objects", {{"count", n}});
    const std::size_t before = daemon().fd_count();
    producer.ok("export", {{"fds", "f"}, {"name", "many"}});
    expect_fds(before + n, "allocations held");
    const std::uint64_t consumer_before = consumer.ok("fds").number("count");
    const Answer got = consumer.ok("acquire", {{"name", "many"}});
    EXPECT_EQ(got.number("fd_count"), n);
    EXPECT_EQ(got.number("handle_chunks"), n);
    EXPECT_EQ(consumer.ok("handle_pattern").number("chunks"), n);
    consumer.ok("import", {{"name", "many"}});
    EXPECT_EQ(consumer.ok("pattern").number("chunks"), n);
    consumer.ok("release");
    const std::uint64_t kept = is({"7.14", "7.15"}) ? n : 0;  // by the runtime, for each chunk imported
    EXPECT_LE(consumer.ok("fds").number("count"), consumer_before + kept + 1);  // + its validity page
    EXPECT_TRUE(poll_until([&] { return producer.ok("who").number("count") == 1; }));
    EXPECT_EQ(producer.ok("withdraw").number("holders"), 1u);
    expect_baseline("after withdraw", 2);
    consumer.leave();
    producer.leave();
  }
};
HB_EVERY_MEMORY(Counts);

TEST_P(Counts, B22_OneAndAroundOneFrame) {
  for (const std::uint64_t count : {1, 252, 253, 254}) in_order_both_ways(count);
}
TEST_P(Counts, B22_SeveralFrames) {
  for (const std::uint64_t count : {506, 1000})
    if (count < 1000 || !on_gpu()) in_order_both_ways(count);  // a thousand of a GPU's: B21
}

// The library in front may hide the page borders: here the pages are asked for one by one.
TEST_F(Descriptors, B22_PagesOfEverySize) {
  RawPeer raw = peer();
  std::vector<UniqueFd> memory;
  for (std::uint64_t i = 0; i < 300; ++i) memory.push_back(sealed_memfd(kPage, i));
  ASSERT_EQ(raw.export_fds("many", borrow(memory)).status, HB_OK);
  for (const std::uint32_t page : {1u, 2u, 7u, 252u, 253u}) {
    auto got = raw.acquire_name("many", 1, {}, page);
    ASSERT_EQ(got.status, HB_OK) << got.error.message();
    EXPECT_EQ(got.reply.chunk_count(), 300u);
    EXPECT_EQ(got.reply.export_size(), 300 * kPage);
    std::uint64_t next = 0;
    const auto take = [&](const auto& chunks, std::vector<UniqueFd>& fds) {
      EXPECT_LE(fds.size(), page);
      for (const pb::Chunk& chunk : chunks) {
        ASSERT_GE(chunk.handle(), 1u);
        ASSERT_LE(chunk.handle(), fds.size());
        EXPECT_EQ(pattern_error(fds[chunk.handle() - 1].get(), chunk.offset(), chunk.size(), next), "");
        ++next;
      }
    };
    take(got.reply.chunks(), got.fds);
    while (next < 300 && !HasFailure()) {
      pb::Fetch fetch;
      fetch.set_lease_id(got.reply.lease_id());
      fetch.set_first(next);
      fetch.set_max_handles(page);
      auto more = raw.call<pb::FetchReply>(FrameType::kFetch, fetch);
      ASSERT_EQ(more.status, HB_OK) << more.error.message();
      ASSERT_EQ(more.reply.first(), next);
      ASSERT_GT(more.reply.chunks_size(), 0);
      take(more.reply.chunks(), more.fds);
    }
    EXPECT_EQ(next, 300u);
    raw.release(got.reply.lease_id());
  }
}

}  // namespace
}  // namespace hb::test
