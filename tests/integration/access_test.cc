// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Who sees and gets what: design rule 7.
#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

ProcessOptions as(std::uint32_t uid, std::vector<std::uint32_t> groups = {}) {
  ProcessOptions options;
  options.uid = uid;
  options.groups = std::move(groups);
  return options;
}

class Access : public EveryMemory {
 protected:
  static Answer export_number(Actor& owner, const std::string& name, int number,
                              const std::string& acl = {}) {
    owner.ok("objects", {{"fds", name}, {"first", number}});
    return owner.ok("export", {{"export", name}, {"fds", name}, {"name", name}, {"acl", acl}});
  }
  static hb_status import_status(Actor& who, const std::string& name, std::uint32_t owner,
                                 int access = HB_ACCESS_READ) {
    return who
        .call("import", {{"import", name + std::to_string(owner) + "/" + std::to_string(access)},
                         {"name", name},
                         {"owner", owner},
                         {"access", access}})
        .status;
  }
};

HB_EVERY_MEMORY(Access);

TEST_P(Access, ASquatterNeverMeetsTheOwnersImport) {
  if (!may_change_uid()) return;
  Actor squatter = actor(as(1003));
  Actor consumer = actor(as(1001));
  export_number(squatter, "kv", 66, "u:1001:3");
  EXPECT_EQ(consumer.call("import", {{"name", "kv"}}).status, HB_NOT_FOUND);
  EXPECT_EQ(consumer.call("wait_name", {{"name", "kv"}, {"timeout_ms", 20}}).status, HB_TIMEOUT);
  Actor producer = actor(as(1001));
  export_number(producer, "kv", 11);  // the name is free for this uid
  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("pattern", {{"first", 11}});
  // Only who asks for the other owner gets the other's.
  consumer.ok("import", {{"import", "theirs"}, {"name", "kv"}, {"owner", 1003}});
  consumer.ok("pattern", {{"import", "theirs"}, {"first", 66}});
  EXPECT_EQ(producer.ok("withdraw", {{"export", "kv"}}).number("exports"), 1u);
  EXPECT_EQ(consumer.call("import", {{"import", "x"}, {"name", "kv"}}).status, HB_NOT_FOUND);
}

TEST_P(Access, ByUidAndByGidReadAndWrite) {
  if (!may_change_uid()) return;
  Actor owner = actor(as(1001));
  Actor in_group = actor(as(1002, {5000}));
  Actor primary = actor([] {
    ProcessOptions options = as(1004);
    options.gid = 5000;
    return options;
  }());
  Actor outside = actor(as(1003, {5001}));
  export_number(owner, "read", 1, "g:5000:1");
  export_number(owner, "write", 2, "g:5000:3");
  export_number(owner, "mixed", 3, "g:5000:1 u:1002:3");
  for (Actor* reader : {&in_group, &primary}) {
    EXPECT_EQ(import_status(*reader, "read", 1001), HB_OK);
    EXPECT_EQ(import_status(*reader, "read", 1001, HB_ACCESS_READ_WRITE), HB_DENIED);
    EXPECT_EQ(import_status(*reader, "write", 1001, HB_ACCESS_READ_WRITE), HB_OK);
  }
  EXPECT_EQ(import_status(in_group, "mixed", 1001, HB_ACCESS_READ_WRITE), HB_OK);
  EXPECT_EQ(import_status(primary, "mixed", 1001, HB_ACCESS_READ_WRITE), HB_DENIED);
  for (const char* name : {"read", "write", "mixed"})
    EXPECT_EQ(import_status(outside, name, 1001), HB_NOT_FOUND);
  EXPECT_EQ(outside.ok("list").number("count"), 0u);
  EXPECT_EQ(in_group.ok("list").number("count"), 3u);
  // Bytes go both ways.
  in_group.ok("poke", {{"import", "write1001/3"}, {"offset", 100}, {"value", 200}});
  EXPECT_EQ(primary.ok("peek", {{"import", "write1001/3"}, {"offset", 100}}).number("value"), 200u);
}

