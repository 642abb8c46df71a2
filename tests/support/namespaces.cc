// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/namespaces.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <stdexcept>

#include "support/temp_dir.h"

namespace hb::test {
namespace {

namespace fs = std::filesystem;

static_assert(kAllNamespaces == (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                                 CLONE_NEWCGROUP | CLONE_NEWNS));

const char* bind(const std::string& from, const std::string& to) {
  struct stat status {};
  if (::stat(from.c_str(), &status) != 0) return "stat of what is bound";
  std::error_code error;
  fs::create_directories(S_ISDIR(status.st_mode) ? fs::path(to) : fs::path(to).parent_path(), error);
  if (error) return "mkdir for what is bound";
  if (!S_ISDIR(status.st_mode)) write_file(to, "");
  return ::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0 ? nullptr
                                                                                    : "mount(MS_BIND)";
}

const char* make_root(const Namespaces& wanted) {
  const std::string& root = wanted.root;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return "mount(MS_PRIVATE)";
  if (::mount("root", root.c_str(), "tmpfs", 0, "mode=0755") != 0) return "mount(tmpfs)";
  for (const char* name : {"/bin", "/lib", "/lib64", "/sbin"}) {
    std::error_code error;
    if (fs::is_symlink(name)) {
      fs::create_symlink(fs::read_symlink(name), root + name, error);
      if (error) return "symlink";
    } else if (fs::exists(name)) {
      if (const char* failed = bind(name, root + name)) return failed;
    }
  }
  for (const char* name : {"/usr", "/dev/null", HB_TEST_BUILD_DIR}) {
    if (const char* failed = bind(name, root + name)) return failed;
  }
  for (const auto& [from, to] : wanted.binds) {
    if (const char* failed = bind(from, root + to)) return failed;
  }
  fs::create_directory(root + "/proc");
  // Where the host's /proc has parts covered, as inside another container, a new one is not allowed.
  if (((wanted.flags & CLONE_NEWPID) == 0 ||
       ::mount("proc", (root + "/proc").c_str(), "proc", 0, nullptr) != 0) &&
      ::mount("/proc", (root + "/proc").c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
    return "mount(/proc)";
  }
  if (::chdir(root.c_str()) != 0) return "chdir";
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return "pivot_root";
  if (::umount2(".", MNT_DETACH) != 0) return "umount2";
  return ::chdir("/") == 0 ? nullptr : "chdir";
}

}  // namespace

pid_t NamespaceFork::fork() {
  if (wanted_.flags == 0) return ::fork();
  if (::pipe2(gate_, O_CLOEXEC) != 0) return -1;
  return static_cast<pid_t>(::syscall(SYS_clone, wanted_.flags | SIGCHLD, nullptr, nullptr, nullptr, 0));
}

void NamespaceFork::let_go(pid_t child) {
  if (wanted_.flags == 0) return;
  const std::string proc = "/proc/" + std::to_string(child);
  if (!wanted_.uid_map.empty()) write_file(proc + "/uid_map", wanted_.uid_map);
  if (!wanted_.gid_map.empty()) write_file(proc + "/gid_map", wanted_.gid_map);
  ::close(gate_[0]);
  ::close(gate_[1]);
}

const char* NamespaceFork::enter() {
  if (wanted_.flags == 0) return nullptr;
  ::close(gate_[1]);
  char byte;
  if (::read(gate_[0], &byte, 1) != 0) return "read of the gate";
  ::close(gate_[0]);
  if (!wanted_.uid_map.empty()) {
    if (::setgroups(0, nullptr) != 0) return "setgroups inside";
    if (::setresgid(0, 0, 0) != 0) return "setresgid inside";
    if (::setresuid(0, 0, 0) != 0) return "setresuid inside";
  }
  return wanted_.root.empty() ? nullptr : make_root(wanted_);
}

}  // namespace hb::test
