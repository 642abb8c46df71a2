// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <cstdlib>
#include <vector>

#include "cmd.h"
#include "diagnosis.h"
#include "doctor_view.h"
#include "exit_codes.h"
#include "fetch.h"
#include "format.h"
#include "pins.h"
#include "progress.h"
#include "terminal.h"

namespace hb::cli {
namespace {

std::string pins_of(const Options& options) {
  const char* const root = ::secure_getenv("HIPBROKER_SYSFS_ROOT");
  std::vector<GpuPins> gpus = gpus_in_use(root == nullptr ? "" : root);
  const Connection connection = Connection::open(options);
  const Exports exports = fetch_exports(connection, {}, HB_LIST_ENDED);
  explain(gpus, exports.entries);
  if (options.json) return dump(pins_json(gpus, connection.info().admin != 0));
  const TableStyle style = style_of(options);
  return pins_text(gpus, style) + view_note(style, connection);
}

}  // namespace

void add_doctor(Cli& cli) {
  auto what = std::make_shared<DoctorOptions>();
  auto pins = std::make_shared<bool>(false);
  CLI::App* verb = cli.app.add_subcommand("doctor", "Does sharing work here? What is wrong, and what to do");
  verb->fallthrough();
  verb->add_flag("--peers", what->peers, "Compare what every GPU reads and writes in memory of every other");
  verb->add_flag("--again", what->again, "Try the runtime out anew, whatever is remembered of it");
  verb->add_option("--root", what->root,
                   "Where the files of the node begin, /proc, /sys, /boot, /etc, /run: of an image, a chroot")
      ->type_name("DIR");
  verb->add_flag("--pins", *pins,
                 "Only: memory in use on every GPU, and how much of it the broker can explain");
  verb->callback([&cli, what, pins] {
    cli.run = [&cli, what, pins]() -> std::string {
      // The library finds the GPUs of the kernel there, too.
      if (!what->root.empty()) ::setenv("HIPBROKER_SYSFS_ROOT", what->root.c_str(), 1);
      if (*pins) return pins_of(cli.options);
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
