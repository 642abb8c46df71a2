// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <fmt/format.h>

#include <cstdio>
#include <span>

#include "cmd.h"
#include "exit_codes.h"
#include "fetch.h"
#include "hipbroker/policy.h"
#include "json.h"
#include "text.h"

namespace hb::cli {
namespace {

using Lines = std::span<const char* const>;

std::string counted(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Json json_of(const hb_reload_info& info) {
  const auto list = [](Lines lines) {
    Json out = Json::array();
    for (const char* line : lines) out.push_back(line);
    return out;
  };
  return {{"applied", info.applied != 0},
          {"file", string_or_null(info.file)},
          {"rules", info.rules},
          {"overrides", info.overrides},
          {"sessions", info.sessions},
          {"errors", list({info.errors, info.error_count})},
          {"warnings", list({info.warnings, info.warning_count})}};
}

std::string text_of(const hb_reload_info& info) {
  std::string out;
  for (const char* line : Lines(info.warnings, info.warning_count)) out += one_line(line) + '\n';
  const std::string file = one_line(info.file);
  out += file.empty() ? "no policy file: the built-in policy holds"
                      : fmt::format("reloaded {}: {}, {}", file, counted(info.rules, "rule"),
                                    counted(info.overrides, "quota override"));
  return out + fmt::format("; {} by it from now on\n", info.sessions == 1
                                                           ? "1 session has its rights and limits"
                                                           : counted(info.sessions, "session") +
                                                                 " have their rights and "
                                                                 "limits");
}

std::string reload(Cli& cli) {
  Options options = cli.options;
  if (options.view == View::kWidest) options.view = View::kAdmin;
  const Connection connection = Connection::open(options);
  hb_error error = HB_ERROR_INIT;
  hb_reload* raw = nullptr;
  check(hb_policy_reload(connection.client(), connection.deadline(), &raw, &error), error);
  const Owned<hb_reload, hb_reload_destroy> owned(raw);
  hb_reload_info info = HB_RELOAD_INFO_INIT;
  hb_reload_get_info(raw, &info);
  if (info.applied == 0) cli.exit_code = kRefused;
  if (options.json) return dump(json_of(info));
  if (info.applied != 0) return text_of(info);
  // All of them, a line each; what a Failure says is one line.
  for (const char* line : Lines(info.errors, info.error_count)) fmt::print(stderr, "{}\n", one_line(line));
  throw Failure(kRefused, fmt::format("{} in {}; nothing has changed", counted(info.error_count, "error"),
                                      one_line(info.file)));
}

}  // namespace

void add_reload(Cli& cli) {
  CLI::App* verb =
      cli.app.add_subcommand("reload", "Let the daemon read its policy file anew; what exists stays");
  verb->fallthrough();
  verb->callback([&cli] { cli.run = [&cli] { return reload(cli); }; });
}

}  // namespace hb::cli
