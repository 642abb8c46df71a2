// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <fmt/format.h>
#include <unistd.h>

#include "cmd.h"
#include "diagnosis.h"
#include "doctor_view.h"
#include "exit_codes.h"
#include "format.h"
#include "terminal.h"

namespace hb::cli {
namespace {

// What is being done, on one line that is gone when it is over; a person waits up to 20 s for a driver.
class Progress {
 public:
  Progress() : shown_(::isatty(STDERR_FILENO) == 1) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void tell(const std::string& what) const {
    if (shown_) fmt::print(stderr, "\r\033[K{} ...", what);
  }
  void clear() const {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

 private:
  bool shown_;
};

}  // namespace

void add_doctor(Cli& cli) {
  auto what = std::make_shared<DoctorOptions>();
  CLI::App* verb = cli.app.add_subcommand("doctor", "Does sharing work here? What is wrong, and what to do");
  verb->fallthrough();
  verb->add_flag("--peers", what->peers, "Compare what every GPU reads and writes in memory of every other");
  verb->add_flag("--again", what->again, "Try the runtime out anew, whatever is remembered of it");
  verb->callback([&cli, what] {
    cli.run = [&cli, what]() -> std::string {
      const Progress progress;
      const Diagnosis diagnosis =
          diagnose(cli.options, *what, [&progress](const std::string& text) { progress.tell(text); });
      const std::vector<Problem> problems = problems_of(diagnosis);
      const Grade worst = worst_of(problems);
      cli.exit_code = worst == Grade::kBroken ? kBroken : worst == Grade::kWarning ? kRefused : kOk;
      if (cli.options.json) return dump(doctor_json(diagnosis, problems));
      return doctor_text(diagnosis, problems, style_of(cli.options));
    };
  });
}

}  // namespace hb::cli
