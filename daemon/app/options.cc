// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "app/socket_rule.h"
#include "ipc/translate_reply.h"
#include "wire/name.h"

namespace hb::app {
namespace {

tl::unexpected<Exit> usage(std::string line) { return tl::unexpected(Exit{kExitUsage, {std::move(line)}}); }

std::string in_quotes(const std::string& text) { return "\"" + escape_for_display(text) + "\""; }

// Of a path that no configuration named, with the admin socket that it brings.
std::optional<std::string> fault_of(const std::string& socket) {
  if (auto fault = fault_of_socket_path(socket)) return fault;
  return fault_of_admin_socket_beside(socket);
}

}  // namespace

tl::expected<Settings, Exit> read_settings(int argc, const char* const* argv) {
  CLI::App cli("hipbrokerd: keeps the book of memory that processes of this node share", "hipbrokerd");
  std::string config_file;
  std::string socket;
  std::string level;
  std::string policy_file;
  std::string user;
  std::string sandbox;
  std::string grace;
  Settings settings;
  auto* config_option =
      cli.add_option("--config", config_file,
                     std::string("configuration file (default ") + kDefaultConfig + ", if it exists)");
  auto* socket_option = cli.add_option("--socket", socket,
                                       std::string("path of the socket (default ") + kDefaultSocket +
                                           "); the admin socket is admin/admin.sock beside it");
  auto* policy_option =
      cli.add_option("--policy", policy_file,
                     std::string("policy file (default ") + policy::kDefaultFile + ", if it exists)");
  cli.add_flag("--check,--check-config", settings.check_only, "check configuration and policy, and exit");
  auto* user_option =
      cli.add_option("--user", user,
                     "serve $XDG_RUNTIME_DIR/hipbroker/broker.sock; with a NAME, started as root: become "
                     "that user")
          ->expected(0, 1)
          ->type_name("[NAME]");
  auto* sandbox_option =
      cli.add_option("--sandbox", sandbox, "on (default) or off: give up what serving does not need");
  auto* grace_option = cli.add_option(
      "--grace", grace, "how long exports wait for their owners after a restart (default 30s)");
  auto* level_option =
      cli.add_option("--log-level", level, std::string(observe::kLevelNames) + " (default info)");
  cli.set_version_flag("--version", ipc::daemon_name());
  try {
    cli.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return tl::unexpected(Exit{kExitOk, {cli.help()}});
  } catch (const CLI::CallForVersion&) {
    return tl::unexpected(Exit{kExitOk, {ipc::daemon_name()}});
  } catch (const CLI::ParseError& error) {
    return usage("hipbrokerd: " + escape_for_display(error.what()) + "; see hipbrokerd --help");
  }

  Config config;
  if (config_option->count() != 0 && config_file.empty()) {
    return usage("hipbrokerd: --config is \"\", expected the path of a file");
  }
  if (config_option->count() == 0 && ::access(kDefaultConfig, F_OK) == 0) config_file = kDefaultConfig;
  if (policy_option->count() != 0) {
    if (policy_file.empty()) return usage("hipbrokerd: --policy is \"\", expected the path of a file");
    // It is read again at a reload.
    settings.policy_source = {std::filesystem::absolute(policy_file).string(), true};
  }
  conf::Errors wrong;  // of both files, so that all of it is seen at once
  if (!config_file.empty()) {
    auto read = read_config(config_file);
    if (read) {
      config = std::move(*read);
    } else {
      wrong = std::move(read.error());
    }
    settings.config_file = config_file;
  }
  if (config.policy && !settings.policy_source.named) settings.policy_source = {*config.policy, true};
  // Where the configuration is wrong it is not known which policy was meant, unless it was said here.
  if (wrong.empty() || settings.policy_source.named) {
    auto read = settings.policy_source.read();
    if (read) {
      settings.policy = std::move(*read);
    } else {
      wrong.insert(wrong.end(), read.error().begin(), read.error().end());
    }
  }
  if (!wrong.empty()) return tl::unexpected(Exit{kExitUsage, std::move(wrong)});

  settings.log_level = config.log_level.value_or(observe::Level::kInfo);
  if (level_option->count() != 0) {
    const auto known = observe::level_from_name(level);
    if (!known) {
      return usage("hipbrokerd: --log-level is " + in_quotes(level) + ", expected one of " +
                   std::string(observe::kLevelNames));
    }
    settings.log_level = *known;
  }
  if (sandbox_option->count() != 0) {
    const auto known = parse_switch(sandbox);
    if (!known) return usage("hipbrokerd: --sandbox is " + in_quotes(sandbox) + ", expected on or off");
    config.sandbox = known;
  }
  settings.sandbox = config.sandbox.value_or(kSandboxByDefault);
  if (grace_option->count() != 0) {
    config.grace_ns = parse_grace(grace);
    if (!config.grace_ns)
      return usage("hipbrokerd: --grace is " + in_quotes(grace) + ", expected " + kGraceForm);
  }
  settings.grace_ns = config.grace_ns.value_or(settings.grace_ns);
  const bool personal = user_option->count() != 0 && user.empty();
  settings.personal = personal;
  if (personal && socket_option->count() != 0) {
    return usage("hipbrokerd: --user serves a socket of its own, not together with --socket");
  }
  // A user's own daemon is that user's, whatever the node's configuration says.
  if (!personal) settings.user = user.empty() ? config.user.value_or("") : user;
  if (personal) {
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    if (runtime == nullptr || runtime[0] != '/') {
      return usage(
          "hipbrokerd: --user needs $XDG_RUNTIME_DIR to be an absolute path; use --socket PATH instead");
    }
    settings.socket = std::string(runtime) + "/hipbroker/broker.sock";
    if (const auto fault = fault_of(settings.socket)) {
      return usage("hipbrokerd: the socket of --user is " + *fault);
    }
    settings.admin_socket = admin_socket_beside(settings.socket);
  } else if (socket_option->count() != 0) {
    if (const auto fault = fault_of(socket)) return usage("hipbrokerd: --socket is " + *fault);
    settings.socket = socket;
    settings.admin_socket = admin_socket_beside(socket);
  } else {
    settings.socket = config.socket.value_or(kDefaultSocket);
    settings.admin_socket = config.admin_socket.value_or(admin_socket_beside(settings.socket));
  }
  settings.ended_exports = config.ended_exports.value_or(0);
  settings.ended_export_ns = config.ended_export_seconds.value_or(0) * 1'000'000'000;
  settings.drivers = std::move(config.allow_driver);
  return settings;
}

}  // namespace hb::app
