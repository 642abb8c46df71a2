// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <fmt/format.h>

#include "cmd.h"
#include "exit_codes.h"
#include "format.h"
#include "json.h"

namespace hb::cli {
namespace {

std::string version(const Options& options) {
  Json daemon = nullptr;
  std::string line = "daemon: none answers\n";
  try {
    const Connection connection = Connection::open(options);
    const hb_client_info& info = connection.info();
    daemon = {{"version", info.daemon}, {"protocol", info.protocol}, {"socket", info.socket}};
    line =
        fmt::format("daemon: {}, protocol {}, at {}\n", safe(info.daemon), info.protocol, safe(info.socket));
  } catch (const Failure& failure) {
    // No daemon is an answer here; anything else that went wrong is not.
    if (failure.exit_code() != kNoDaemon) throw;
  }
  if (options.json)
    return dump(
        {{"hipbrokerctl", HIPBROKER_VERSION}, {"libhipbroker", hb_library_version()}, {"daemon", daemon}});
  return fmt::format("hipbrokerctl {}\nlibhipbroker {}\n{}", HIPBROKER_VERSION, hb_library_version(), line);
}

}  // namespace

void add_version(Cli& cli) {
  CLI::App* verb = cli.app.add_subcommand("version", "Versions of this tool, its library and the daemon");
  verb->fallthrough();
  verb->callback([&cli] { cli.run = [&cli] { return version(cli.options); }; });
}

}  // namespace hb::cli