TEST_P(Access, B12_AnotherUidMayWhereTheOwnerSaysSo) {
  if (!may_change_uid()) return;
  Actor owner = actor(as(1001));
  Actor reader = actor(as(1002));
  Actor stranger = actor(as(1003));
  Actor root = actor();
  Actor admin;
  admin.ok("open", {{"socket", daemon().admin_socket()}});
  const Answer exported = export_number(owner, "a", 5, "u:1002:1");
  const std::string key = exported.text("key");

  EXPECT_EQ(import_status(reader, "a", 1001), HB_OK);
  for (Actor* other : {&stranger, &root}) {
    const Answer by_name = other->call("import", {{"name", "a"}, {"owner", 1001}});
    EXPECT_EQ(by_name.status, HB_NOT_FOUND);
    const Answer by_key = other->call("import", {{"key", key}});
    EXPECT_EQ(by_key.status, HB_DENIED);
    EXPECT_EQ(by_key.message().find("\"a\""), std::string::npos) << by_key.message();
    EXPECT_EQ(other->ok("list").number("count"), 0u);
    EXPECT_EQ(other->call("show", {{"id", exported.number("export_id")}}).status, HB_NOT_FOUND);
    EXPECT_EQ(other->call("show", {{"name", "a"}, {"owner", 1001}}).status, HB_NOT_FOUND);
    EXPECT_EQ(other->ok("who").number("count"), 0u);
    EXPECT_EQ(other->call("daemon_status").status, HB_DENIED);
  }
  // By name, what exists and what never was get the same words.
  const std::string of_a = stranger.call("import", {{"name", "a"}, {"owner", 1001}}).message();
  std::string of_b = stranger.call("import", {{"name", "b"}, {"owner", 1001}}).message();
  if (const std::size_t at = of_b.find("\"b\""); at != std::string::npos) of_b[at + 1] = 'a';
  EXPECT_EQ(of_a, of_b);

  EXPECT_EQ(reader.ok("list").text("names"), "a");
  EXPECT_EQ(owner.ok("list").text("names"), "a");
  EXPECT_EQ(owner.ok("show", {{"name", "a"}}).number("acl_count"), 1u);
  EXPECT_EQ(reader.ok("show", {{"name", "a"}, {"owner", 1001}}).number("acl_count"), 0u);
  EXPECT_EQ(owner.ok("who", {{"name", "a"}}).text("uids"), "1002");

  EXPECT_EQ(admin.ok("list").text("names"), "a");
  EXPECT_EQ(admin.ok("info").number("admin"), 1u);
  EXPECT_EQ(admin.ok("who").text("uids"), "1002");
  EXPECT_EQ(admin.ok("daemon_status").number("exports"), 1u);
  EXPECT_EQ(admin.ok("show", {{"id", exported.number("export_id")}}).number("acl_count"), 1u);
  EXPECT_EQ(admin.call("import", {{"key", key}}).status, HB_DENIED);
  owner.ok("ping");
}

// Withdraw is the owner's session's alone; who cannot see it is not told that it exists.
TEST_P(Access, B12_WithdrawByOthersIsRefused) {
  if (!may_change_uid()) return;
  Actor owner = actor(as(1001));
  const Answer exported = export_number(owner, "a", 5, "u:1002:3");
  const auto withdraw_as = [&](std::uint32_t uid) {
    Actor other = actor(as(uid));
    return other.call("raw_withdraw", {{"socket", daemon().socket()}, {"id", exported.number("export_id")}})
        .status;
  };
  EXPECT_EQ(withdraw_as(1002), HB_DENIED);
  EXPECT_EQ(withdraw_as(1003), HB_NOT_FOUND);
  EXPECT_EQ(withdraw_as(1001), HB_DENIED);  // another session of the owner's uid
  EXPECT_EQ(owner.ok("list").text("names"), "a");
}

class AdminSocket : public DaemonTest {};

TEST_F(AdminSocket, IsForTheDaemonsUserAlone) {
  if (!may_change_uid()) return;
  Actor other(as(1002));
  const Answer opened = other.call("open", {{"socket", daemon().admin_socket()}});
  EXPECT_NE(opened.status, HB_OK) << opened;
}

}  // namespace
}  // namespace hb::test
