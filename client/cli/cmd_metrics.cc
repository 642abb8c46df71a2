// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "cmd.h"
#include "exit_codes.h"
#include "metrics_text.h"
#include "quota_view.h"
#include "whole_file.h"

namespace hb::cli {
namespace {

std::string fetch(const Options& options) {
  Options as_admin = options;
  if (as_admin.view == View::kWidest) as_admin.view = View::kAdmin;
  const Connection connection = Connection::open(as_admin);
  hb_daemon_status status = HB_DAEMON_STATUS_INIT;
  hb_error error = HB_ERROR_INIT;
  check(hb_daemon_get_status(connection.client(), connection.deadline(), &status, &error), error);
  return metrics_text(connection.info(), status, fetch_accounts(connection).entries);
}

std::string metrics(const Options& options, const std::string& path) {
  if (path.empty()) return fetch(options);
  try {
    write_whole_file(path, fetch(options));
  } catch (const Failure& failure) {
    // Else the last numbers of a dead daemon would be reported for ever.
    if (failure.exit_code() == kNoDaemon) write_whole_file(path, metrics_text_of_no_daemon());
    throw;
  }
  return {};
}

}  // namespace

void add_metrics(Cli& cli) {
  auto path = std::make_shared<std::string>();
  CLI::App* verb = cli.app.add_subcommand("metrics", "Print counters and quotas for Prometheus");
  verb->fallthrough();
  verb->add_option("--file", *path, "Write them there, whole or not at all; for node_exporter's collector")
      ->type_name("PATH");
  verb->callback([&cli, path] { cli.run = [&cli, path] { return metrics(cli.options, *path); }; });
}

}  // namespace hb::cli
