// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What is asked on the admin socket of the daemon around the broker: scopes, policy, quotas, the audit trail.
// Sessions read the question and write the answer; who composed the daemon carries it out. On the loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/resource.h"
#include "core/types.h"
#include "ipc/edge_error.h"
#include "wire/expected.h"

namespace hb::ipc {

using Amounts = std::vector<std::pair<core::Resource, std::uint64_t>>;  // limits
[[nodiscard]] std::string text_of(const Amounts& limits);               // "bytes 4096, exports unlimited"
struct Use {
  core::Resource resource{};
  std::uint64_t used = 0;
  std::uint64_t limit = 0;
};

struct ScopeAdd {
  std::string name;
  std::vector<std::uint32_t> uids;
  Amounts total;
  Amounts each;
};
struct ScopeAdded {
  std::string directory;
};

struct ScopeRemove {
  std::string name;
};
struct ScopeRemoved {
  std::uint64_t sessions = 0;
  std::uint64_t exports = 0;
  std::uint64_t tickets = 0;
  std::uint64_t groups = 0;
  std::uint64_t bytes = 0;
};

struct ScopeList {
  std::uint64_t cursor = 0;
};
struct ScopeInfo {
  std::string name;
  std::string directory;
  std::vector<std::uint32_t> uids;
  std::vector<Use> total;
  std::uint64_t sessions = 0;
  std::uint64_t exports = 0;
  std::uint64_t age_ns = 0;
};
struct ScopesListed {
  std::vector<ScopeInfo> scopes;
  std::uint64_t next_cursor = 0;
};

struct Reload {};
struct Reloaded {
  std::vector<std::string> errors;  // then nothing has changed
  std::vector<std::string> warnings;
  std::uint64_t rules = 0;
  std::uint64_t overrides = 0;
  std::uint64_t sessions = 0;
  std::string file;
};

struct CheckPolicy {
  std::uint32_t uid = 0;
  std::vector<std::uint32_t> gids;
  std::string scope;  // "" = the main one
  std::optional<core::NameRef> name;
};
struct Verdict {
  std::string verb;
  bool allowed = false;
  std::string reason;
};
struct PolicyChecked {
  std::vector<Verdict> verdicts;
  bool found = false;
  core::Access access = core::Access::kNone;
  std::string access_reason;
  std::uint64_t export_id = 0;
  std::uint32_t state = 0;
};

struct QuotaSet {
  std::string scope;  // "" = the main one
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;  // neither: the total of the scope
  Amounts limits;
  bool clear = false;
};
// "uid 1001 in scope main", "scope job7"
[[nodiscard]] std::string text_of_whose(const std::string& scope, std::optional<std::uint32_t> uid,
                                        std::optional<std::uint32_t> gid);
struct QuotaWasSet {
  std::uint64_t sessions = 0;
};

struct AuditRead {
  std::uint64_t after = 0;
  std::uint64_t since_unix_ns = 0;
  std::uint32_t max_records = 0;
};
struct AuditWasRead {
  std::vector<std::string> records;  // JSON, together within one frame
  std::uint64_t last = 0;
  bool more = false;
  std::uint64_t lost = 0;
};

struct Drain {
  bool off = false;
  core::SessionId asker;  // the session fills it in
};
struct Drained {
  bool restart_safe = false;
  std::string reason;
  std::uint64_t unsafe_exports = 0;
  std::uint64_t uploads = 0;
  std::uint64_t sessions_lost = 0;
};

using AdminRequest =
    std::variant<ScopeAdd, ScopeRemove, ScopeList, Reload, CheckPolicy, QuotaSet, AuditRead, Drain>;
using AdminReply = std::variant<ScopeAdded, ScopeRemoved, ScopesListed, Reloaded, PolicyChecked, QuotaWasSet,
                                AuditWasRead, Drained>;

class Administration {
 public:
  virtual ~Administration() = default;
  [[nodiscard]] virtual tl::expected<AdminReply, EdgeError> carry_out(AdminRequest request) = 0;
};

}  // namespace hb::ipc
