// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// who --top, why, revoke, ls --all and doctor --pins against a real daemon and real holders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "cli/ctl_fixture.h"
#include "hipbroker/hipbroker.h"
#include "support/actor.h"
#include "support/fixture.h"

namespace hb::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CliTakingBack : public WithCtl<> {
 protected:
  static std::string pid_of(const Actor& actor) { return "pid " + std::to_string(actor.pid()) + " "; }
};

TEST_F(CliTakingBack, S2_WhoStillPinsItAndTakesItBack) {
  if (!may_change_uid()) return;
  ProcessOptions reader;
  reader.uid = 1003;
  Actor owner(daemon());
  Actor first(daemon());
  Actor second(daemon());
  Actor deaf(daemon());
  Actor late(daemon());
  Actor other(daemon(), reader);
  const std::size_t base = daemon().fd_count();
  owner.ok("memfds", {{"count", 3}});
  const Answer made = owner.ok("export", {{"fds", "f"}, {"name", "kv/0"}, {"acl", "u:1003:1"}});
  for (Actor* consumer : {&first, &second, &deaf}) consumer->ok("import", {{"name", "kv/0"}});
  first.ok("listen", {{"close", 1}});
  second.ok("listen", {{"close", 1}});
  deaf.ok("events_fd");  // and never dispatches
  const std::string id = made.text("export_id");
  EXPECT_THAT(ctl({"why", "kv/0"}).out, AllOf(HasSubstr("daemon (3 descriptors)"),
                                              HasSubstr("owner " + pid_of(owner)), HasSubstr(pid_of(deaf))));
  const Ran denied = ctl({"--no-admin", "revoke", "--id", id}, reader);
  EXPECT_EQ(denied.exit_code, 1) << denied.out;
  EXPECT_THAT(denied.err, HasSubstr("HB_DENIED"));

  auto revoking = std::async(std::launch::async, [&] { return ctl({"revoke", "kv/0", "--grace", "2s"}); });
  ASSERT_TRUE(poll_until([&] { return late.ok("list").number("count") == 0; }));
  EXPECT_EQ(late.call("import", {{"key", made.text("key")}}).status, HB_REVOKED);
  const Ran revoked = revoking.get();
  EXPECT_EQ(revoked.exit_code, 3) << revoked.err;
  EXPECT_THAT(revoked.out,
              AllOf(HasSubstr("revoked kv/0: its key is dead"), HasSubstr("still held by 1 after"),
                    HasSubstr(pid_of(deaf)), HasSubstr("has not read events for"),
                    HasSubstr("only when they unmap it or exit")));
  EXPECT_THAT(revoked.out, AllOf(Not(HasSubstr(pid_of(first))), Not(HasSubstr("freed"))));
  EXPECT_THAT(ctl({"who", "kv/0"}).out, AllOf(HasSubstr("revoked, has not read events"), HasSubstr("kv/0")));
  EXPECT_THAT(ctl({"why", "kv/0"}).out, AllOf(HasSubstr("revoked"), HasSubstr(pid_of(deaf)),
                                              Not(HasSubstr("daemon")), Not(HasSubstr("owner"))));
  EXPECT_THAT(ctl({"ls"}).out, Not(HasSubstr("kv/0")));
  EXPECT_THAT(ctl({"ls", "--all"}).out, AllOf(HasSubstr("STATE"), HasSubstr("revoked")));
  const json again = json::parse(ctl({"revoke", "--id", id, "--json"}).out);
  EXPECT_EQ(again["revoked"], 0);
  EXPECT_EQ(again["left"][0]["process"]["pid"], deaf.pid());
  EXPECT_EQ(again["left"][0]["state"], "revoked");

  deaf.kill9();
  ASSERT_TRUE(poll_until([&] { return ctl_json({"who"})["holders"].empty(); }));
  const Ran nobody = ctl({"revoke", "kv/0", "--grace", "1s"});
  EXPECT_EQ(nobody.exit_code, 0) << nobody.err;
  EXPECT_THAT(nobody.out, HasSubstr("nobody holds it"));
  EXPECT_EQ(ctl({"revoke", "--id", id}).exit_code, 0);
  EXPECT_THAT(ctl({"why", "kv/0"}).out, HasSubstr("it has ended, and nobody holds it"));
  first.ok("unlisten");
  second.ok("unlisten");
  // Two doorbells more, of those who listen; a session less, with its pidfd.
  expect_fds(base + 2 - 2, "after all");
}

