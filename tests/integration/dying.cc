// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Kills this process at a chosen frame: the program's sendmsg and recvmsg stand in front of libc's, also for
// the library it loads. HB_TEST_DIE_AT=WHERE:N with WHERE
//   send      before the (N+1)th packet goes out
//   sent      right after it went out, its answer never read
//   receive   right after the (N+1)th packet came in
// Calls that move nothing (would block) do not count, nor do those of the fake HIP runtime among its own
// threads.
#include <dlfcn.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

struct Plan {
  char where[16] = "";
  long left = -1;
  Plan() {
    const char* text = std::getenv("HB_TEST_DIE_AT");
    const char* colon = text == nullptr ? nullptr : std::strchr(text, ':');
    if (colon == nullptr || colon - text >= static_cast<long>(sizeof where)) return;
    std::memcpy(where, text, static_cast<std::size_t>(colon - text));
    left = std::atol(colon + 1);
  }
};

Plan& plan() {
  static Plan one;
  return one;
}

bool is_fake_runtime(void* caller) {
  Dl_info info{};
  return ::dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "amdhip64") != nullptr;
}

void reached(const char* where, bool counts, void* caller) {
  Plan& p = plan();
  if (p.left < 0 || std::strcmp(p.where, where) != 0 || !counts || is_fake_runtime(caller)) return;
  if (p.left-- == 0) ::kill(::getpid(), SIGKILL);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  void* const caller = __builtin_return_address(0);
  reached("send", true, caller);
  const ssize_t n = ::syscall(SYS_sendmsg, fd, message, flags);
  reached("sent", n >= 0, caller);
  return n;
}

extern "C" __attribute__((visibility("default"))) ssize_t recvmsg(int fd, msghdr* message, int flags) {
  const ssize_t n = ::syscall(SYS_recvmsg, fd, message, flags);
  reached("receive", n > 0, __builtin_return_address(0));
  return n;
}
