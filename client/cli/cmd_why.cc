// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <algorithm>
#include <limits>

#include "cmd.h"
#include "exit_codes.h"
#include "fetch.h"
#include "holding_view.h"
#include "number.h"
#include "target.h"
#include "terminal.h"

namespace hb::cli {
namespace {

// All that bear the name or bore it and are still held; or the one of that id.
bool is_meant(const hb_listed& e, const Target& target, std::uint32_t own_uid) {
  if (target.export_id != 0) return e.export_id == target.export_id;
  return target.name == e.name &&
         e.owner_uid == (target.owner_uid == HB_OWN_UID ? own_uid : target.owner_uid);
}

}  // namespace

void add_why(Cli& cli) {
  struct Arguments {
    std::string name;
    std::optional<std::uint32_t> owner;
    std::optional<std::uint64_t> id;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = cli.app.add_subcommand("why", "Why the memory of an export has not come back");
  verb->fallthrough();
  verb->add_option("NAME", arguments->name, "NAME, UID:NAME or the text of a key");
  verb->add_option("--owner", arguments->owner, "Uid that owns the name")
      ->type_name("UID")
      ->check(whole_number(std::numeric_limits<std::uint32_t>::max()));
  verb->add_option("--id", arguments->id, "The export of this id, in place of a name")
      ->type_name("ID")
      ->check(whole_number(std::numeric_limits<std::uint64_t>::max()));
  verb->callback([&cli, arguments] {
    cli.run = [&cli, arguments]() -> std::string {
      if (arguments->name.empty() && !arguments->id)
        throw Failure(kUsage, "say which export: why NAME, why UID:NAME or why --id ID");
      const Target target = parse_target(arguments->name, arguments->owner, arguments->id);
      const Connection connection = Connection::open(cli.options);
      check_key(connection, target);
      Exports exports = fetch_exports(connection, target.name, HB_LIST_ENDED);
      std::erase_if(exports.entries,
                    [&](const hb_listed* e) { return !is_meant(*e, target, connection.info().uid); });
      const Holders holders = fetch_holders(connection, target);
      const std::vector<Holding> holdings = holdings_of(exports.entries, holders.entries);
      if (cli.options.json) return dump(holdings_json(holdings, connection.info().admin != 0));
      // The daemon knows it, else it would have said so: it has ended.
      if (holdings.empty()) return "it has ended, and nobody holds it\n";
      return why_text(holdings) + view_note(style_of(cli.options), connection);
    };
  });
}

}  // namespace hb::cli
