// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "views.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/sample.h"
#include "holding_view.h"
#include "text.h"

namespace hb::cli {
namespace {

void expect_width(const std::string& text, std::size_t width) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) EXPECT_LE(display_width(line), width) << line;
}

// Big ids, a uid of a container, a pid of 7 digits: what a busy node really shows.
hb_listed wide_listed(const char* name) {
  hb_listed e = sample::listed(0x0000'0400'0000'0001, name);
  e.owner_uid = 4'000'000'001;
  e.owner = sample::process(4'194'303, e.owner_uid, "ray::RolloutWrk");
  e.bytes = 128'849'018'880;
  e.chunks = 61'440;
  e.leases = 64;
  return e;
}

TEST(CliViews, ListFitsEightyColumns) {
  const hb_listed a = wide_listed("rl/weights/layer-000123/attention/q_proj/with/a/long/path");
  const hb_listed b = sample::listed(2, "");
  const std::array exports{&a, &b};
  const std::string text = exports_table(exports).render({80, true});
  expect_width(text, 80);
  EXPECT_NE(text.find("120.0 GiB"), std::string::npos);
  EXPECT_NE(text.find("(anonym"), std::string::npos);
}

TEST(CliViews, ListInAPipeIsWhole) {
  const hb_listed a = wide_listed("rl/weights/layer-000123/attention/q_proj/with/a/long/path");
  const std::array exports{&a};
  const std::string text = exports_table(exports).render({});
  EXPECT_NE(text.find("rl/weights/layer-000123/attention/q_proj/with/a/long/path\n"), std::string::npos);
  EXPECT_NE(text.find("61440"), std::string::npos);
}

TEST(CliViews, ASizeOnlyDeclaredIsMarked) {
  hb_listed e = sample::listed(1, "kv");
  e.bytes_declared = 1;
  const std::array exports{&e};
  EXPECT_NE(exports_table(exports).render({}).find("64.0 MiB?"), std::string::npos);
}

TEST(CliViews, HoldersFitAndNameTheirExport) {
  const hb_listed e = wide_listed("kv/0");
  hb_held wide = sample::held(e.export_id, 0, "tab\there");
  wide.offset = 1ull << 40;
  const hb_held& h = wide;
  const hb_held other = sample::held(99, 12, "x");
  const std::array exports{&e};
  const std::array holders{&h, &other};
  const std::string text = holders_table(holders, exports).render({80, true});
  expect_width(text, 80);
  EXPECT_NE(text.find("unknown"), std::string::npos);
  EXPECT_NE(text.find("kv/0"), std::string::npos);
  EXPECT_NE(text.find("id 99"), std::string::npos);
  EXPECT_NE(text.find("r/per-reader"), std::string::npos);
  EXPECT_EQ(text.find('\t'), std::string::npos);
}

TEST(CliViews, AStateAndANoteAreColumnsOnlyWhereTheySaySomething) {
  hb_listed e = wide_listed("rl/weights/layer-000123/attention");
  const std::array exports{&e};
  hb_held h = sample::held(e.export_id, 4242, "lmcache");
  const std::array holders{static_cast<const hb_held*>(&h)};
  EXPECT_EQ(exports_table(exports).render({}).find("STATE"), std::string::npos);
  EXPECT_EQ(holders_table(holders, exports).render({}).find("NOTE"), std::string::npos);
  e.state = "orphaned";
  h.state = "revoked";
  h.listens = 1;
  h.unread_ns = 12'000'000'000;
  expect_width(exports_table(exports).render({80, true}), 80);
  EXPECT_NE(exports_table(exports).render({}).find("orphaned"), std::string::npos);
  expect_width(holders_table(holders, exports).render({80, true}), 80);
  EXPECT_NE(holders_table(holders, exports).render({}).find("revoked, has not read events for 12s\n"),
            std::string::npos);
  h.listens = 0;
  h.unmap_asked = 1;
  EXPECT_EQ(holder_note(h), "revoked, asked to unmap, does not listen");
  h.unread_ns = 0;
  h.unmap_asked = 0;
  h.state = "live";
  h.ticket = 5;
  h.ticket_left_ns = 3'000'000'000;
  EXPECT_EQ(holder_note(h), "a ticket of it, kept by the daemon, 3s left");
}

TEST(CliViews, WhyNamesTheDaemonsOwnHoldItsOwnerAndEveryLease) {
  hb_listed e = sample::listed(7, "kv/0");
  hb_held h = sample::held(7, 812, "lmcache");
  h.lease_id = 12;
  Holding holding{&e, {&h}};
  e.leases = 3;
  EXPECT_EQ(
      why_text({&holding, 1}),
      "kv/0 (id 7), 64.0 MiB\nheld by: daemon (3 descriptors); owner pid 4242 vllm 3m12s; lease 12 pid 812 "
      "lmcache 5s; 2 leases of others\n");
  e.state = "orphaned";
  e.linger_left_ns = 41'000'000'000;
  e.leases = 1;
  e.tickets = 1;
  EXPECT_EQ(why_text({&holding, 1}),
            "kv/0 (id 7, orphaned), 64.0 MiB\nheld by: daemon (linger, 41s left; 3 descriptors, 1 ticket); "
            "lease 12 "
            "pid 812 lmcache 5s\n");
  e.state = "gone";
  e.descriptors = 0;
  holding.holders.clear();
  e.leases = 0;
  EXPECT_EQ(why_text({&holding, 1}), "kv/0 (id 7, gone), 64.0 MiB\nheld by: nobody\n");
}

TEST(CliViews, ShowSaysWhatIsKnownAndWhatWasLeftOut) {
  const hb_listed e = sample::listed(7, "kv/0");
  const std::array acl{hb_acl_entry{HB_ACL_UID, 1002, HB_ACCESS_READ},
                       hb_acl_entry{HB_ACL_GID, 44, HB_ACCESS_READ_WRITE}};
  std::array<hb_shown_chunk, 20> chunks{};
  for (std::size_t i = 0; i < chunks.size(); ++i) chunks[i] = {i * 4096, 4096, 5, i * 4096, 81920};
  const std::string text = shown_text({&e, acl, chunks}, 16, {});
  EXPECT_NE(text.find("uid 1002 r, gid 44 rw"), std::string::npos);
  EXPECT_NE(text.find("67108864 bytes"), std::string::npos);
  EXPECT_NE(text.find("... 4 more; --all-chunks"), std::string::npos);
  EXPECT_EQ(shown_text({&e, acl, chunks}, 20, {}).find("more;"), std::string::npos);
  EXPECT_EQ(shown_json({&e, acl, chunks}, true)["chunks"].size(), 20u);
  EXPECT_EQ(shown_json({&e, acl, chunks}, true)["acl"][1].dump(), R"({"gid":44,"access":"rw"})");
}

TEST(CliViews, ShowNamesTheDeviceAndItsPeersAsGoodAsItCan) {
  hb_listed e = sample::listed(7, "kv/0");
  EXPECT_EQ(shown_text({&e, {}, {}}, 16, {}).find("device"), std::string::npos);
  const std::array peers{hb_device_id{"GPU-2\x1b", "0000:c6:00.0", 0}, hb_device_id{"", "0000:c9:00.0", 3}};
  e.device_pci = "0000:c1:00.0";
  e.peers = peers.data();
  e.peer_count = peers.size();
  const std::string text = shown_text({&e, {}, {}}, 16, {});
  EXPECT_NE(text.find("device     no UUID, PCI 0000:c1:00.0, partition 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("peer       GPU-2\\x1B, PCI 0000:c6:00.0, partition 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("peer       no UUID, PCI 0000:c9:00.0, partition 3\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace hb::cli
