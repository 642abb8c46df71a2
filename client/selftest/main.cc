// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hipbroker-selftest: every path of the library, tried in two processes on this machine within a minute; what
// it prints is meant to be pasted into an issue. docs/hipbroker-selftest.md.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "actor.h"
#include "exit_codes.h"
#include "lab.h"
#include "page.h"
#include "steps.h"

namespace {

using namespace hb::selftest;

constexpr int kInterrupted = 130;  // as a shell says it of SIGINT

struct Count {
  int pass = 0;
  int fail = 0;
  int not_here = 0;
  bool daemon_gone = false;
};

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);  // what was found out stays, should the machine hang at the next step
}

void line(const char* verdict, const std::string& name, const std::string& reason) {
  char head[64];
  std::snprintf(head, sizeof head, "%-9s %-24s", verdict, name.c_str());
  std::string text = std::string(head) + (reason.empty() ? "" : " " + reason);
  while (text.back() == ' ') text.pop_back();
  print(public_line(text));
}

bool needs_daemon(const Step& step) {
  return step.name.starts_with("host/") || step.name.starts_with("gpu/");
}

void run(const Step& step, Lab& lab, Count& count) {
  try {
    if (lab.left_ns() == 0) throw Failed("not begun: the minute is over");
    step.run(lab);
    ++count.pass;
    line("PASS", step.name, "");
  } catch (const NotHere& reason) {
    ++count.not_here;
    line("NOT HERE", step.name, reason.what());
  } catch (const std::exception& reason) {
    ++count.fail;
    // Whatever such a step says follows from that.
    const std::string end = needs_daemon(step) ? lab.daemon_end() : "";
    if (end.empty())
      line("FAIL", step.name, reason.what());
    else if (count.daemon_gone)
      line("FAIL", step.name, "not run: that daemon is gone");
    else
      line("FAIL", step.name, "the daemon that this test started ended " + end);
    count.daemon_gone = count.daemon_gone || !end.empty();
  }
}

int test(const LabOptions& options) {
  Lab lab(options);
  print(about(lab) + "\n");
  Count count;
  for (const auto& list : {host_steps(), probe_steps(), gpu_steps(), foreign_steps(), peer_steps(lab)})
    for (const Step& step : list) {
      if (interrupted()) return kInterrupted;
      run(step, lab, count);
    }
  print("\n" + std::to_string(count.pass) + " passed, " + std::to_string(count.fail) + " failed, " +
        std::to_string(count.not_here) + " not here\n");
  return count.fail == 0 ? hb::cli::kOk : hb::cli::kRefused;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--actor") == 0) return run_actor();
  LabOptions options;
  CLI::App app("Tries every path of hipbroker in two processes on this machine, within a minute.",
               "hipbroker-selftest");
  app.set_version_flag("--version", std::string("hipbroker-selftest ") + HIPBROKER_VERSION);
  app.add_option("--socket", options.socket, "Use the daemon there; without it one is started for the test")
      ->type_name("PATH");
  app.add_option("--device", options.device, "Ordinal of the GPU to test")
      ->type_name("ORDINAL")
      ->check(CLI::Range(0, 1023))
      ->capture_default_str();
  app.footer(
      "Exit status: 0 nothing failed (what is not here is no failure, and no pass), 1 something failed,\n"
      "64 wrong command line, 69 no daemon at --socket, 71 no daemon could be started.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      app.exit(error, text, text);
      print(text.str());
      return hb::cli::kOk;
    }
    std::fprintf(stderr, "hipbroker-selftest: %s; see hipbroker-selftest --help\n", error.what());
    return hb::cli::kUsage;
  }
  stop_on_signals();
  try {
    return test(options);
  } catch (const std::exception& error) {
    if (interrupted()) return kInterrupted;
    std::fprintf(stderr, "hipbroker-selftest: %s", public_line(error.what()).c_str());
    return options.socket.empty() ? hb::cli::kLocal : hb::cli::kNoDaemon;
  }
}
