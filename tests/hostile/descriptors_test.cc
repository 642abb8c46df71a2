// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Descriptors that the broker must not keep, and exports that say more than is there.
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/actor.h"
#include "support/fixture.h"
#include "support/memfd.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

class Descriptors : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    raw_ = std::make_unique<RawPeer>(peer());
  }
  void TearDown() override {
    raw_.reset();
    DaemonTest::TearDown();
  }
  // Refused, with a reason, and nothing of it stays; the session goes on.
  void expect_refused(const std::string& what, const std::vector<int>& fds, hb_status status = HB_BAD_HANDLE,
                      std::uint64_t chunk_bytes = kPage) {
    const auto answer = raw_->export_fds("x", fds, chunk_bytes);
    EXPECT_EQ(answer.status, status) << what << ": " << answer.error.message();
    EXPECT_FALSE(answer.error.message().empty()) << what;
    EXPECT_EQ(raw_->ping(), HB_OK) << what;
    EXPECT_EQ(raw_->list().reply.exports_size(), 0) << what;
    expect_baseline("after " + what, 1);
  }
  void expect_refused(const std::string& what, const UniqueFd& fd) {
    ASSERT_TRUE(fd) << what;
    expect_refused(what, std::vector<int>{fd.get()});
  }
  std::unique_ptr<RawPeer> raw_;
};

TEST_F(Descriptors, WhatIsNoMemoryIsRefused) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  expect_refused("a pipe", reader);
  expect_refused("a pipe's other end", writer);
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd left(ends[0]), right(ends[1]);
  expect_refused("a unix socket", left);
  expect_refused("a TCP socket", UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  expect_refused("a directory", UniqueFd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  expect_refused("an O_PATH descriptor", UniqueFd(::open("/", O_PATH | O_CLOEXEC)));
  const UniqueFd memory = sealed_memfd(kPage, 0);
  expect_refused("an O_PATH descriptor of a memfd", reopen(memory.get(), O_PATH));
  expect_refused("/dev/null", UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)));
  expect_refused("/dev/zero", UniqueFd(::open("/dev/zero", O_RDWR | O_CLOEXEC)));
  expect_refused("an eventfd", UniqueFd(::eventfd(0, EFD_CLOEXEC)));
  expect_refused("an epoll", UniqueFd(::epoll_create1(EPOLL_CLOEXEC)));
  expect_refused("a file of /proc", UniqueFd(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)));
  const TempDir dir;
  write_file(dir / "file", std::string(kPage, 'x'));
  expect_refused("a file on disk", UniqueFd(::open((dir / "file").c_str(), O_RDWR | O_CLOEXEC)));
}

