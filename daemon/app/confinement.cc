// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/confinement.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "observe/log.h"
#include "os/id_map.h"
#include "os/run_as.h"
#include "wire/name.h"
#include "wire/sys_error.h"

namespace hb::app {
namespace {

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string shown(const std::string& path) { return "\"" + escape_for_display(path) + "\""; }

tl::unexpected<Exit> fail(std::string why) { return tl::unexpected(Exit{kExitLocal, {std::move(why)}}); }

// The daemon's own directories. Those of sockets that a service manager opened may not exist.
std::vector<std::string> own_directories(const Settings& settings) {
  return {parent_of(settings.socket), parent_of(settings.admin_socket)};
}

// A configuration may be a link to a file elsewhere, and a new one takes its place by rename.
void add_readable(const std::string& file, std::vector<std::string>& out) {
  // A directory that is not there yet may come later, with the file in it: rules are of what exists.
  std::string directory = parent_of(file);
  while (directory.size() > 1 && ::access(directory.c_str(), F_OK) != 0) directory = parent_of(directory);
  out.push_back(directory);
  char* resolved = ::realpath(file.c_str(), nullptr);
  if (resolved != nullptr) out.push_back(parent_of(resolved));
  std::free(resolved);
}

}  // namespace

os::FileView files_of(const Settings& settings) {
  os::FileView view;
  view.read = {"/proc"};
  add_readable(settings.config_file.empty() ? kDefaultConfig : settings.config_file, view.read);
  add_readable(settings.policy_source.file, view.read);
  view.write = own_directories(settings);
  view.write.emplace_back("/dev/null");
  return view;
}

tl::expected<void, Exit> check_user_namespace() {
  const os::IdMap uids = os::IdMaps::of_process().uids;
  if (uids.mapped == 0) {
    return fail(
        "this user namespace maps no uid, so that all clients would look alike: write /proc/PID/uid_map "
        "and gid_map first (unshare --map-auto, --map-root-user, or the container's runtime do)");
  }
  if (!uids.whole()) {
    observe::log(observe::Level::kInfo, "in a user namespace of " + std::to_string(uids.mapped) +
                                            " uids: clients of others show as uid " +
                                            std::to_string(uids.overflow) +
                                            " and are refused, and so is that uid itself");
  }
  return {};
}

tl::expected<void, Exit> become_user(const Settings& settings) {
  if (settings.user.empty()) {
    if (::geteuid() == 0) {
      observe::log(observe::Level::kWarning, observe::Message::kRunsAsRoot,
                   "runs as root, and needs nothing of root's: --user NAME, or user = \"NAME\" in the "
                   "configuration, makes it that user once it has started");
    }
    return {};
  }
  const auto user = os::find_user(settings.user);
  if (!user) return fail(user.error());
  const std::string name = "user " + shown(settings.user) + " (uid " + std::to_string(user->uid) + ")";
  if (::geteuid() != 0) {
    if (::geteuid() == user->uid) return {};
    return fail("only root can become " + name + ", this is uid " + std::to_string(::geteuid()) +
                ": start it as root or as that user, or leave `user` out");
  }
  const std::string directory = parent_of(settings.socket);
  const std::string admin_directory = parent_of(settings.admin_socket);
  if (auto made = os::make_directory_of(*user, directory, 0755); !made) return fail(std::move(made.error()));
  // Beside the socket that user makes it alone.
  if (parent_of(admin_directory) != directory) {
    if (auto made = os::make_directory_of(*user, admin_directory, 0700); !made) {
      return fail(std::move(made.error()));
    }
  }
  if (auto became = os::become_user(*user); !became) return fail(std::move(became.error()));
  for (const std::string& own : own_directories(settings)) {
    if (::faccessat(AT_FDCWD, own.c_str(), W_OK | X_OK, AT_EACCESS) == 0 || errno == ENOENT) continue;
    return fail(name + " cannot make a socket in " + shown(own) + ": " + SysError::last("access").text() +
                "; chown it to that user, or remove it: it is then made anew");
  }
  for (const std::string& file : {settings.config_file, settings.policy_source.file}) {
    if (file.empty() || ::access(file.c_str(), R_OK) == 0 || errno == ENOENT) continue;
    observe::log(observe::Level::kWarning, observe::Message::kUnreadableLater,
                 name + " cannot read " + shown(file) + ": " + SysError::last("access").text() +
                     "; it was read as root, and cannot be read again: chgrp and chmod g+r it");
  }
  observe::log(observe::Level::kInfo, "became " + name);
  return {};
}

tl::expected<os::SandboxState, Exit> enter_sandbox(const Settings& settings) {
  if (!settings.sandbox) {
    observe::log(observe::Level::kWarning, observe::Message::kSandboxOff, "sandbox: off, as configured");
    return os::SandboxState();
  }
  auto state = os::enter_sandbox(files_of(settings));
  if (!state) {
    return fail("the sandbox: " + state.error() + "; sandbox = \"off\" or --sandbox off serves without it");
  }
  observe::log(observe::Level::kInfo, "sandbox: " + state->text());
  for (const std::string& missing : state->missing) {
    observe::log(observe::Level::kWarning, observe::Message::kSandboxIncomplete,
                 "sandbox: without " + missing + "; the daemon serves, with less around it");
  }
  return *std::move(state);
}

}  // namespace hb::app
