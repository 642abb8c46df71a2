// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hipbrokerctl: looks at what processes share through hipbrokerd. Speaks the public C API only.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "cmd.h"
#include "exit_codes.h"
#include "number.h"
#include "text.h"

namespace {

using namespace hb::cli;

int fail(const std::string& where, const std::string& message, int code) {
  fmt::print(stderr, "hipbrokerctl: {}{}{}\n", where, where.empty() ? "" : ": ", one_line(message));
  return code;
}

// Output that was not written is a failure: `ls --json > full-disk` must not look like an empty list.
int write_out(const std::string& verb, const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return kOk;
  return fail(verb, fmt::format("writing to stdout: {}", std::strerror(errno)), kLocal);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Looks at memory that processes share through hipbrokerd.", "hipbrokerctl");
  app.set_version_flag("--version", std::string("hipbrokerctl ") + HIPBROKER_VERSION);
  app.require_subcommand(1);
  app.add_option("--socket", options.socket,
                 "The daemon's socket; else $HIPBROKER_SOCKET, /run/hipbroker, $XDG_RUNTIME_DIR/hipbroker")
      ->type_name("PATH");
  app.add_option("--timeout", options.timeout_s, "Seconds the whole verb may take")
      ->type_name("SECONDS")
      ->transform(seconds())
      ->capture_default_str();
  bool admin = false;
  bool no_admin = false;
  app.add_flag("--admin", admin, "Demand the admin socket; without it, used where it can be opened");
  app.add_flag("--no-admin", no_admin, "Stay on the ordinary socket");
  app.add_flag("--json", options.json, "Print JSON with stable keys");
  bool no_header = false;
  app.add_flag("--no-header", no_header, "No titles above tables");
  app.footer(
      "Exit status: 0 done, 1 refused by the daemon (doctor: warnings), 2 doctor: broken, 3 still held,\n"
      "4 check-policy: not allowed, 5 drain: a restart would lose something, 64 wrong command line, 69 no "
      "daemon, 71 something failed on this side.");

  Cli cli{app, options, {}, kOk};
  add_ls(cli);
  add_show(cli);
  add_who(cli);
  add_why(cli);
  add_revoke(cli);
  add_check_policy(cli);
  add_reload(cli);
  add_drain(cli);
  add_quota(cli);
  add_scope(cli);
  add_audit(cli);
  add_metrics(cli);
  add_ping(cli);
  add_doctor(cli);
  add_version(cli);
  add_completion(cli);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      app.exit(error, text, text);
      return write_out("", text.str());
    }
    std::string message = error.what();
    const std::vector<std::string> rest = app.remaining();
    if (app.get_subcommands().empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
      message =
          (rest.empty() ? "" : fmt::format("'{}' is no verb; ", rest.front())) +
          "say what to do: ls, show, who, why, revoke, check-policy, reload, quota, scope, audit, metrics, "
          "ping, drain, doctor, version or "
          "completion";
    return fail("", message + "; see hipbrokerctl --help", kUsage);
  }
  options.header = !no_header;
  const std::string verb = app.get_subcommands().front()->get_name();
  if (admin && no_admin) return fail(verb, "--admin and --no-admin exclude each other", kUsage);
  options.view = admin ? View::kAdmin : no_admin ? View::kOwn : View::kWidest;

  // Exceptions stop here: a Failure is a verb that ended early, anything else a defect or no memory.
  try {
    const int written = write_out(verb, cli.run());
    return written != kOk ? written : cli.exit_code;
  } catch (const Failure& failure) {
    return fail(verb, failure.what(), failure.exit_code());
  } catch (const std::exception& error) {
    return fail(verb, error.what(), kLocal);
  }
}
