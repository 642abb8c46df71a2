// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/administration_policy.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "observe/log.h"
#include "wire/limits.h"
#include "wire/name.h"

namespace hb::app {
namespace {

// Half a frame for the errors and a quarter for the warnings, with their lengths.
constexpr std::size_t kErrorBytes = limits::kFrameBytes / 2;
constexpr std::size_t kWarningBytes = limits::kFrameBytes / 4;
constexpr std::size_t kLineBytes = 1024;
constexpr std::size_t kPerLine = 8;

// Escaped text is ASCII or whole characters: cut behind one of them.
std::string cut(const std::string& line) {
  if (line.size() <= kLineBytes) return line;
  std::size_t end = kLineBytes;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
  return line.substr(0, end) + "...";
}

std::vector<std::string> fitting(const conf::Errors& lines, std::size_t bytes) {
  std::vector<std::string> out;
  std::size_t used = 0;
  for (const std::string& line : lines) {
    out.push_back(cut(line));
    used += out.back().size() + kPerLine;
    if (used <= bytes) continue;
    out.back() = "and " + std::to_string(lines.size() - out.size() + 1) +
                 " more, that fit no answer; `hipbrokerd --check` prints all";
    break;
  }
  return out;
}

void log_all(observe::Level level, observe::Message message, const conf::Errors& lines) {
  constexpr std::size_t kLogged = 20;
  for (std::size_t i = 0; i < std::min(lines.size(), kLogged); ++i)
    observe::log(level, message, cut(lines[i]));
  if (lines.size() > kLogged) {
    observe::log(level, message,
                 std::to_string(lines.size() - kLogged) +
                     " more lines were left out; `hipbrokerd "
                     "--check` prints all");
  }
}

}  // namespace

PolicyAdministration::PolicyAdministration(ipc::Engine& engine, PolicySource source)
    : engine_(engine), source_(std::move(source)) {}

ipc::Reloaded PolicyAdministration::reload() {
  ipc::Reloaded out;
  auto loaded = source_.read();
  if (loaded && loaded->policy.file().empty() && !engine_.policy().file().empty()) {
    loaded = tl::unexpected(conf::Errors{
        escape_for_display(source_.file) +
        " is gone, and without it everybody may do what is usual; write one, or restart for that"});
  }
  if (!loaded) {
    log_all(observe::Level::kError, observe::Message::kPolicyKept, loaded.error());
    observe::log(observe::Level::kError, observe::Message::kPolicyKept,
                 "the policy was not reloaded, the one before goes on");
    out.errors = fitting(loaded.error(), kErrorBytes);
    out.file = escape_for_display(source_.file);
    return out;
  }
  log_all(observe::Level::kWarning, observe::Message::kPolicyRemark, loaded->warnings);
  out.warnings = fitting(loaded->warnings, kWarningBytes);
  out.rules = loaded->policy.rules().size();
  out.overrides = loaded->policy.overrides();
  out.file = loaded->policy.file();
  const std::string shown = describe(*loaded).front();
  out.sessions = engine_.set_policy(std::make_shared<const policy::Policy>(std::move(loaded->policy)));
  observe::log(observe::Level::kInfo,
               "policy reloaded: " + shown + "; live sessions: " + std::to_string(out.sessions));
  return out;
}

tl::expected<ipc::PolicyChecked, ipc::EdgeError> PolicyAdministration::check(
    const ipc::CheckPolicy& asked) const {
  if (asked.uid > policy::kMostId || std::any_of(asked.gids.begin(), asked.gids.end(),
                                                 [](std::uint32_t gid) { return gid > policy::kMostId; })) {
    return tl::unexpected(ipc::edge_error(
        HB_INVALID, "4294967295 is no uid and no gid; ids are from 0 to " + std::to_string(policy::kMostId)));
  }
  core::Principal principal;
  principal.uid = asked.uid;
  principal.groups = asked.gids;
  std::sort(principal.groups.begin(), principal.groups.end());
  principal.groups.erase(std::unique(principal.groups.begin(), principal.groups.end()),
                         principal.groups.end());
  const std::string scope = asked.scope.empty() ? std::string(policy::kMainScope) : asked.scope;
  const policy::Who who{scope, asked.uid, principal.groups};
  const policy::Policy& policy = engine_.policy();

  ipc::PolicyChecked out;
  for (const core::Verb verb : core::kVerbs) {
    const policy::Verdict verdict = policy.verdict(who, verb);
    out.verdicts.push_back(
        {std::string(core::verb_name(verb)), verdict.allowed, cut(policy.reason(verdict))});
  }
  if (!asked.name) return out;
  const std::string owner = std::to_string(asked.name->owner_uid.value_or(asked.uid));
  const auto place = engine_.find_scope(scope);
  if (!place) {
    out.access_reason = "there is no scope " + escape_for_display(scope);
    return out;
  }
  principal.scope = *place;
  if (const auto explained = engine_.explain(principal, *asked.name)) {
    out.found = true;
    out.access = explained->access;
    out.access_reason = cut(explained->reason);
    out.export_id = explained->id.value;
    out.state = static_cast<std::uint32_t>(explained->state);
  } else {
    out.access_reason = "uid " + owner + " has no export of that name in scope " + escape_for_display(scope) +
                        "; of another owner: UID:NAME or --owner UID";
  }
  return out;
}

}  // namespace hb::app
