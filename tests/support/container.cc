// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/container.h"

#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "support/role.h"

namespace hb::test {
namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void check(int result, const char* what) {
  if (result != 0) throw std::runtime_error(std::string(what) + ": " + ::strerrorname_np(errno));
}

void arrange_mounts() {
  check(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "mount private");
  const std::string mounted = from_environment("HB_CONTAINER_MOUNTED");
  const std::string hidden = from_environment("HB_CONTAINER_HIDDEN");
  if (!mounted.empty()) {
    check(::mount(mounted.c_str(), kMountPoint, nullptr, MS_BIND, nullptr), "mount of the directory");
    constexpr unsigned long kAsPodsDo = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
    check(::mount(nullptr, kMountPoint, nullptr, kAsPodsDo, nullptr), "read-only mount");
  }
  if (!hidden.empty())
    check(::mount("none", hidden.c_str(), "tmpfs", 0, "size=64k,mode=755"), "mount over the rest");
}

[[noreturn]] void become_role() {
  const auto uid =
      static_cast<uid_t>(std::strtoul(from_environment("HB_CONTAINER_UID").c_str(), nullptr, 10));
  std::vector<std::string> words;
  std::istringstream program(from_environment("HB_CONTAINER_PROGRAM"));
  for (std::string word; program >> word;) words.push_back(word);
  if (words.empty()) words = {"/proc/self/exe", "--role=" + from_environment("HB_CONTAINER_ROLE")};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (uid != 0 &&
      (::setgroups(0, nullptr) != 0 || ::setresgid(uid, uid, uid) != 0 || ::setresuid(uid, uid, uid) != 0)) {
    ::_exit(126);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a change of uid drops it
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

// A pid namespace is entered by children alone.
HB_ROLE(container) {
  check(::unshare(CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS), "unshare");
  arrange_mounts();
  const pid_t child = ::fork();
  check(child < 0 ? -1 : 0, "fork");
  if (child == 0) become_role();
  ::close(kChannelFd);  // the end of the other side is to be seen
  // The one to be told to end is inside.
  static pid_t inside = 0;
  inside = child;
  ::signal(SIGTERM, [](int number) { ::kill(inside, number); });
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

}  // namespace

ProcessOptions options_of(const Container& container, const std::string& role) {
  ProcessOptions options;
  options.forbid_fd_theft = true;
  options.env = {{"HB_CONTAINER_MOUNTED", container.mounted},
                 {"HB_CONTAINER_HIDDEN", container.hidden},
                 {"HB_CONTAINER_UID", std::to_string(container.uid)},
                 {"HB_CONTAINER_PROGRAM", container.program},
                 {"HB_CONTAINER_ROLE", role}};
  return options;
}

}  // namespace hb::test
