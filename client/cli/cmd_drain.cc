// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "cmd.h"
#include "exit_codes.h"
#include "json.h"
#include "number.h"
#include "text.h"

namespace hb::cli {
namespace {

struct Arguments {
  bool off = false;
  double wait_s = 0;
};

bool loses_nothing(const hb_drain_info& info) {
  return info.restart_safe != 0 && info.unsafe_exports == 0 && info.sessions_lost == 0;
}

std::string text_of(const hb_drain_info& info, bool off) {
  std::string out =
      off ? "exports and sessions are taken again\n" : "no new exports and sessions are taken\n";
  if (loses_nothing(info)) {
    out += "restart-safe: yes, a restart loses nothing\n";
  } else {
    out += fmt::format("restart-safe: {}", info.restart_safe != 0 ? "yes" : "no");
    if (*info.reason != '\0') out += fmt::format(" ({})", one_line(info.reason));
    out += '\n';
    if (info.unsafe_exports != 0)
      out += fmt::format(
          "a restart loses the memory of {} exports, unless their owners live and bring it back\n",
          info.unsafe_exports);
    if (info.sessions_lost != 0)
      out += fmt::format("{} sessions end with a restart, and their clients connect again\n",
                         info.sessions_lost);
  }
  if (!off && !loses_nothing(info)) out += "it stays so until the restart, or `hipbrokerctl drain --off`\n";
  if (info.uploads != 0)
    out += fmt::format("{} exports are half sent; they go on after a restart\n", info.uploads);
  return out;
}

std::string drain(Cli& cli, const Arguments& arguments) {
  constexpr int kLookAgainMs = 50;
  Options options = cli.options;
  if (options.view == View::kWidest) options.view = View::kAdmin;
  options.timeout_s = std::max(options.timeout_s, arguments.wait_s + 1);
  const Connection connection = Connection::open(options);
  const std::uint64_t deadline = deadline_of(arguments.wait_s);
  hb_error error = HB_ERROR_INIT;
  hb_drain_info info = HB_DRAIN_INFO_INIT;
  for (;;) {
    check(
        hb_drain(connection.client(), arguments.off ? HB_DRAIN_OFF : 0, connection.deadline(), &info, &error),
        error);
    if (arguments.wait_s <= 0 || loses_nothing(info) || hb_deadline_in(0) >= deadline) break;
    (void)::poll(nullptr, 0, kLookAgainMs);
  }
  if (!arguments.off && !loses_nothing(info)) cli.exit_code = kWouldLose;
  if (options.json) {
    return dump({{"draining", !arguments.off},
                 {"restart_safe", info.restart_safe != 0},
                 {"reason", string_or_null(info.reason)},
                 {"unsafe_exports", info.unsafe_exports},
                 {"uploads", info.uploads},
                 {"sessions_lost", info.sessions_lost}});
  }
  return text_of(info, arguments.off);
}

}  // namespace

void add_drain(Cli& cli) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = cli.app.add_subcommand(
      "drain",
      "Before a restart: let the daemon take no new exports and sessions, and say what would be lost");
  verb->fallthrough();
  verb->add_flag("--off", arguments->off, "As before again");
  verb->add_option("--wait", arguments->wait_s, "Wait for so long until nothing would be lost")
      ->type_name("SECONDS")
      ->transform(seconds());
  verb->callback([&cli, arguments] { cli.run = [&cli, arguments] { return drain(cli, *arguments); }; });
}

}  // namespace hb::cli
