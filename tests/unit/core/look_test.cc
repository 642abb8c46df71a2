// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <gmock/gmock.h>

#include <set>

#include "core/broker.h"
#include "unit/core/broker_driver.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

using namespace core;

class LookTest : public testing::Test, public BrokerDriver {
 protected:
  SessionId owner = connect(1000);
  SessionId reader = connect(1001);
  SessionId stranger = connect(1002);
  SessionId admin = connect_admin();
  Exported shared(const std::string& name, std::uint64_t size = 4096) {
    ExportRequest request = simple(name, size);
    request.acl = {uid_reads(1001)};
    return exported(owner, std::move(request));
  }
  std::vector<std::string> names(SessionId session, const std::string& prefix = "") {
    std::vector<std::string> out;
    const auto listed = std::get<Listed>(ask(session, ListRequest{0, prefix}));
    for (const ExportInfo& info : listed.exports) out.push_back(*info.view.name);
    return out;
  }
};

TEST_F(LookTest, AListPagesThroughAllInSlotOrder) {
  for (std::size_t i = 0; i < 2 * limits::kListEntries + 7; ++i)
    exported(owner, simple("n" + std::to_string(i)));
  std::set<std::string> seen;
  std::uint64_t cursor = 0;
  std::size_t pages = 0;
  do {
    const auto page = std::get<Listed>(ask(owner, ListRequest{cursor, ""}));
    EXPECT_LE(page.exports.size(), limits::kListEntries);
    for (const ExportInfo& info : page.exports) EXPECT_TRUE(seen.insert(*info.view.name).second);
    cursor = page.next_cursor;
    ++pages;
  } while (cursor != 0);
  EXPECT_EQ(seen.size(), 2 * limits::kListEntries + 7);
  EXPECT_EQ(pages, 3u);
  EXPECT_TRUE(std::get<Listed>(ask(owner, ListRequest{UINT64_MAX, ""})).exports.empty());
}

// Peers take room in a frame: a page ends before it is full, and the next goes on.
TEST_F(LookTest, AListOfExportsWithManyPeersStaysInsideAFrame) {
  const Device device{std::string(limits::kDeviceUuidBytes, 'u'), std::string(limits::kDevicePciBytes, 'p'),
                      UINT32_MAX};
  constexpr std::size_t kExports = 20;
  for (std::size_t i = 0; i < kExports; ++i) {
    ExportRequest request = simple("many" + std::to_string(i));
    request.placement = {device, std::vector<Device>(limits::kExportPeers, device)};
    static_cast<void>(exported(owner, std::move(request)));
  }
  std::size_t seen = 0;
  ListRequest request;
  do {
    const auto page = std::get<Listed>(ask(owner, request));
    ASSERT_FALSE(page.exports.empty());
    const std::size_t peers = page.exports.size() * limits::kExportPeers;
    EXPECT_LE(page.exports.size() * limits::kListEntryBytes +
                  peers * (limits::kDeviceUuidBytes + limits::kDevicePciBytes),
              limits::kListBytes);
    seen += page.exports.size();
    request.cursor = page.next_cursor;
  } while (request.cursor != 0);
  EXPECT_EQ(seen, kExports);
}

TEST_F(LookTest, APrefixMatchesWholeBytes) {
  for (const char* name : {"kv/a", "kv/b", "kw", "k"}) exported(owner, simple(name));
  EXPECT_THAT(names(owner, "kv/"), testing::ElementsAre("kv/a", "kv/b"));
  EXPECT_THAT(names(owner, "kv/a"), testing::ElementsAre("kv/a"));
  EXPECT_THAT(names(owner, "kv/ab"), testing::IsEmpty());
  EXPECT_EQ(names(owner).size(), 4u);
}

TEST_F(LookTest, ASearchThroughMuchEndsEarlyWithACursor) {
  BrokerConfig config = default_config();
  BrokerDriver big(config);
  const SessionId one = big.connect(1000);
  for (int i = 0; i < 20'000; ++i) {
    ExportRequest request = big.simple("", 4096);
    request.handles[0].inode = 1;
    big.broker.apply(one, 0, 0, std::move(request), big.now, big.effects);
  }
  const SessionId two = big.connect(1001);
  const std::uint64_t id = 1;
  Effects out;
  big.broker.apply(two, id, 0, ListRequest{}, big.now, out);
  const auto page = std::get<Listed>(std::get<Reply>(out.at(0)).body);
  EXPECT_TRUE(page.exports.empty());
  EXPECT_NE(page.next_cursor, 0u);
  out.clear();
  big.broker.apply(two, id, 0, ListRequest{page.next_cursor, ""}, big.now, out);
  EXPECT_EQ(std::get<Listed>(std::get<Reply>(out.at(0)).body).next_cursor, 0u);
}

