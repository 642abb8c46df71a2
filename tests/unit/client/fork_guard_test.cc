// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "fork_guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "fake_peer.h"
#include "support/wait.h"

namespace hb::test {
namespace {

// Runs in a child; its exit status is the answer.
template <class Body>
int in_child(Body&& body, bool raw = false) {
  const pid_t pid = raw ? static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) : ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ForkGuard, KnowsTheChildAndTheGrandchild) {
  const auto mark = client::ProcessMark::take();
  ASSERT_TRUE(mark);
  EXPECT_TRUE(mark->is_here());
  EXPECT_EQ(in_child([&] { return mark->is_here() ? 1 : 0; }), 0);
  EXPECT_EQ(in_child([&] { return mark->is_here() ? 1 : 0; }, true), 0) << "a raw clone()";
  EXPECT_EQ(in_child([&] {
              const auto own = client::ProcessMark::take();
              if (!own->is_here() || mark->is_here()) return 1;
              return in_child([&] { return own->is_here() || mark->is_here() ? 1 : 0; });
            }),
            0);
  EXPECT_TRUE(mark->is_here());
}

TEST(ForkGuard, TheChildsCopyIsClosedAndTheParentsConnectionLives) {
  const auto mark = client::ProcessMark::take();
  Ends ends = connected_ends();
  const int number = ends.session.get();
  const client::GuardedSocket socket(std::move(ends.session), *mark);
  EXPECT_EQ(in_child([&] {
              if (socket.get() != -1) return 1;
              return ::fcntl(number, F_GETFD) == -1 ? 0 : 2;
            }),
            0);
  // shutdown() in the child would have ended it here.
  char byte = 'x';
  ASSERT_EQ(::send(socket.get(), &byte, 1, MSG_NOSIGNAL), 1);
  EXPECT_EQ(::recv(ends.peer.fd(), &byte, 1, 0), 1);
}

}  // namespace
}  // namespace hb::test
