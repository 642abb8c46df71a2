// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <memory>
#include <string>
#include <vector>

#include "abi.h"
#include "hipbroker/policy.h"
#include "looking.h"
#include "messages_policy.h"

using namespace hb::client;
using hb::FrameType;

struct hb_reload {
  Texts texts;
  std::vector<const char*> errors;
  std::vector<const char*> warnings;
  hb_reload_info info = HB_RELOAD_INFO_INIT;
};

struct hb_policy_answer {
  Texts texts;
  std::vector<hb_policy_verdict> verdicts;
  hb_policy_answer_info info = HB_POLICY_ANSWER_INFO_INIT;
};

namespace {

std::vector<const char*> keep_all(const std::vector<msg::Text>& lines, Texts& texts) {
  std::vector<const char*> out;
  out.reserve(lines.size());
  for (const msg::Text line : lines) out.push_back(texts.keep(line));
  return out;
}

std::unique_ptr<hb_reload> reload_of(const msg::ReloadReply& reply) {
  auto reload = std::make_unique<hb_reload>();
  reload->errors = keep_all(reply.errors, reload->texts);
  reload->warnings = keep_all(reply.warnings, reload->texts);
  hb_reload_info& info = reload->info;
  info.applied = reply.errors.empty() ? 1 : 0;
  info.file = reload->texts.keep(reply.file);
  info.rules = reply.rules;
  info.overrides = reply.overrides;
  info.sessions = reply.sessions;
  info.errors = reload->errors.data();
  info.error_count = reload->errors.size();
  info.warnings = reload->warnings.data();
  info.warning_count = reload->warnings.size();
  return reload;
}

// Its texts point into the caller's memory and `name`.
Result<msg::CheckPolicy> question_of(const hb_policy_question& given, std::string& name) {
  if (given.gid_count != 0 && given.gids == nullptr) return null_argument("gids");
  if (given.gid_count > msg::kCheckedGids)
    return fail(HB_INVALID, "gid_count is " + std::to_string(given.gid_count) + "; at most " +
                                std::to_string(msg::kCheckedGids));
  msg::CheckPolicy question;
  question.uid = given.uid;
  if (given.gid_count != 0) question.gids.assign(given.gids, given.gids + given.gid_count);
  if (given.scope != nullptr) question.scope = given.scope;
  if (given.name == nullptr) return question;
  auto read = read_name(given.name);
  if (!read) return tl::unexpected(std::move(read.error()));
  name = std::move(*read);
  question.name = msg::NameRef{name, owner_of(given.owner_uid)};
  return question;
}

std::unique_ptr<hb_policy_answer> answer_of(const msg::CheckPolicyReply& reply) {
  auto answer = std::make_unique<hb_policy_answer>();
  for (const msg::Verdict& verdict : reply.verdicts)
    answer->verdicts.push_back(
        {answer->texts.keep(verdict.verb), verdict.allowed ? 1 : 0, answer->texts.keep(verdict.reason)});
  hb_policy_answer_info& info = answer->info;
  info.verdicts = answer->verdicts.data();
  info.verdict_count = answer->verdicts.size();
  info.found = reply.found ? 1 : 0;
  info.access = reply.access;
  info.access_reason = answer->texts.keep(reply.access_reason);
  info.export_id = reply.export_id;
  info.state = reply.found ? state_name(reply.state) : "";
  return answer;
}

}  // namespace

hb_status hb_policy_reload(hb_client* client, uint64_t deadline_ns, hb_reload** ret_reload, hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (ret_reload == nullptr) return null_argument("ret_reload");
    std::vector<std::byte> body;
    const auto reply =
        ask<msg::ReloadReply>(*client->client, FrameType::kReload, msg::Reload{}, deadline_ns, body);
    if (!reply) return tl::unexpected(reply.error());
    *ret_reload = reload_of(*reply).release();
    return {};
  });
}

void hb_reload_get_info(const hb_reload* reload, hb_reload_info* ret_info) {
  if (reload != nullptr && ret_info != nullptr) write_info(reload->info, ret_info);
}
void hb_reload_destroy(hb_reload* reload) { delete reload; }

hb_status hb_policy_check(hb_client* client, const hb_policy_question* question,
                          hb_policy_answer** ret_answer, hb_error* error) {
  return client_boundary(client, error, [&]() -> Result<void> {
    if (ret_answer == nullptr) return null_argument("ret_answer");
    if (question == nullptr) return null_argument("question");
    const hb_policy_question defaults = HB_POLICY_QUESTION_INIT;
    const auto given = read_options(question, defaults, "hb_policy_question");
    if (!given) return tl::unexpected(given.error());
    std::string name;
    const auto asked = question_of(*given, name);
    if (!asked) return tl::unexpected(asked.error());
    std::vector<std::byte> body;
    const auto reply = ask<msg::CheckPolicyReply>(*client->client, FrameType::kCheckPolicy, *asked,
                                                  given->deadline_ns, body);
    if (!reply) return tl::unexpected(reply.error());
    *ret_answer = answer_of(*reply).release();
    return {};
  });
}

void hb_policy_answer_get_info(const hb_policy_answer* answer, hb_policy_answer_info* ret_info) {
  if (answer != nullptr && ret_info != nullptr) write_info(answer->info, ret_info);
}
void hb_policy_answer_destroy(hb_policy_answer* answer) { delete answer; }
