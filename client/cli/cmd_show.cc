// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <limits>

#include "cmd.h"
#include "exit_codes.h"
#include "fetch.h"
#include "number.h"
#include "target.h"
#include "terminal.h"
#include "views.h"

namespace hb::cli {

void add_show(Cli& cli) {
  constexpr std::size_t kChunksAtFirst = 16;
  struct Arguments {
    std::string name;
    std::optional<std::uint32_t> owner;
    std::optional<std::uint64_t> id;
    bool all_chunks = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = cli.app.add_subcommand("show", "Everything about one export");
  verb->fallthrough();
  verb->add_option("NAME", arguments->name, "NAME, UID:NAME or the text of a key");
  verb->add_option("--owner", arguments->owner, "Uid that owns the name")
      ->type_name("UID")
      ->check(whole_number(std::numeric_limits<std::uint32_t>::max()));
  verb->add_option("--id", arguments->id, "The export of this id, in place of a name")
      ->type_name("ID")
      ->check(whole_number(std::numeric_limits<std::uint64_t>::max()));
  verb->add_flag("--all-chunks", arguments->all_chunks, "Every chunk, not the first 16 alone");
  verb->callback([&cli, arguments] {
    cli.run = [&cli, arguments] {
      if (arguments->name.empty() && !arguments->id)
        throw Failure(kUsage, "say which export: show NAME, show UID:NAME or show --id ID");
      const Target target = parse_target(arguments->name, arguments->owner, arguments->id);
      const Connection connection = Connection::open(cli.options);
      check_key(connection, target);
      hb_error error = HB_ERROR_INIT;
      hb_shown* raw = nullptr;
      check(hb_show(connection.client(), target.name_or_null(), target.owner_uid, target.export_id,
                    connection.deadline(), &raw, &error),
            error);
      const Owned<hb_shown, hb_shown_free> owned(raw);
      const Shown shown{hb_shown_export(raw),
                        {hb_shown_acl(raw), hb_shown_acl_count(raw)},
                        {hb_shown_chunks(raw), hb_shown_chunk_count(raw)}};
      if (cli.options.json) return dump(shown_json(shown, connection.info().admin != 0));
      return shown_text(shown, arguments->all_chunks ? shown.chunks.size() : kChunksAtFirst,
                        style_of(cli.options));
    };
  });
}

}  // namespace hb::cli
