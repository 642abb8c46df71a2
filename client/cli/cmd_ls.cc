// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <algorithm>

#include "cmd.h"
#include "fetch.h"
#include "format.h"
#include "terminal.h"
#include "views.h"

namespace hb::cli {

void add_ls(Cli& cli) {
  struct Arguments {
    std::string prefix;
    bool names = false;
    bool all = false;
    std::string scope;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = cli.app.add_subcommand("ls", "List exports: what is shared, by whom, how often held");
  verb->fallthrough();
  verb->add_option("PREFIX", arguments->prefix, "Only names that begin so");
  verb->add_flag("-1,--names", arguments->names,
                 "Names alone, one a line, escaped; --json has them as they are");
  verb->add_flag("--all", arguments->all, "Also exports that have ended and are still held");
  verb->add_option("--scope", arguments->scope, "Only this scope; main is everybody's")->type_name("SCOPE");
  verb->callback([&cli, arguments] {
    cli.run = [&cli, arguments]() -> std::string {
      const Connection connection = Connection::open(cli.options);
      Exports exports = fetch_exports(connection, arguments->prefix, arguments->all ? HB_LIST_ENDED : 0);
      if (!arguments->scope.empty())
        std::erase_if(exports.entries, [&](const hb_listed* e) { return e->scope != arguments->scope; });
      const bool admin = connection.info().admin != 0;
      if (cli.options.json) return dump(exports_json(exports.entries, admin));
      if (arguments->names) {
        std::string out;
        for (const hb_listed* e : exports.entries)
          if (*e->name != '\0') out += safe(e->name) + '\n';
        return out;
      }
      const TableStyle style = style_of(cli.options);
      return exports_table(exports.entries).render(style) + view_note(style, connection);
    };
  });
}

}  // namespace hb::cli
