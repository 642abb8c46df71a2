// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <fmt/format.h>

#include <limits>
#include <map>

#include "cmd.h"
#include "exit_codes.h"
#include "number.h"
#include "quota_view.h"
#include "scope_view.h"
#include "terminal.h"
#include "text.h"

namespace hb::cli {
namespace {

// Only the admin's socket knows the verb: an error of the ordinary one would not say how to get there.
Connection open_as_admin(Options options) {
  if (options.view == View::kWidest) options.view = View::kAdmin;
  return Connection::open(options);
}

using Typed = std::map<std::string_view, std::string>;  // by resource; "" = not said

std::vector<hb_limit> limits_of(const Typed& typed) {
  std::vector<hb_limit> out;
  for (const Limited& limited : kLimited) {
    const std::string& text = typed.at(limited.key);
    if (!text.empty()) out.push_back({limited.key.data(), limit_value(text, is_bytes(limited.key))});
  }
  return out;
}

void add_limits(CLI::App* verb, const char* prefix, const char* of, Typed& typed) {
  for (const Limited& limited : kLimited)
    verb->add_option(fmt::format("--{}-{}", prefix, limited.key), typed[limited.key],
                     fmt::format("{}, {}", limited.text, of))
        ->type_name(is_bytes(limited.key) ? "SIZE" : "COUNT")
        ->check(limit(is_bytes(limited.key)));
}

struct Wanted {
  std::string name;
  std::vector<std::uint32_t> uids;
  Typed total;
  Typed each;
};

std::string add(const Options& options, const Wanted& wanted) {
  const std::vector<hb_limit> total = limits_of(wanted.total);
  const std::vector<hb_limit> each = limits_of(wanted.each);
  const Connection connection = open_as_admin(options);
  hb_scope_options question = HB_SCOPE_OPTIONS_INIT;
  question.name = wanted.name.c_str();
  question.uids = wanted.uids.data();
  question.uid_count = wanted.uids.size();
  question.total = total.data();
  question.total_count = total.size();
  question.each = each.data();
  question.each_count = each.size();
  question.deadline_ns = connection.deadline();
  hb_scope_place place = HB_SCOPE_PLACE_INIT;
  hb_error error = HB_ERROR_INIT;
  check(hb_scope_add(connection.client(), &question, &place, &error), error);
  if (options.json) return dump({{"scope", wanted.name}, {"directory", place.directory}});
  return scope_added_text(wanted.name, place.directory, wanted.uids);
}

void add_add(Cli& cli, CLI::App* scope) {
  auto wanted = std::make_shared<Wanted>();
  CLI::App* verb =
      scope->add_subcommand("add", "Make a scope: a directory to mount, a name space of its own");
  verb->fallthrough();
  verb->add_option("NAME", wanted->name, "1 to 64 of a-z 0-9 . _ -")->required();
  verb->add_option("--uid", wanted->uids,
                   "Who may connect, again for each; without it, who reaches the directory")
      ->type_name("UID")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(whole_number(std::numeric_limits<std::uint32_t>::max() - 1));
  add_limits(verb, "quota", "of the scope as a whole", wanted->total);
  add_limits(verb, "each", "of each uid in it", wanted->each);
  verb->callback([&cli, wanted] { cli.run = [&cli, wanted] { return add(cli.options, *wanted); }; });
}

void add_rm(Cli& cli, CLI::App* scope) {
  auto name = std::make_shared<std::string>();
  CLI::App* verb = scope->add_subcommand("rm", "Remove a scope and everything that is in it");
  verb->fallthrough();
  verb->add_option("NAME", *name, "Of the scope")->required();
  verb->callback([&cli, name] {
    cli.run = [&cli, name]() -> std::string {
      const Connection connection = open_as_admin(cli.options);
      hb_scope_removed removed = HB_SCOPE_REMOVED_INIT;
      hb_error error = HB_ERROR_INIT;
      const hb_status status =
          hb_scope_remove(connection.client(), name->c_str(), connection.deadline(), &removed, &error);
      if (status == HB_NOT_FOUND)  // no name of an export, which the usual way out speaks of
        throw Failure(exit_code_of(status), fmt::format("{}; `hipbrokerctl scope ls` lists them ({})",
                                                        one_line(error.message), hb_status_name(status)));
      check(status, error);
      return cli.options.json ? dump(scope_removed_json(*name, removed)) : scope_removed_text(*name, removed);
    };
  });
}

void add_ls(Cli& cli, CLI::App* scope) {
  CLI::App* verb = scope->add_subcommand("ls", "List scopes");
  verb->fallthrough();
  verb->callback([&cli] {
    cli.run = [&cli]() -> std::string {
      const Connection connection = open_as_admin(cli.options);
      hb_scopes* list = nullptr;
      hb_error error = HB_ERROR_INIT;
      check(hb_scope_list(connection.client(), connection.deadline(), &list, &error), error);
      const Owned<hb_scopes, hb_scopes_free> owned(list);
      std::vector<const hb_scope*> scopes;
      for (std::size_t i = 0; i < hb_scopes_count(list); ++i) scopes.push_back(hb_scopes_at(list, i));
      return cli.options.json ? dump(scopes_json(scopes))
                              : scopes_table(scopes).render(style_of(cli.options));
    };
  });
}

}  // namespace

void add_scope(Cli& cli) {
  CLI::App* scope = cli.app.add_subcommand("scope", "Name spaces to mount: scope add, scope rm, scope ls");
  scope->fallthrough();
  scope->require_subcommand(1);
  add_add(cli, scope);
  add_rm(cli, scope);
  add_ls(cli, scope);
}

}  // namespace hb::cli
