// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <limits>

#include "cmd.h"
#include "exit_codes.h"
#include "fetch.h"
#include "holding_view.h"
#include "number.h"
#include "target.h"
#include "terminal.h"
#include "views.h"

namespace hb::cli {

void add_who(Cli& cli) {
  struct Arguments {
    std::string name;
    std::optional<std::uint32_t> owner;
    std::optional<std::uint64_t> id;
    bool top = false;
    std::string scope;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = cli.app.add_subcommand("who", "Who holds an export, or all of them");
  verb->fallthrough();
  verb->add_option("NAME", arguments->name, "NAME, UID:NAME or the text of a key; without it, every export");
  verb->add_option("--owner", arguments->owner, "Uid that owns the name")
      ->type_name("UID")
      ->check(whole_number(std::numeric_limits<std::uint32_t>::max()));
  verb->add_option("--id", arguments->id, "The export of this id, in place of a name")
      ->type_name("ID")
      ->check(whole_number(std::numeric_limits<std::uint64_t>::max()));
  verb->add_flag(
      "--top", arguments->top,
      "Every export with its holders, the largest first, also those that ended and are still held");
  verb->add_option("--scope", arguments->scope, "Only this scope; main is everybody's")->type_name("SCOPE");
  verb->callback([&cli, arguments] {
    cli.run = [&cli, arguments] {
      if (arguments->top && (!arguments->name.empty() || arguments->id))
        throw Failure(kUsage, "--top is of every export; without it, who NAME is of one");
      const Target target = arguments->name.empty() && !arguments->id
                                ? Target{}
                                : parse_target(arguments->name, arguments->owner, arguments->id);
      const Connection connection = Connection::open(cli.options);
      check_key(connection, target);
      Holders holders = fetch_holders(connection, target);
      Exports exports = fetch_exports(connection, {}, HB_LIST_ENDED);
      if (!arguments->scope.empty()) {
        std::erase_if(exports.entries, [&](const hb_listed* e) { return e->scope != arguments->scope; });
        std::erase_if(holders.entries,
                      [&](const hb_held* h) { return h->process.scope != arguments->scope; });
      }
      const bool admin = connection.info().admin != 0;
      const TableStyle style = style_of(cli.options);
      if (arguments->top) {
        const std::vector<Holding> holdings = holdings_of(exports.entries, holders.entries);
        if (cli.options.json) return dump(holdings_json(holdings, admin));
        return top_text(holdings) + view_note(style, connection);
      }
      if (cli.options.json) return dump(holders_json(holders.entries, exports.entries, admin));
      return holders_table(holders.entries, exports.entries).render(style) + view_note(style, connection);
    };
  });
}

}  // namespace hb::cli
