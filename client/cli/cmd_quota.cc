// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <fmt/format.h>

#include <limits>
#include <map>

#include "cmd.h"
#include "exit_codes.h"
#include "number.h"
#include "quota_view.h"
#include "terminal.h"

namespace hb::cli {
namespace {

struct Whose {
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  std::string scope;
};

CLI::Option* add_id(CLI::App* verb, const char* name, std::optional<std::uint32_t>& id, const char* text) {
  return verb->add_option(name, id, text)
      ->type_name("N")
      ->check(whole_number(std::numeric_limits<std::uint32_t>::max() - 1));  // the last one is nobody
}

std::string list(const Options& options, const Whose& whose) {
  const Connection connection = Connection::open(options);
  const Accounts accounts = fetch_accounts(connection);
  std::vector<const hb_account*> shown;
  for (const hb_account* account : accounts.entries) {
    if (whose.uid && (account->whole_scope != 0 || account->uid != *whose.uid)) continue;
    if (!whose.scope.empty() && account->scope != whose.scope) continue;
    shown.push_back(account);
  }
  if (options.json) return dump(accounts_json(shown, connection.info().admin != 0));
  const TableStyle style = style_of(options);
  return accounts_table(shown).render(style) + view_note(style, connection);
}

void add_list(Cli& cli, CLI::App* quota) {
  auto whose = std::make_shared<Whose>();
  CLI::App* verb = quota->add_subcommand("ls", "What is used of what is allowed");
  verb->fallthrough();
  add_id(verb, "--uid", whose->uid, "Only this uid");
  verb->add_option("--scope", whose->scope, "Only this scope; main is everybody's")->type_name("SCOPE");
  verb->callback([&cli, whose] { cli.run = [&cli, whose] { return list(cli.options, *whose); }; });
}

struct Wanted {
  Whose whose;
  std::map<std::string_view, std::string> limits;  // by key, as typed; "" = not said
  bool clear = false;
};

std::string set(const Options& options, const Wanted& wanted) {
  const Whose& whose = wanted.whose;
  const std::string scope = whose.scope == "main" ? "" : whose.scope;
  if (whose.uid && whose.gid) throw Failure(kUsage, "--uid and --gid exclude each other");
  if (!whose.uid && !whose.gid && scope.empty())
    throw Failure(kUsage,
                  "say whose: --uid N, --gid N, or --scope SCOPE for a scope as a whole. For everybody, "
                  "[quota] in policy.toml");
  std::vector<hb_limit> limits;
  for (const Limited& limited : kLimited) {
    const std::string& text = wanted.limits.at(limited.key);
    if (!text.empty()) limits.push_back({limited.key.data(), limit_value(text, is_bytes(limited.key))});
  }
  if (limits.empty() && !wanted.clear)
    throw Failure(kUsage,
                  "say which limit: --bytes 300G, --exports 1k ...; --clear takes back what was set before");
  // Only the admin's socket knows the verb: an error of the ordinary one would not say how to get there.
  Options as_admin = options;
  if (as_admin.view == View::kWidest) as_admin.view = View::kAdmin;
  const Connection connection = Connection::open(as_admin);
  hb_quota_options question = HB_QUOTA_OPTIONS_INIT;
  question.scope = scope.empty() ? nullptr : scope.c_str();
  question.kind = whose.uid ? HB_QUOTA_UID : whose.gid ? HB_QUOTA_GID : HB_QUOTA_SCOPE;
  question.id = whose.uid ? *whose.uid : whose.gid.value_or(0);
  question.limits = limits.data();
  question.limit_count = limits.size();
  question.clear = wanted.clear ? 1 : 0;
  question.deadline_ns = connection.deadline();
  std::uint64_t sessions = 0;
  hb_error error = HB_ERROR_INIT;
  check(hb_quota_set(connection.client(), &question, &sessions, &error), error);
  if (!options.json) return quota_set_text({whose.uid, whose.gid, scope}, limits, wanted.clear, sessions);
  Json said = Json::object();
  for (const hb_limit& limit : limits)
    said[limit.resource] = limit.limit == HB_UNLIMITED ? Json(nullptr) : Json(limit.limit);
  return dump({{"scope", scope.empty() ? "main" : scope},
               {"uid", whose.uid ? Json(*whose.uid) : Json(nullptr)},
               {"gid", whose.gid ? Json(*whose.gid) : Json(nullptr)},
               {"cleared", wanted.clear},
               {"limits", std::move(said)},
               {"sessions", sessions}});
}

void add_set(Cli& cli, CLI::App* quota) {
  auto wanted = std::make_shared<Wanted>();
  CLI::App* verb = quota->add_subcommand("set", "Limit a uid, a group or a scope until the node reboots");
  verb->fallthrough();
  add_id(verb, "--uid", wanted->whose.uid, "For this uid");
  add_id(verb, "--gid", wanted->whose.gid, "For each uid that is in this group");
  verb->add_option("--scope", wanted->whose.scope,
                   "In this scope, else in the main one; without --uid and --gid for all of it together")
      ->type_name("SCOPE");
  for (const Limited& limited : kLimited)
    verb->add_option(fmt::format("--{}", limited.key), wanted->limits[limited.key], std::string(limited.text))
        ->type_name(is_bytes(limited.key) ? "SIZE" : "COUNT")
        ->check(limit(is_bytes(limited.key)));
  verb->add_flag("--clear", wanted->clear, "First take back what was set for the same before");
  verb->callback([&cli, wanted] { cli.run = [&cli, wanted] { return set(cli.options, *wanted); }; });
}

}  // namespace

void add_quota(Cli& cli) {
  CLI::App* quota = cli.app.add_subcommand("quota", "What uids use and may use: quota ls, quota set");
  quota->fallthrough();
  quota->require_subcommand(1);
  add_list(cli, quota);
  add_set(cli, quota);
}

}  // namespace hb::cli
