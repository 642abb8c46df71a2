// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "connection.h"

namespace hb::cli {

// A verb puts its options on `app` and leaves in `run` what to do when it is the one chosen. run() writes
// nothing itself: it returns what belongs on stdout. One that never ends (audit --follow) has to.
struct Cli {
  CLI::App& app;
  const Options& options;
  std::function<std::string()> run;
  int exit_code = 0;  // of a run that came to its end
};

void add_ls(Cli& cli);
void add_show(Cli& cli);
void add_who(Cli& cli);
void add_why(Cli& cli);
void add_revoke(Cli& cli);
void add_reload(Cli& cli);
void add_check_policy(Cli& cli);
void add_drain(Cli& cli);
void add_ping(Cli& cli);
void add_doctor(Cli& cli);
void add_version(Cli& cli);
void add_completion(Cli& cli);
void add_quota(Cli& cli);
void add_audit(Cli& cli);
void add_scope(Cli& cli);
void add_metrics(Cli& cli);

}  // namespace hb::cli