TEST_F(Descriptors, FilesThatPretend) {
  // A file on tmpfs answers F_GET_SEALS as a memfd does, and may have any name.
  const std::string shm = "/dev/shm/hbtest-" + std::to_string(::getpid());
  const UniqueFd file(::open(shm.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  ASSERT_TRUE(file);
  ASSERT_EQ(::ftruncate(file.get(), kPage), 0);
  ::unlink(shm.c_str());
  expect_refused("a file of /dev/shm", file);
  // The text that readlink shows for a dma-buf is "/dmabuf:NAME".
  std::filesystem::create_directory(shm);
  const std::string forged = shm + "/dmabuf:gpu";
  const UniqueFd named(::open(forged.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  ASSERT_TRUE(named);
  ASSERT_EQ(::ftruncate(named.get(), kPage), 0);
  expect_refused("a tmpfs file named like a dma-buf", named);
  ::unlink(forged.c_str());
  expect_refused("the same, deleted", named);
  std::filesystem::remove_all(shm);
  const UniqueFd memfd(::memfd_create("exp_name:udmabuf", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(memfd.get(), kPage), 0);
  expect_refused("a memfd without sealing whose name is a dma-buf's field", memfd);
}

TEST_F(Descriptors, EverySealIsDemanded) {
  for (const int seals : {0, 0x1, 0x2, 0x4, 0x1 | 0x2, 0x1 | 0x4, 0x2 | 0x4}) {
    UniqueFd memory = plain_memfd(kPage);
    if (seals != 0) {
      ASSERT_EQ(::fcntl(memory.get(), F_ADD_SEALS, seals), 0);
    }
    const auto answer = raw_->export_fds("x", {memory.get()});
    EXPECT_EQ(answer.status, HB_BAD_HANDLE) << seals;
    EXPECT_NE(answer.error.message().find("F_SEAL"), std::string::npos) << answer.error.message();
  }
  expect_refused("a memfd without sealing", plain_memfd(kPage, 0));
  expect_baseline("after missing seals", 1);
}

TEST_F(Descriptors, SmallerThanAnnounced) {
  const UniqueFd memory = sealed_memfd(kPage, 0);
  expect_refused("a chunk of two pages over one", {memory.get()}, HB_RANGE, 2 * kPage);
  const UniqueFd nothing = sealed_memfd(0, 0);
  expect_refused("an empty object", {nothing.get()}, HB_RANGE);
  expect_refused("a chunk of no bytes", {memory.get()}, HB_INVALID, 0);
}

TEST_F(Descriptors, OffsetsAndSizesThatOverflow) {
  const UniqueFd memory = sealed_memfd(2 * kPage, 0);
  struct Case {
    std::uint64_t offset, size;
  };
  for (const Case& one :
       {Case{kPage, UINT64_MAX}, Case{UINT64_MAX, kPage}, Case{0 - kPage, kPage}, Case{0 - kPage, 2 * kPage},
        Case{1ull << 63, 1ull << 63}, Case{kPage, 2 * kPage}, Case{2 * kPage, kPage}, Case{0, 1ull << 51}}) {
    pb::Export body = export_of("x", 1, one.size);
    body.mutable_chunks(0)->set_offset(one.offset);
    const auto answer = raw_->call<pb::ExportReply>(FrameType::kExport, body, {memory.get()});
    EXPECT_TRUE(answer.status == HB_RANGE || answer.status == HB_QUOTA || answer.status == HB_INVALID)
        << one.offset << "+" << one.size << ": " << answer.status << " " << answer.error.message();
  }
  // Sums that wrap: many chunks, each of them possible by itself.
  pb::Export body = export_of("x", 1, kPage);
  body.set_total_chunks(3);
  body.set_total_size(3 * kPage + 0);
  for (int i = 0; i < 2; ++i) {
    pb::Chunk* chunk = body.add_chunks();
    chunk->set_handle(1);
    chunk->set_size(UINT64_MAX - kPage + 1);
  }
  const auto answer = raw_->call<pb::ExportReply>(FrameType::kExport, body, {memory.get()});
  EXPECT_NE(answer.status, HB_OK);
  // On the reader's side.
  const auto good = raw_->export_fds("good", {memory.get()}, 2 * kPage);
  ASSERT_EQ(good.status, HB_OK) << good.error.message();
  for (const Case& one : {Case{UINT64_MAX, 1}, Case{1, UINT64_MAX}, Case{2 * kPage, 1},
                          Case{kPage, kPage + 1}, Case{0 - 1ull, 2}, Case{2 * kPage + 1, 0}}) {
    pb::Acquire acquire;
    acquire.mutable_target()->set_key(good.reply.key());
    acquire.set_access(1);
    acquire.set_offset(one.offset);
    acquire.set_length(one.size);
    acquire.set_max_handles(1);
    EXPECT_EQ(raw_->call<pb::AcquireReply>(FrameType::kAcquire, acquire).status, HB_RANGE)
        << one.offset << "+" << one.size;
  }
  ASSERT_EQ(raw_->withdraw_id(good.reply.export_id()).status, HB_OK);
  expect_baseline("after the overflows", 1);
}

TEST_F(Descriptors, CountsThatDoNotAddUp) {
  const UniqueFd memory = sealed_memfd(kPage, 0);
  const auto try_export = [&](const char* what, auto change) {
    pb::Export body = export_of("x", 1, kPage);
    change(body);
    const auto answer = raw_->call<pb::ExportReply>(FrameType::kExport, body, {memory.get()});
    EXPECT_NE(answer.status, HB_OK) << what;
    if (answer.ended) *raw_ = peer();
    expect_baseline(std::string("after ") + what, 1);
  };
  try_export("a chunk of a descriptor that is not there",
             [](pb::Export& e) { e.mutable_chunks(0)->set_handle(2); });
  try_export("a chunk of descriptor 2^32-1",
             [](pb::Export& e) { e.mutable_chunks(0)->set_handle(UINT32_MAX); });
  try_export("more chunks than announced", [](pb::Export& e) { *e.add_chunks() = e.chunks(0); });
  try_export("no chunks at all", [](pb::Export& e) {
    e.clear_chunks();
    e.set_total_chunks(0);
    e.set_total_size(0);
  });
  try_export("2^40 chunks announced", [](pb::Export& e) { e.set_total_chunks(1ull << 40); });
  try_export("another total size", [](pb::Export& e) { e.set_total_size(2 * kPage); });
  try_export("an unknown kind", [](pb::Export& e) { e.set_handle_kind(4711); });
  try_export("another kind", [](pb::Export& e) { e.set_handle_kind(2); });
  try_export("opaque bytes past the limit",
             [](pb::Export& e) { e.mutable_chunks(0)->set_opaque(std::string(65, 'o')); });
  try_export("65 entries of access", [](pb::Export& e) {
    for (int i = 0; i < 65; ++i) *e.add_acl() = acl_uid(2000 + static_cast<unsigned>(i), 1);
  });
  try_export("an access of 2", [](pb::Export& e) { *e.add_acl() = acl_uid(2000, 2); });
  try_export("metadata past the limit", [](pb::Export& e) { e.set_metadata(std::string(4097, 'm')); });
  try_export("a lifetime nobody knows", [](pb::Export& e) { e.set_lifetime(99); });
  EXPECT_EQ(raw_->export_fds("x", {memory.get()}).status, HB_OK);
}

TEST_F(Descriptors, ABadLastOneOf253LeavesNothingHalfAdded) {
  std::vector<UniqueFd> memory;
  for (std::uint64_t i = 0; i < limits::kFrameFds - 1; ++i) memory.push_back(sealed_memfd(kPage, i));
  memory.push_back(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)));
  const auto answer = raw_->export_fds("x", borrow(memory));
  EXPECT_EQ(answer.status, HB_BAD_HANDLE);
  EXPECT_EQ(answer.error.chunk(), limits::kFrameFds) << "the chunk is named: its number + 1";
  EXPECT_EQ(raw_->list().reply.exports_size(), 0);
  expect_baseline("after a bad last descriptor", 1);
  // On the second page, too: then the first one goes.
  memory.pop_back();
  for (std::uint64_t i = 0; i < 20; ++i) memory.push_back(sealed_memfd(kPage, i));
  memory.push_back(plain_memfd(kPage));
  const auto later = raw_->export_fds("x", borrow(memory));
  EXPECT_EQ(later.status, HB_BAD_HANDLE);
  EXPECT_EQ(later.error.chunk(), memory.size());
  expect_baseline("after a bad descriptor on the second page", 1);
  memory.pop_back();
  EXPECT_EQ(raw_->export_fds("x", borrow(memory)).status, HB_OK) << "and the name is free";
}

// The socket to the broker in its own queue: a cycle that only the kernel's collector could free.
TEST_F(Descriptors, TheBrokersOwnSocketInACycle) {
  for (int i = 0; i < 50; ++i) {
    RawPeer raw = peer();
    pb::Export body = export_of("cycle", 1, kPage);
    const auto answer = raw.call<pb::ExportReply>(FrameType::kExport, body, {raw.fd()});
    EXPECT_EQ(answer.status, HB_BAD_HANDLE) << answer.error.message();
    raw.send(FrameType::kExport, body, {raw.fd()});  // unread when this side closes
  }
  expect_baseline("after fifty cycles", 1);
}

// What a reader got read-only it can export again, and no more than that.
TEST_F(Descriptors, AReaderExportsItsReadOnlyDescriptorAgain) {
  if (!may_change_uid()) return;
  ProcessOptions as_owner, as_reader;
  as_owner.uid = 1001;
  as_reader.uid = 1002;
  Actor owner(daemon(), as_owner);
  Actor reader(daemon(), as_reader);
  owner.ok("memfds", {{"first", 5}});
  owner.ok("chmod", {{"fds", "f"}, {"mode", 0444}});
  owner.ok("export", {{"fds", "f"}, {"name", "weights"}, {"acl", "u:1002:1"}});
  reader.ok("acquire", {{"name", "weights"}, {"owner", 1001}, {"demand", 2}});
  const Answer write = reader.call("export", {{"handles", "h"}, {"name", "mine"}, {"acl", "u:1001:3"}});
  EXPECT_EQ(write.status, HB_READ_ONLY) << write;
  reader.ok("export", {{"handles", "h"}, {"name", "mine"}, {"acl", "u:1001:1"}});
  EXPECT_EQ(reader.ok("show", {{"name", "mine"}}).number("access"), 1u);
  for (Actor* who : {&owner, &reader}) {
    EXPECT_EQ(who->call("import", {{"name", "mine"}, {"owner", 1002}, {"access", 3}}).status, HB_READ_ONLY);
    who->ok("acquire", {{"handles", "again"}, {"name", "mine"}, {"owner", 1002}});
    const Answer tried = who->ok("write_handle", {{"handles", "again"}});
    EXPECT_EQ(tried.number("mode"), std::uint64_t{O_RDONLY});
    EXPECT_EQ(tried.number("mmap"), std::uint64_t{EACCES});
    who->ok("handle_pattern", {{"handles", "again"}, {"first", 5}});
  }
  owner.leave();
  reader.leave();
}

// open() of a file under a lease waits 45 s for the lease's holder. It is the exporter's: nobody waits for
// it.
TEST_F(Descriptors, ALeaseOnTheMemoryDelaysNobody) {
  if (!may_change_uid()) return;
  UniqueFd first = sealed_memfd(kPage, 5);
  ASSERT_EQ(::fchmod(first.get(), 0444), 0);
  const UniqueFd memory = reopen(first.get(), O_RDWR);  // root may, whatever the mode
  first.reset();
  ASSERT_EQ(::signal(SIGIO, SIG_IGN), SIG_DFL);  // sent to the holder when somebody else opens the file
  ASSERT_EQ(::fcntl(memory.get(), F_SETLEASE, F_WRLCK), 0) << errno;
  pb::AclEntry read;
  read.set_kind(pb::AclEntry::UID);
  read.set_id(1002);
  read.set_access(1);
  ASSERT_EQ(raw_->export_fds("leased", {memory.get()}, kPage, {read}).status, HB_OK);
  ProcessOptions as_reader;
  as_reader.uid = 1002;
  Actor reader(daemon(), as_reader);
  const Message wanted{{"name", "leased"}, {"owner", 0}};
  const Answer refused = reader.call("acquire", wanted);
  EXPECT_EQ(refused.status, HB_SYSTEM) << refused;
  EXPECT_EQ(raw_->ping(), HB_OK);
  ASSERT_EQ(::fcntl(memory.get(), F_SETLEASE, F_UNLCK), 0);
  reader.ok("acquire", wanted);
  EXPECT_EQ(reader.ok("write_handle").number("pwrite"), std::uint64_t{EBADF});
  reader.leave();
  ::signal(SIGIO, SIG_DFL);
}

TEST_F(Descriptors, ADescriptorThatCannotBeReadIsNoMemoryToShare) {
  const UniqueFd memory = sealed_memfd(kPage, 5);
  expect_refused("a write-only opening of a memfd", reopen(memory.get(), O_WRONLY));
}

TEST_F(Descriptors, AnObjectThatItsMakerCanNoLongerShrink) {
  const UniqueFd memory = sealed_memfd(4 * kPage, 5);
  ASSERT_EQ(raw_->export_fds("x", {memory.get()}, 4 * kPage).status, HB_OK);
  EXPECT_NE(::ftruncate(memory.get(), 0), 0);
  EXPECT_NE(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE), 0) << "F_SEAL_SEAL stands";
}

}  // namespace
}  // namespace hb::test
