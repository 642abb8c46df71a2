// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "cmd.h"
#include "exit_codes.h"
#include "fetch.h"
#include "format.h"
#include "hipbroker/policy.h"
#include "json.h"
#include "number.h"
#include "table.h"
#include "target.h"
#include "terminal.h"
#include "text.h"
#include "user_groups.h"

namespace hb::cli {
namespace {

constexpr std::uint32_t kMostId = 0xffff'fffe;  // the one above is (uid_t)-1, which is nobody

struct Arguments {
  std::string name;
  std::optional<std::uint32_t> owner;
  std::uint32_t uid = 0;
  std::vector<std::uint32_t> gids;
  bool gids_given = false;
  std::string scope;
  std::string verb = "acquire";
};

struct Asked {
  std::vector<std::uint32_t> gids;
  const char* gids_from = "";  // for people and programs
  Target target;
};

// The verdict that the exit code is about.
struct Decision {
  bool allowed = false;
  std::string why;
};

Decision decide(const Arguments& arguments, const hb_policy_answer_info& info) {
  for (const auto& verdict : std::span(info.verdicts, info.verdict_count)) {
    if (arguments.verb != verdict.verb) continue;
    if (verdict.allowed == 0) return {false, "the policy does not allow it"};
    if (arguments.name.empty() || arguments.verb != "acquire") return {true, ""};
    if (info.found == 0) return {false, "nothing bears that name"};
    if (info.access == 0) return {false, "its owner did not"};
    return {true, info.access == HB_ACCESS_READ ? "to read" : "to read and write"};
  }
  throw Failure(kUsage,
                fmt::format("'{}' is no verb of a policy; there are export, acquire, list, persist and "
                            "revoke",
                            one_line(arguments.verb)));
}

std::string text_of(const Arguments& arguments, const Asked& asked, const hb_policy_answer_info& info,
                    const Decision& decision, const TableStyle& style) {
  std::string out =
      fmt::format("uid {}, gids {} ({}), scope {}\n", arguments.uid,
                  asked.gids.empty() ? "none" : fmt::format("{}", fmt::join(asked.gids, ", ")),
                  asked.gids_from, arguments.scope.empty() ? "main" : safe(arguments.scope.c_str()));
  Table table({{"VERB"}, {"ALLOWED"}, {"RULE"}});
  for (const auto& verdict : std::span(info.verdicts, info.verdict_count))
    table.add({verdict.verb, verdict.allowed != 0 ? "yes" : "no", one_line(verdict.reason)});
  out += table.render(style);
  if (!arguments.name.empty()) {
    out += info.found != 0
               ? fmt::format("{}: export {}, {}; {}\n", safe(asked.target.name.c_str()), info.export_id,
                             info.state, one_line(info.access_reason))
               : fmt::format("{}: {}\n", safe(asked.target.name.c_str()), one_line(info.access_reason));
  }
  const std::string what = arguments.name.empty() || arguments.verb != "acquire"
                               ? arguments.verb
                               : "acquire " + safe(asked.target.name.c_str());
  if (decision.allowed)
    return out + fmt::format("uid {} may {}{}{}\n", arguments.uid, what, decision.why.empty() ? "" : ", ",
                             decision.why);
  return out + fmt::format("uid {} may not {}: {}\n", arguments.uid, what, decision.why);
}

Json json_of(const Arguments& arguments, const Asked& asked, const hb_policy_answer_info& info,
             const Decision& decision) {
  Json verdicts = Json::array();
  for (const auto& verdict : std::span(info.verdicts, info.verdict_count))
    verdicts.push_back(
        {{"verb", verdict.verb}, {"allowed", verdict.allowed != 0}, {"reason", verdict.reason}});
  Json out = {{"uid", arguments.uid},
              {"gids", asked.gids},
              {"gids_from", asked.gids_from},
              {"scope", arguments.scope.empty() ? "main" : arguments.scope},
              {"verdicts", std::move(verdicts)},
              {"verb", arguments.verb},
              {"allowed", decision.allowed},
              {"why", string_or_null(decision.why.c_str())}};
  if (arguments.name.empty()) return out;
  out["name"] = asked.target.name;
  out["owner_uid"] = asked.target.owner_uid == HB_OWN_UID ? arguments.uid : asked.target.owner_uid;
  out["found"] = info.found != 0;
  out["access"] = access_word(info.access);
  out["access_reason"] = info.access_reason;
  out["export_id"] = info.found != 0 ? Json(info.export_id) : Json(nullptr);
  out["state"] = string_or_null(info.state);
  return out;
}

Asked read(const Arguments& arguments) {
  Asked asked;
  if (arguments.gids_given) {
    asked.gids = arguments.gids;
    asked.gids_from = "given";
  } else if (auto groups = groups_of_user(arguments.uid)) {
    asked.gids = std::move(*groups);
    asked.gids_from = "of the user database";
  } else {
    asked.gids_from = "the user database has no such user; --gid says them";
  }
  asked.target = parse_target(arguments.name, arguments.owner, std::nullopt);
  if (asked.target.key) throw Failure(kUsage, "this is a key; check-policy takes the name of an export");
  return asked;
}

std::string check_policy(Cli& cli, const Arguments& arguments) {
  const Asked asked = read(arguments);
  Options options = cli.options;
  if (options.view == View::kWidest) options.view = View::kAdmin;
  const Connection connection = Connection::open(options);
  hb_policy_question question = HB_POLICY_QUESTION_INIT;
  question.uid = arguments.uid;
  question.gids = asked.gids.data();
  question.gid_count = asked.gids.size();
  question.scope = arguments.scope.empty() ? nullptr : arguments.scope.c_str();
  question.name = asked.target.name_or_null();
  question.owner_uid = asked.target.owner_uid;
  question.deadline_ns = connection.deadline();
  hb_error error = HB_ERROR_INIT;
  hb_policy_answer* raw = nullptr;
  check(hb_policy_check(connection.client(), &question, &raw, &error), error);
  const Owned<hb_policy_answer, hb_policy_answer_destroy> owned(raw);
  hb_policy_answer_info info = HB_POLICY_ANSWER_INFO_INIT;
  hb_policy_answer_get_info(raw, &info);
  const Decision decision = decide(arguments, info);
  cli.exit_code = decision.allowed ? kOk : kNotAllowed;
  if (options.json) return dump(json_of(arguments, asked, info, decision));
  return text_of(arguments, asked, info, decision, style_of(options));
}

}  // namespace

void add_check_policy(Cli& cli) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = cli.app.add_subcommand("check-policy", "What a uid may do, and which rule says so");
  verb->fallthrough();
  verb->add_option("NAME", arguments->name, "Also what its access list gives: NAME or UID:NAME");
  verb->add_option("--as", arguments->uid, "About whom")
      ->type_name("UID")
      ->required()
      ->check(whole_number(kMostId));
  CLI::Option* gids =
      verb->add_option("--gid", arguments->gids, "Its groups; else those of the user database")
          ->type_name("GID")
          ->check(whole_number(kMostId))
          ->allow_extra_args(false)
          ->take_all();
  verb->add_option("--scope", arguments->scope, "Seen from this scope; else the main one");
  verb->add_option("--owner", arguments->owner, "Uid that owns the name")
      ->type_name("UID")
      ->check(whole_number(kMostId));
  verb->add_option("--verb", arguments->verb,
                   "What the exit status is about: export, acquire, list, persist, revoke")
      ->capture_default_str();
  verb->callback([&cli, arguments, gids] {
    arguments->gids_given = gids->count() != 0;
    cli.run = [&cli, arguments] { return check_policy(cli, *arguments); };
  });
}

}  // namespace hb::cli
