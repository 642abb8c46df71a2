// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// In a forked child every handle is inert: calls say so, destruction is quiet, the parent notices nothing.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <future>

#include "fake_peer.h"
#include "hipbroker/hipbroker.h"
#include "support/memfd.h"
#include "support/temp_dir.h"
#include "support/wait.h"

namespace hb::test {
namespace {

TEST(Fork, HandlesAreInertInTheChildAndUnharmedInTheParent) {
  const TempDir dir;
  FakeListener listener(dir / "broker.sock");
  const std::string path = dir / "broker.sock";
  hb_client_options options = HB_CLIENT_OPTIONS_INIT;
  options.socket = path.c_str();
  hb_client* client = nullptr;
  auto opened = std::async(std::launch::async, [&] { return hb_client_open(&options, &client, nullptr); });
  FakePeer peer = listener.accept();
  peer.answer_hello();
  ASSERT_EQ(opened.get(), HB_OK);

  hb_memory_options wanted = HB_MEMORY_OPTIONS_INIT;
  wanted.bytes = kPage;
  hb_memory* memory = nullptr;
  ASSERT_EQ(hb_memory_alloc(client, &wanted, &memory, nullptr), HB_OK);
  hb_import_options import_options = HB_IMPORT_OPTIONS_INIT;
  import_options.name = "x";
  hb_import* imported = nullptr;
  const UniqueFd object = sealed_memfd(kPage, 5);
  auto importing = std::async(std::launch::async,
                              [&] { return hb_import_open(client, &import_options, &imported, nullptr); });
  peer.answer_share_page(1);
  peer.reply(peer.expect(FrameType::kAcquire), one_chunk_grant(4, kPage), {object.get()});
  ASSERT_EQ(importing.get(), HB_OK);
  hb_import_info info = HB_IMPORT_INFO_INIT;
  hb_import_get_info(imported, &info);

  const pid_t pid = ::fork();
  if (pid == 0) {
    // A number that the parent's memory uses becomes the child's own file.
    const int own = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int fd = 3; fd < 64; ++fd)
      if (fd != own) ::dup3(own, fd, O_CLOEXEC);
    if (hb_ping(client, 0, nullptr, nullptr) != HB_FORKED) ::_exit(1);
    if (hb_memory_alloc(client, &wanted, &memory, nullptr) != HB_FORKED) ::_exit(2);
    if (hb_import_open(client, &import_options, &imported, nullptr) != HB_FORKED) ::_exit(3);
    if (!pattern_error(info.ptr, kPage, 5).empty()) ::_exit(4);
    hb_import_close(imported);
    hb_memory_free(memory);
    hb_client_close(client);
    for (int fd = 3; fd < 64; ++fd)
      if (::fcntl(fd, F_GETFD) < 0) ::_exit(5);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);

  // The parent's session lives, and the child sent nothing on it.
  auto ping =
      std::async(std::launch::async, [&] { return hb_ping(client, HB_NO_DEADLINE, nullptr, nullptr); });
  peer.reply(peer.expect(FrameType::kPing), pb::PingReply());
  EXPECT_EQ(ping.get(), HB_OK);
  EXPECT_EQ(pattern_error(info.ptr, kPage, 5), "");
  hb_import_close(imported);
  peer.expect(FrameType::kRelease);
  hb_memory_free(memory);
  hb_client_close(client);
}

}  // namespace
}  // namespace hb::test
