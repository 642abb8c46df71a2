// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The three levels of read-only, tried by every way a reader has to write. About memfds: nothing keeps a
// reader of GPU memory from writing (startup_test.cc shows its level), and dma-bufs have no seals.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "hipbroker/hipbroker.h"
#include "support/actor.h"
#include "support/fixture.h"
#include "support/memfd.h"

namespace hb::test {
namespace {

constexpr int kFutureWrite = 0x10;  // F_SEAL_FUTURE_WRITE

ProcessOptions as(std::uint32_t uid) {
  ProcessOptions options;
  options.uid = uid;
  return options;
}

class ReadOnlyLevels : public DaemonTest {
 protected:
  // Exported by uid 1001 for uids 1002 and 0, of mode `mode`.
  void export_file(Actor& owner, int mode, int seals = kDaemonSeals) {
    owner.ok("memfds", {{"seals", seals}, {"first", 9}});
    if (mode != 0) owner.ok("chmod", {{"fds", "f"}, {"mode", mode}});
    owner.ok("export", {{"fds", "f"}, {"name", "weights"}, {"acl", "u:1002:1 u:0:1"}});
  }
  static Message from_owner() { return {{"name", "weights"}, {"owner", 1001}}; }
  static Message demanding(int level) {
    Message m = from_owner();
    m.emplace("demand", level);
    return m;
  }
};

TEST_F(ReadOnlyLevels, PerReaderHoldsAgainstAnotherUid) {
  if (!may_change_uid()) return;
  Actor owner(daemon(), as(1001));
  Actor reader(daemon(), as(1002));
  export_file(owner, 0444);
  const Answer got = reader.ok("acquire", demanding(HB_LEVEL_PER_READER));
  EXPECT_EQ(got.number("level"), std::uint64_t{HB_LEVEL_PER_READER});
  reader.ok("handle_pattern", {{"first", 9}});
  const Answer tried = reader.ok("write_handle");
  EXPECT_EQ(tried.number("mode"), std::uint64_t{O_RDONLY});
  EXPECT_EQ(tried.number("mmap"), std::uint64_t{EACCES});
  EXPECT_EQ(tried.number("mmap_read"), 0u);
  EXPECT_EQ(tried.number("mprotect"), std::uint64_t{EACCES});
  EXPECT_EQ(tried.number("pwrite"), std::uint64_t{EBADF});
  EXPECT_EQ(tried.number("reopen"), std::uint64_t{EACCES});
  EXPECT_NE(tried.number("truncate"), 0u);
  EXPECT_EQ(reader.ok("chmod", {{"handles", "h"}, {"mode", 0666}}).number("errno"), std::uint64_t{EPERM});
  EXPECT_EQ(reader.call("acquire", demanding(HB_LEVEL_SEALED)).status, HB_LEVEL);

  const Answer mapped = reader.ok("import", from_owner());
  EXPECT_EQ(mapped.number("level"), std::uint64_t{HB_LEVEL_PER_READER});
  const Answer write = reader.ok("try_write");
  EXPECT_EQ(write.number("signal"), std::uint64_t{SIGSEGV});
  EXPECT_EQ(write.number("mprotect"), std::uint64_t{EACCES});
  reader.leave();
  owner.leave();
}

// What is added must hold as firmly as what was granted; the descriptors of a refresh are reopened, too.
TEST_F(ReadOnlyLevels, PerReaderHoldsForChunksThatAreAdded) {
  if (!may_change_uid()) return;
  Actor owner(daemon(), as(1001));
  Actor reader(daemon(), as(1002));
  owner.ok("memfds", {{"first", 0}});
  owner.ok("chmod", {{"mode", 0444}});
  owner.ok("export", {{"fds", "f"}, {"name", "weights"}, {"acl", "u:1002:1"}, {"max_bytes", 4 * kPage}});
  reader.ok("import", demanding(HB_LEVEL_PER_READER));
  owner.ok("memfds", {{"fds", "g"}, {"first", 1}});
  owner.ok("chmod", {{"fds", "g"}, {"mode", 0444}});
  owner.ok("append", {{"fds", "g"}});
  EXPECT_EQ(reader.ok("refresh").number("level"), std::uint64_t{HB_LEVEL_PER_READER});
  EXPECT_EQ(reader.ok("pattern").number("chunks"), 2u);
  const Answer write = reader.ok("try_write", {{"offset", kPage}});
  EXPECT_EQ(write.number("signal"), std::uint64_t{SIGSEGV});
  EXPECT_EQ(write.number("mprotect"), std::uint64_t{EACCES});
  owner.ok("memfds", {{"fds", "h"}, {"first", 2}});  // this one the reader could write
  owner.ok("append", {{"fds", "h"}});
  const Answer less = reader.call("refresh");
  EXPECT_EQ(less.status, HB_LEVEL) << less;
  EXPECT_EQ(less.number("bytes"), 2 * kPage);
  EXPECT_EQ(reader.ok("pattern").number("chunks"), 2u);
  reader.leave();
  owner.leave();
}

TEST_F(ReadOnlyLevels, PerReaderIsIntentForTheOwnersUidAndForRoot) {
  if (!may_change_uid()) return;
  Actor owner(daemon(), as(1001));
  Actor same(daemon(), as(1001));
  Actor root(daemon());
  export_file(owner, 0444);
  for (Actor* reader : {&same, &root}) {
    EXPECT_EQ(reader->call("acquire", demanding(HB_LEVEL_PER_READER)).status, HB_LEVEL);
    const Answer got = reader->ok("acquire", demanding(HB_LEVEL_INTENT));
    EXPECT_EQ(got.number("level"), std::uint64_t{HB_LEVEL_INTENT});
  }
}

TEST_F(ReadOnlyLevels, ChmodByTheOwnerDropsTheLevelAtTheNextGrant) {
  if (!may_change_uid()) return;
  Actor owner(daemon(), as(1001));
  Actor reader(daemon(), as(1002));
  export_file(owner, 0444);
  EXPECT_EQ(reader.ok("acquire", from_owner()).number("level"), std::uint64_t{HB_LEVEL_PER_READER});
  reader.ok("release");
  EXPECT_EQ(owner.ok("chmod", {{"fds", "f"}, {"mode", 0666}}).number("errno"), 0u);
  const Answer refused = reader.call("acquire", demanding(HB_LEVEL_PER_READER));
  EXPECT_EQ(refused.status, HB_LEVEL) << refused;
  EXPECT_EQ(reader.ok("acquire", from_owner()).number("level"), std::uint64_t{HB_LEVEL_INTENT});
  reader.ok("release");
  // And it is asked anew each time, in this direction too.
  EXPECT_EQ(owner.ok("chmod", {{"fds", "f"}, {"mode", 0444}}).number("errno"), 0u);
  EXPECT_EQ(reader.ok("acquire", demanding(HB_LEVEL_PER_READER)).number("level"),
            std::uint64_t{HB_LEVEL_PER_READER});
}

TEST_F(ReadOnlyLevels, AnOpenModeGivesIntent) {
  if (!may_change_uid()) return;
  Actor owner(daemon(), as(1001));
  Actor reader(daemon(), as(1002));
  export_file(owner, 0);
  EXPECT_EQ(reader.call("acquire", demanding(HB_LEVEL_PER_READER)).status, HB_LEVEL);
  const Answer got = reader.ok("acquire", from_owner());
  EXPECT_EQ(got.number("level"), std::uint64_t{HB_LEVEL_INTENT});
  // What the level says: the reader may open the file again.
  EXPECT_EQ(reader.ok("write_handle").number("reopen"), 0u);
}

TEST_F(ReadOnlyLevels, SealedHoldsAgainstEveryone) {
  if (!may_change_uid()) return;
  Actor owner(daemon(), as(1001));
  Actor reader(daemon(), as(1002));
  Actor same(daemon(), as(1001));
  Actor root(daemon());
  export_file(owner, 0, kDaemonSeals | kFutureWrite);
  EXPECT_EQ(same.call("acquire", {{"name", "weights"}, {"access", HB_ACCESS_READ_WRITE}}).status,
            HB_READ_ONLY);
  for (Actor* one : {&reader, &same, &root}) {
    const Answer got = one->ok("acquire", demanding(HB_LEVEL_SEALED));
    EXPECT_EQ(got.number("level"), std::uint64_t{HB_LEVEL_SEALED});
    const Answer tried = one->ok("write_handle");
    EXPECT_NE(tried.number("mmap"), 0u);
    EXPECT_NE(tried.number("mprotect"), 0u);
    EXPECT_NE(tried.number("pwrite"), 0u);
    EXPECT_TRUE(tried.number("reopen") != 0 || tried.number("reopen_mmap") == EPERM) << tried;
    one->ok("handle_pattern", {{"first", 9}});
  }
}

// The library's own memory: per-reader without anybody asking, sealed on request; the owner goes on writing.
TEST_F(ReadOnlyLevels, MemoryOfTheLibrary) {
  if (!may_change_uid()) return;
  Actor owner(daemon(), as(1001));
  Actor reader(daemon(), as(1002));
  for (const int sealed : {0, 1}) {
    owner.ok("alloc", {{"mem", "m"}, {"bytes", 3 * kPage}, {"chunk", kPage}, {"sealed", sealed}});
    owner.ok("fill", {{"mem", "m"}, {"seed", 3}});
    owner.ok("export", {{"mem", "m"}, {"name", "weights"}, {"acl", "u:1002:1"}});
    const Answer got = reader.ok("import", from_owner());
    EXPECT_EQ(got.number("level"), std::uint64_t(sealed ? HB_LEVEL_SEALED : HB_LEVEL_PER_READER));
    reader.ok("check", {{"import", "i"}, {"seed", 3}});
    const Answer write = reader.ok("try_write", {{"offset", kPage}});
    EXPECT_EQ(write.number("signal"), std::uint64_t{SIGSEGV});
    EXPECT_NE(write.number("mprotect"), 0u);
    reader.ok("acquire", from_owner());
    const Answer tried = reader.ok("write_handle");
    EXPECT_NE(tried.number("mmap"), 0u);
    EXPECT_TRUE(tried.number("reopen") != 0 || tried.number("reopen_mmap") != 0) << tried;
    owner.ok("fill", {{"mem", "m"}, {"seed", 4}});
    reader.ok("check", {{"import", "i"}, {"seed", 4}});
    reader.ok("release");
    reader.ok("close_import");
    owner.ok("withdraw");
    owner.ok("destroy");
    owner.ok("free");
  }
  reader.leave();
  owner.leave();
}

TEST_F(ReadOnlyLevels, ShownToTheOwnerToo) {
  if (!may_change_uid()) return;
  Actor owner(daemon(), as(1001));
  export_file(owner, 0, kDaemonSeals | kFutureWrite);
  const Answer shown = owner.ok("show", {{"name", "weights"}});
  EXPECT_EQ(shown.number("level"), std::uint64_t{HB_LEVEL_SEALED});
  EXPECT_EQ(shown.number("access"), std::uint64_t{HB_ACCESS_READ});
}

}  // namespace
}  // namespace hb::test
