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

// A program's own handlers, registered before the library's: they run while its lock is held across fork().
bool g_handlers_call = false;
void call_the_library() {
  if (g_handlers_call) const std::lock_guard guard(client::process_lock());
}
const int g_registered = ::pthread_atfork(call_the_library, call_the_library, call_the_library);

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

TEST(ForkGuard, HandlersOfTheProgramMayCallTheLibrary) {
  ASSERT_EQ(g_registered, 0);
  ASSERT_TRUE(client::ProcessMark::take());
  g_handlers_call = true;
  ::alarm(20);  // a handler that waits for the lock of its own thread waits for ever
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  g_handlers_call = false;
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::alarm(0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hb::test