TEST_F(CliTakingBack, TheLastHolderThatGoesEndsTheWait) {
  Actor owner(daemon());
  Actor consumer(daemon());
  owner.ok("memfds");
  owner.ok("export", {{"fds", "f"}, {"name", "kv"}});
  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("listen", {{"close", 1}});
  const Ran ran = ctl({"revoke", "kv", "--grace", "1h"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("nobody holds it any more: 1 gave it back within"));
  consumer.ok("unlisten");
}

TEST_F(CliTakingBack, TopListsTheLargestFirstWithItsHolders) {
  Actor owner(daemon());
  Actor consumer(daemon());
  owner.ok("memfds", {{"bytes", 4096}});
  owner.ok("export", {{"export", "s"}, {"fds", "f"}, {"name", "small"}});
  owner.ok("memfds", {{"bytes", 65536}, {"count", 2}});
  owner.ok("export", {{"export", "l"}, {"fds", "f"}, {"bytes", 65536}, {"name", "large"}});
  consumer.ok("import", {{"name", "small"}});
  owner.ok("withdraw", {{"export", "s"}});
  const std::string out = ctl({"who", "--top"}).out;
  EXPECT_LT(out.find("large (id "), out.find("small (id "));
  EXPECT_THAT(out, AllOf(HasSubstr("withdrawn), 4.0 KiB"), HasSubstr("daemon (2 descriptors)"),
                         HasSubstr("  " + pid_of(consumer)), HasSubstr("does not listen")));
  const json top = ctl_json({"who", "--top"});
  ASSERT_EQ(top["exports"].size(), 2u);
  EXPECT_EQ(top["exports"][0]["name"], "large");
  EXPECT_EQ(top["exports"][0]["descriptors"], 2);
  EXPECT_EQ(top["exports"][1]["state"], "withdrawn");
  EXPECT_EQ(top["exports"][1]["holders"][0]["process"]["pid"], consumer.pid());
  EXPECT_EQ(top["exports"][1]["holders"][0]["listens"], false);
}

// A name that went on to another export: both are meant.
TEST_F(CliTakingBack, WhyTellsOfEveryExportThatBearsOrBoreTheName) {
  Actor owner(daemon());
  Actor consumer(daemon());
  owner.ok("memfds");
  owner.ok("export", {{"export", "a"}, {"fds", "f"}, {"name", "kv"}});
  owner.ok("export", {{"export", "c"}, {"fds", "f"}, {"name", "kv2"}});
  consumer.ok("import", {{"name", "kv"}});
  owner.ok("withdraw", {{"export", "a"}});
  owner.ok("export", {{"export", "b"}, {"fds", "f"}, {"name", "kv"}});
  const json why = ctl_json({"why", "kv"});
  ASSERT_EQ(why["exports"].size(), 2u);
  EXPECT_EQ(ctl({"why", "nothing"}).exit_code, 1);
  EXPECT_EQ(ctl({"why"}).exit_code, 64);
}

TEST_F(CliTakingBack, WrongCommandLinesAreRefused) {
  EXPECT_EQ(ctl({"revoke"}).exit_code, 64);
  EXPECT_EQ(ctl({"revoke", "kv", "--grace", "soon"}).exit_code, 64);
  EXPECT_EQ(ctl({"revoke", "kv", "--grace", "-1s"}).exit_code, 64);
  EXPECT_EQ(ctl({"who", "kv", "--top"}).exit_code, 64);
  EXPECT_EQ(ctl({"revoke", "kv", "--grace", "1m"}).exit_code, 1) << "there is none";
}

// A tree as amdgpu makes it, with two GPUs of which one has an export.
TEST_F(CliTakingBack, PinsAreWhatIsUsedMinusWhatIsExported) {
  const TempDir root;
  namespace fs = std::filesystem;
  const auto gpu = [&](const std::string& pci, const std::string& minor, std::uint64_t used) {
    const fs::path device = fs::path(root.path()) / "sys/devices/pci0000:00" / pci;
    fs::create_directories(device);
    std::ofstream(device / "mem_info_vram_used") << used << '\n';
    const fs::path node = fs::path(root.path()) / "sys/class/drm" / ("renderD" + minor);
    fs::create_directories(node);
    fs::create_directory_symlink(device, node / "device");
  };
  gpu("0000:83:00.0", "128", 10ull << 20);
  gpu("0000:c1:00.0", "129", 3ull << 20);
  fs::create_directories(fs::path(root.path()) / "sys/class/drm/renderD130/device");  // another driver's
  Actor owner(daemon());
  owner.ok("memfds", {{"bytes", 4u << 20}});
  owner.ok("export", {{"fds", "f"}, {"bytes", 4u << 20}, {"name", "kv"}, {"pci", "0000:83:00.0"}});
  Actor consumer(daemon());
  consumer.ok("acquire", {{"name", "kv"}});
  owner.ok("withdraw");
  owner.ok("export",
           {{"export", "e2"}, {"fds", "f"}, {"bytes", 4u << 20}, {"name", "kv"}, {"pci", "0000:83:00.0"}});
  ProcessOptions options;
  options.env.emplace_back("HIPBROKER_SYSFS_ROOT", root.path());
  const Ran ran = ctl({"doctor", "--pins", "--json"}, options);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json pins = json::parse(ran.out);
  ASSERT_EQ(pins["gpus"].size(), 2u);
  EXPECT_EQ(pins["gpus"][0]["pci"], "0000:83:00.0");
  EXPECT_EQ(pins["gpus"][0]["used_bytes"], 10u << 20);
  EXPECT_EQ(pins["gpus"][0]["exported_bytes"], 8u << 20);
  EXPECT_EQ(pins["gpus"][0]["ended_held_bytes"], 4u << 20);
  EXPECT_EQ(pins["gpus"][0]["other_bytes"], 2u << 20);
  EXPECT_EQ(pins["gpus"][1]["exports"], 0);
  EXPECT_EQ(pins["gpus"][1]["other_bytes"], 3u << 20);
  const Ran text = ctl({"doctor", "--pins"}, options);
  EXPECT_THAT(text.out, AllOf(HasSubstr("0000:c1:00.0"), HasSubstr("2.0 MiB"), HasSubstr("who --top")));
  const TempDir none;
  options.env.back().second = none.path();
  EXPECT_THAT(ctl({"doctor", "--pins"}, options).out, HasSubstr("no GPU of amdgpu"));
}

}  // namespace
}  // namespace hb::test
