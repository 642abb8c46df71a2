// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <limits>

#include "cmd.h"
#include "fetch.h"
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
  verb->callback([&cli, arguments] {
    cli.run = [&cli, arguments] {
      const Target target = arguments->name.empty() && !arguments->id
                                ? Target{}
                                : parse_target(arguments->name, arguments->owner, arguments->id);
      const Connection connection = Connection::open(cli.options);
      hb_error error = HB_ERROR_INIT;
      hb_holders* raw = nullptr;
      check(hb_who(connection.client(), target.name_or_null(), target.owner_uid, target.export_id,
                   connection.deadline(), &raw, &error),
            error);
      const Owned<hb_holders, hb_holders_free> owned(raw);
      std::vector<const hb_held*> holders;
      for (std::size_t i = 0; i < hb_holders_count(raw); ++i) holders.push_back(hb_holders_at(raw, i));
      const Exports exports = fetch_exports(connection, {});
      if (cli.options.json) return dump(holders_json(holders, exports.entries, connection.info().admin != 0));
      const TableStyle style = style_of(cli.options);
      return holders_table(holders, exports.entries).render(style) + view_note(style, connection);
    };
  });
}

}  // namespace hb::cli