TEST_F(LookTest, ShowTellsWhatTheAskerMayKnow) {
  ExportRequest request = chunked("kv", 3, 4096);
  request.acl = {uid_reads(1001)};
  request.metadata = "m";
  const Exported out = exported(owner, std::move(request));
  acquired(reader, by_key(out.key));
  advance(3 * kSecond);
  const auto mine = std::get<Shown>(ask(owner, ShowRequest{out.id, 0}));
  EXPECT_EQ(mine.acl.size(), 1u);
  EXPECT_EQ(mine.chunks.size(), 3u);
  EXPECT_EQ(mine.chunks[2].offset, 8192u);
  EXPECT_EQ(mine.info.leases, 1u);
  EXPECT_EQ(mine.info.state, 1u);
  EXPECT_EQ(mine.info.age_ns, 3 * kSecond);
  EXPECT_EQ(mine.info.allocations, 3u);
  EXPECT_EQ(*mine.info.view.metadata, "m");
  EXPECT_EQ(mine.info.owner.process->pid, 71'000u);
  const auto theirs = std::get<Shown>(ask(reader, ShowRequest{NameRef{"kv", 1000}, 1}));
  EXPECT_TRUE(theirs.acl.empty());
  EXPECT_EQ(theirs.chunks.size(), 2u);
  EXPECT_EQ(status_of(ask(stranger, ShowRequest{out.id, 0})), HB_NOT_FOUND);
  EXPECT_EQ(status_of(ask(stranger, ShowRequest{out.key, 0})), HB_DENIED);
  EXPECT_EQ(status_of(ask(owner, ShowRequest{out.id, 3})), HB_RANGE);
  EXPECT_EQ(std::get<Shown>(ask(admin, ShowRequest{out.id, 0})).acl.size(), 1u);
}

TEST_F(LookTest, ShowPagesThroughChunks) {
  const Exported out = exported_paged(owner, "kv", limits::kListEntries + 2, 4096, 100);
  const auto first = std::get<Shown>(ask(owner, ShowRequest{out.id, 0}));
  EXPECT_EQ(first.chunks.size(), limits::kListEntries);
  EXPECT_TRUE(first.more_chunks);
  const auto rest = std::get<Shown>(ask(owner, ShowRequest{out.id, limits::kListEntries}));
  EXPECT_EQ(rest.chunks.size(), 2u);
  EXPECT_FALSE(rest.more_chunks);
}

TEST_F(LookTest, WhoTellsOwnersAllAndOthersTheirOwn) {
  const Exported out = shared("kv");
  acquired(reader, by_key(out.key));
  acquired(owner, by_key(out.key));
  acquired(connect(1001), by_key(out.key));
  const auto holders = [&](SessionId session, const Target& target) {
    return std::get<WhoListed>(ask(session, WhoRequest{target, 0})).holders.size();
  };
  for (const Target& target : {Target{}, Target{out.id}}) {
    EXPECT_EQ(holders(owner, target), 3u);
    EXPECT_EQ(holders(reader, target), 2u);  // of its uid
    EXPECT_EQ(holders(admin, target), 3u);
  }
  EXPECT_EQ(holders(stranger, Target{}), 0u);
  EXPECT_EQ(status_of(ask(stranger, WhoRequest{out.id, 0})), HB_NOT_FOUND);
  EXPECT_EQ(holders(connect(1000, {}, 5), Target{}), 0u);
}

TEST_F(LookTest, WhoPagesThroughAllHoldersOfOne) {
  const Exported out = shared("kv");
  const Exported other = shared("other");
  const std::size_t held = 2 * limits::kListEntries + 5;
  for (std::size_t i = 0; i < held; ++i) {
    acquired(owner, by_key(out.key));
    acquired(owner, by_key(other.key));
  }
  std::set<std::uint64_t> seen;
  std::uint64_t cursor = 0;
  do {
    const auto page = std::get<WhoListed>(ask(owner, WhoRequest{out.id, cursor}));
    for (const Holder& holder : page.holders) {
      EXPECT_EQ(holder.exported, out.id);
      EXPECT_TRUE(seen.insert(holder.lease.value).second);
    }
    cursor = page.next_cursor;
  } while (cursor != 0);
  EXPECT_EQ(seen.size(), held);
}

TEST_F(LookTest, CountersAreForTheAdmin) {
  shared("kv", 8192);
  EXPECT_EQ(status_of(ask(owner, StatusRequest{})), HB_DENIED);
  const auto counted = std::get<Counters>(ask(admin, StatusRequest{}));
  EXPECT_EQ(counted.sessions, 4u);
  EXPECT_EQ(counted.exports, 1u);
  EXPECT_EQ(counted.allocations, 1u);
  EXPECT_EQ(counted.bytes, 8192u);
}

}  // namespace
}  // namespace hb::test
