// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cmd.h"
#include "exit_codes.h"
#include "fetch.h"
#include "format.h"
#include "holding_view.h"
#include "number.h"
#include "progress.h"
#include "target.h"

namespace hb::cli {
namespace {

struct Outcome {
  std::uint64_t revoked = 0;
  std::uint64_t holders_at_first = 0;
  std::uint64_t waited_ns = 0;
  std::uint64_t export_id = 0;
  Owned<hb_holders, hb_holders_free> left;

  [[nodiscard]] std::vector<const hb_held*> entries() const {
    std::vector<const hb_held*> out;
    for (std::size_t i = 0; i < hb_holders_count(left.get()); ++i)
      out.push_back(hb_holders_at(left.get(), i));
    return out;
  }
};

// What it takes back, and whom it waits for. Nothing where it has ended and nobody holds it.
hb_status ask(const Connection& connection, const Target& target, std::uint64_t grace_ns,
              std::uint64_t deadline_ns, Outcome& outcome) {
  hb_error error = HB_ERROR_INIT;
  hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
  hb_holders* left = nullptr;
  const hb_status status = hb_revoke(connection.client(), target.name_or_null(), target.owner_uid,
                                     target.export_id, grace_ns, deadline_ns, &withdrawn, &left, &error);
  if (status != HB_OK && status != HB_GONE) throw failure_of(status, error);
  outcome.left.reset(left);
  outcome.revoked += withdrawn.exports;
  return status;
}

// One export from here on: its name may go on to another while this one is waited for.
Target fixed(const Connection& connection, const Target& target) {
  check_key(connection, target);
  hb_error error = HB_ERROR_INIT;
  hb_shown* shown = nullptr;
  Target out;
  if (target.export_id != 0) {
    out.export_id = target.export_id;
    return out;
  }
  check(hb_show(connection.client(), target.name_or_null(), target.owner_uid, 0, connection.deadline(),
                &shown, &error),
        error);
  out.export_id = hb_shown_export(shown)->export_id;
  hb_shown_free(shown);
  return out;
}

// At once, so that the key is dead before anybody waits; then in steps, for a person who watches.
Outcome revoke(const Options& options, const Target& target, std::uint64_t grace_ns) {
  constexpr std::uint64_t kStepNs = 1'000'000'000;
  const Connection connection = Connection::open(options);
  const Progress progress;
  Outcome outcome;
  const Target same = fixed(connection, target);
  outcome.export_id = same.export_id;
  (void)ask(connection, same, 0, connection.deadline(), outcome);
  outcome.holders_at_first = hb_holders_count(outcome.left.get());
  const std::uint64_t start = hb_deadline_in(0);
  const std::uint64_t end = hb_deadline_in(grace_ns);
  while (hb_holders_count(outcome.left.get()) != 0 && hb_deadline_in(0) < end) {
    const std::uint64_t now = hb_deadline_in(0);
    progress.tell(fmt::format("revoked; {} left, {} to go", hb_holders_count(outcome.left.get()),
                              format_age(end - now)));
    const std::uint64_t step = progress.shown() ? std::min(kStepNs, end - now) : end - now;
    const std::uint64_t patience = deadline_of(options.timeout_s) - hb_deadline_in(0);
    (void)ask(connection, same, step, hb_deadline_in(step + patience), outcome);
  }
  outcome.waited_ns = hb_deadline_in(0) - start;
  return outcome;
}

std::string text_of(const Outcome& outcome, const std::string& shown) {
  const std::vector<const hb_held*> left = outcome.entries();
  std::string out =
      outcome.revoked != 0
          ? fmt::format("revoked {}: its key is dead, the descriptors of the daemon are closed\n", shown)
          : fmt::format("{} had ended before: its key is dead, the descriptors of the daemon are closed\n",
                        shown);
  if (left.empty()) {
    out += outcome.holders_at_first == 0
               ? "nobody holds it\n"
               : fmt::format("nobody holds it any more: {} gave it back within {}\n",
                             outcome.holders_at_first, format_age(outcome.waited_ns));
    return out;
  }
  out += fmt::format("still held by {} after {}:\n", left.size(), format_age(outcome.waited_ns));
  out += holder_lines(left);
  out += "the memory returns only when they unmap it or exit; nobody can do that for them\n";
  out += fmt::format("to wait for them again: hipbrokerctl revoke --id {} --grace 10s\n", outcome.export_id);
  return out;
}

Json json_of(const Outcome& outcome, const Target& target) {
  Json left = Json::array();
  for (const hb_held* h : outcome.entries()) left.push_back(to_json(*h));
  return {{"name", target.name.empty() ? Json(nullptr) : Json(target.name)},
          {"export_id", outcome.export_id},
          {"revoked", outcome.revoked},
          {"key_dead", true},
          {"descriptors_closed", true},
          {"waited_ns", outcome.waited_ns},
          {"left", std::move(left)}};
}

}  // namespace

void add_revoke(Cli& cli) {
  struct Arguments {
    std::string name;
    std::optional<std::uint32_t> owner;
    std::optional<std::uint64_t> id;
    std::string grace;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb =
      cli.app.add_subcommand("revoke", "Take an export back from its holders, and name who is left");
  verb->fallthrough();
  verb->add_option("NAME", arguments->name, "NAME, UID:NAME or the text of a key");
  verb->add_option("--owner,--uid", arguments->owner, "Uid that owns the name")
      ->type_name("UID")
      ->check(whole_number(std::numeric_limits<std::uint32_t>::max()));
  verb->add_option("--id", arguments->id, "The export of this id, in place of a name")
      ->type_name("ID")
      ->check(whole_number(std::numeric_limits<std::uint64_t>::max()));
  verb->add_option("--grace", arguments->grace,
                   "How long to wait for the holders: 10s, 500ms, 2m; 0 = not at all")
      ->type_name("TIME")
      ->check(duration());
  verb->callback([&cli, arguments] {
    cli.run = [&cli, arguments]() -> std::string {
      if (arguments->name.empty() && !arguments->id)
        throw Failure(kUsage, "say which export: revoke NAME, revoke UID:NAME or revoke --id ID");
      const Target target = parse_target(arguments->name, arguments->owner, arguments->id);
      const Outcome outcome = revoke(cli.options, target, duration_ns(arguments->grace));
      cli.exit_code = hb_holders_count(outcome.left.get()) == 0 ? kOk : kStillHeld;
      if (cli.options.json) return dump(json_of(outcome, target));
      return text_of(outcome, target.name.empty() ? fmt::format("export {}", target.export_id)
                                                  : safe(target.name.c_str()));
    };
  });
}

}  // namespace hb::cli
