// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "json.h"

#include <gtest/gtest.h>

#include <array>

#include "cli/sample.h"
#include "views.h"

namespace hb::cli {
namespace {

std::vector<std::string> keys(const Json& json) {
  std::vector<std::string> out;
  for (const auto& item : json.items()) out.push_back(item.key());
  return out;
}

// Scripts read these. A change here breaks them: add keys, never rename or remove one.
TEST(CliJson, KeysAreStable) {
  EXPECT_EQ(
      keys(to_json(sample::listed(1, "kv"))),
      (std::vector<std::string>{
          "export_id",      "name",        "scope",          "owner_uid",  "owner",          "generation",
          "layout_version", "state",       "lifetime",       "bytes",      "bytes_declared", "chunks",
          "allocations",    "kind",        "device",         "peers",      "leases",         "age_ns",
          "access",         "level",       "metadata_bytes", "max_bytes",  "linger_ns",      "linger_left_ns",
          "tickets",        "descriptors", "step",           "awaited_ns", "restart_unsafe"}));
  EXPECT_EQ(keys(to_json(sample::process(1, 2, "x"))),
            (std::vector<std::string>{"session_id", "pid", "uid", "gid", "command", "cgroup", "scope",
                                      "connected_ns"}));
  EXPECT_EQ(keys(to_json(sample::held(1, 2, "x"))),
            (std::vector<std::string>{"export_id", "lease_id", "process", "access", "level", "offset",
                                      "bytes", "age_ns", "state", "listens", "unread_ns", "unmap_asked",
                                      "ticket", "ticket_left_ns", "acked_step"}));
}

TEST(CliJson, AbsentIsNullAndSixtyFourBitsStayExact) {
  hb_listed e = sample::listed(UINT64_MAX, "");
  e.owner.pid = 0;
  e.owner.command = "";
  e.bytes = UINT64_MAX - 1;
  const Json json = Json::parse(dump(to_json(e)));
  EXPECT_TRUE(json["name"].is_null());
  EXPECT_TRUE(json["device"].is_null());
  EXPECT_TRUE(json["owner"]["pid"].is_null());
  EXPECT_TRUE(json["owner"]["command"].is_null());
  EXPECT_EQ(json["export_id"].get<std::uint64_t>(), UINT64_MAX);
  EXPECT_EQ(json["bytes"].get<std::uint64_t>(), UINT64_MAX - 1);
}

TEST(CliJson, DeviceIsNamedByIdentityNotByOrdinal) {
  hb_listed e = sample::listed(1, "kv");
  e.device_uuid = "GPU-1";
  e.device_pci = "0000:c1:00.0";
  EXPECT_EQ(to_json(e)["device"].dump(), R"({"uuid":"GPU-1","pci":"0000:c1:00.0","partition":0})");
}

TEST(CliJson, PeersAreNamedLikeTheDevice) {
  hb_listed e = sample::listed(1, "kv");
  EXPECT_EQ(to_json(e)["peers"].dump(), "[]");
  const std::array peers{hb_device_id{"GPU-2", "0000:c6:00.0", 0}, hb_device_id{"", "0000:c9:00.0", 3}};
  e.peers = peers.data();
  e.peer_count = peers.size();
  e.device_pci = "0000:c1:00.0";
  EXPECT_EQ(to_json(e)["device"].dump(), R"({"uuid":null,"pci":"0000:c1:00.0","partition":0})");
  EXPECT_EQ(
      to_json(e)["peers"].dump(),
      R"([{"uuid":"GPU-2","pci":"0000:c6:00.0","partition":0},{"uuid":null,"pci":"0000:c9:00.0","partition":3}])");
}

TEST(CliJson, IsAsciiWhateverTheNamesAre) {
  hb_listed e = sample::listed(1, "重み\xe2\x80\xae");
  e.owner.command = "\xff\x1b[2J";
  const std::string text = dump(to_json(e));
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f)) << static_cast<int>(c);
  EXPECT_EQ(Json::parse(text)["name"], "重み\xe2\x80\xae");
}

TEST(CliJson, TopLevelsSayWhoseViewItIs) {
  const hb_listed e = sample::listed(7, "kv");
  const hb_held h = sample::held(7, 9, "reader");
  const std::array exports{&e};
  const std::array holders{&h};
  EXPECT_EQ(exports_json(exports, true)["view"], "admin");
  EXPECT_EQ(exports_json({}, false).dump(), R"({"view":"own","exports":[]})");
  EXPECT_EQ(holders_json(holders, exports, false)["holders"][0]["export_name"], "kv");
  EXPECT_TRUE(holders_json(holders, {}, false)["holders"][0]["export_name"].is_null());
}

}  // namespace
}  // namespace hb::cli
