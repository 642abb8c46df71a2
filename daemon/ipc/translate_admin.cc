// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/translate_admin.h"

#include <algorithm>

#include "hipbroker/v1/broker.pb.h"
#include "ipc/translate_reply.h"
#include "ipc/translate_reply_parts.h"
#include "ipc/translate_request_parts.h"
#include "wire/limits.h"
#include "wire/name.h"

namespace hb::ipc {
namespace {

using Fields = google::protobuf::RepeatedPtrField<v1::Amount>;

Result<Amounts> amounts_of(const Fields& fields) {
  Amounts out;
  for (const v1::Amount& field : fields) {
    const auto resource = core::resource_of(field.resource());
    if (!resource)
      return invalid("\"" + escape_for_display(field.resource()) + "\" is no resource that can be limited");
    if (std::any_of(out.begin(), out.end(), [&](const auto& one) { return one.first == *resource; }))
      return invalid("\"" + field.resource() + "\" is limited twice; say it once");
    out.emplace_back(*resource, field.limit());
  }
  return out;
}

void fill(Fields* out, const std::vector<Use>& uses) {
  for (const Use& use : uses) {
    v1::Amount* amount = out->Add();
    amount->set_resource(std::string(core::text_of(use.resource).key));
    amount->set_limit(use.limit);
    amount->set_used(use.used);
  }
}

// The main scope is spelled "" or by its name.
Result<std::string> scope_of(const std::string& name, bool may_be_main) {
  if (name.size() > limits::kScopeNameBytes)
    return too_much("scope name bytes", name.size(), limits::kScopeNameBytes);
  if (name.empty() && !may_be_main) return invalid("a scope needs a name");
  return name;
}

// What the edge counts it counts for each uid.
bool is_of_each(core::Resource resource) {
  return resource == core::Resource::kRequests || resource == core::Resource::kConnects;
}

tl::unexpected<EdgeError> not_of_all(core::Resource resource) {
  const std::string key(core::text_of(resource).key);
  return invalid("\"" + key + "\" is limited for each uid, not for a scope as a whole; limit it for each");
}

Result<AdminRequest> request_of(const v1::ScopeAdd& message) {
  if (static_cast<std::size_t>(message.uids_size()) > limits::kScopeUids)
    return too_much("uids of a scope", static_cast<std::uint64_t>(message.uids_size()), limits::kScopeUids);
  ScopeAdd out;
  const auto name = scope_of(message.name(), false);
  if (!name) return tl::unexpected(name.error());
  out.name = *name;
  out.uids.assign(message.uids().begin(), message.uids().end());
  auto total = amounts_of(message.total());
  auto each = amounts_of(message.each());
  if (!total) return tl::unexpected(std::move(total.error()));
  if (!each) return tl::unexpected(std::move(each.error()));
  for (const auto& [resource, most] : *total)
    if (is_of_each(resource)) return not_of_all(resource);
  out.total = std::move(*total);
  out.each = std::move(*each);
  return AdminRequest(std::move(out));
}

Result<AdminRequest> request_of(const v1::ScopeRemove& message) {
  return scope_of(message.name(), false).map([](std::string name) {
    return AdminRequest(ScopeRemove{std::move(name)});
  });
}

Result<AdminRequest> request_of(const v1::ScopeList& message) {
  return AdminRequest(ScopeList{message.cursor()});
}

Result<AdminRequest> request_of(const v1::Reload& /*message*/) { return AdminRequest(Reload{}); }

Result<AdminRequest> request_of(const v1::CheckPolicy& message) {
  CheckPolicy out;
  out.uid = message.uid();
  out.gids.assign(message.gids().begin(), message.gids().end());
  const auto scope = scope_of(message.scope(), true);
  if (!scope) return tl::unexpected(scope.error());
  out.scope = *scope;
  if (message.has_name()) {
    auto name = name_of(message.name());
    if (!name) return tl::unexpected(std::move(name.error()));
    out.name = std::move(*name);
  }
  return AdminRequest(std::move(out));
}

Result<AdminRequest> request_of(const v1::QuotaSet& message) {
  QuotaSet out;
  const auto scope = scope_of(message.scope(), true);
  if (!scope) return tl::unexpected(scope.error());
  out.scope = *scope;
  if (message.who_case() == v1::QuotaSet::kUid) out.uid = message.uid();
  if (message.who_case() == v1::QuotaSet::kGid) out.gid = message.gid();
  auto limits = amounts_of(message.limits());
  if (!limits) return tl::unexpected(std::move(limits.error()));
  for (const auto& [resource, most] : *limits)
    if (!out.uid && !out.gid && is_of_each(resource)) return not_of_all(resource);
  out.limits = std::move(*limits);
  out.clear = message.clear();
  return AdminRequest(std::move(out));
}

Result<AdminRequest> request_of(const v1::AuditRead& message) {
  return AdminRequest(AuditRead{message.after(), message.since_unix_ns(), message.max_records()});
}

Result<AdminRequest> request_of(const v1::Drain& message) { return AdminRequest(Drain{message.off(), {}}); }

template <class Message>
Result<AdminRequest> read(std::span<const std::byte> body, const char* name) {
  Message message;
  return parse(message, body, name).and_then([](const Message* parsed) { return request_of(*parsed); });
}

// --- answers ------------------------------------------------------------------------------------

v1::ScopeAddReply message_of(const ScopeAdded& added) {
  v1::ScopeAddReply out;
  out.set_directory(added.directory);
  return out;
}

v1::ScopeRemoveReply message_of(const ScopeRemoved& removed) {
  v1::ScopeRemoveReply out;
  out.set_sessions(removed.sessions);
  out.set_exports(removed.exports);
  out.set_tickets(removed.tickets);
  out.set_groups(removed.groups);
  out.set_bytes(removed.bytes);
  return out;
}

v1::ScopeListReply message_of(const ScopesListed& listed) {
  v1::ScopeListReply out;
  for (const ScopeInfo& info : listed.scopes) {
    v1::ScopeInfo* scope = out.add_scopes();
    scope->set_name(info.name);
    scope->set_directory(info.directory);
    scope->mutable_uids()->Add(info.uids.begin(), info.uids.end());
    fill(scope->mutable_total(), info.total);
    scope->set_sessions(info.sessions);
    scope->set_exports(info.exports);
    scope->set_age_ns(info.age_ns);
  }
  out.set_next_cursor(listed.next_cursor);
  return out;
}

v1::ReloadReply message_of(const Reloaded& reloaded) {
  v1::ReloadReply out;
  for (const std::string& line : reloaded.errors) out.add_errors(line);
  for (const std::string& line : reloaded.warnings) out.add_warnings(line);
  out.set_rules(reloaded.rules);
  out.set_overrides(reloaded.overrides);
  out.set_sessions(reloaded.sessions);
  out.set_file(reloaded.file);
  return out;
}

v1::CheckPolicyReply message_of(const PolicyChecked& checked) {
  v1::CheckPolicyReply out;
  for (const Verdict& verdict : checked.verdicts) {
    v1::Verdict* one = out.add_verdicts();
    one->set_verb(verdict.verb);
    one->set_allowed(verdict.allowed);
    one->set_reason(verdict.reason);
  }
  out.set_found(checked.found);
  out.set_access(number(checked.access));
  out.set_access_reason(checked.access_reason);
  out.set_export_id(checked.export_id);
  out.set_state(checked.state);
  return out;
}

v1::QuotaSetReply message_of(const QuotaWasSet& set) {
  v1::QuotaSetReply out;
  out.set_sessions(set.sessions);
  return out;
}

v1::AuditReadReply message_of(const AuditWasRead& read) {
  v1::AuditReadReply out;
  for (const std::string& record : read.records) out.add_records(record);
  out.set_last(read.last);
  out.set_more(read.more);
  out.set_lost(read.lost);
  return out;
}

v1::DrainReply message_of(const Drained& drained) {
  v1::DrainReply out;
  out.set_restart_safe(drained.restart_safe);
  out.set_reason(drained.reason);
  out.set_unsafe_exports(drained.unsafe_exports);
  out.set_uploads(drained.uploads);
  out.set_sessions_lost(drained.sessions_lost);
  return out;
}

}  // namespace

bool is_admin_request(FrameType type) {
  switch (type) {
    case FrameType::kScopeAdd:
    case FrameType::kScopeRemove:
    case FrameType::kScopeList:
    case FrameType::kReload:
    case FrameType::kCheckPolicy:
    case FrameType::kQuotaSet:
    case FrameType::kAuditRead:
    case FrameType::kDrain:
      return true;
    default:
      return false;
  }
}

Result<AdminRequest> read_admin(FrameType type, std::span<const std::byte> body) {
  switch (type) {
    case FrameType::kScopeAdd:
      return read<v1::ScopeAdd>(body, "ScopeAdd");
    case FrameType::kScopeRemove:
      return read<v1::ScopeRemove>(body, "ScopeRemove");
    case FrameType::kScopeList:
      return read<v1::ScopeList>(body, "ScopeList");
    case FrameType::kReload:
      return read<v1::Reload>(body, "Reload");
    case FrameType::kCheckPolicy:
      return read<v1::CheckPolicy>(body, "CheckPolicy");
    case FrameType::kQuotaSet:
      return read<v1::QuotaSet>(body, "QuotaSet");
    case FrameType::kAuditRead:
      return read<v1::AuditRead>(body, "AuditRead");
    case FrameType::kDrain:
      return read<v1::Drain>(body, "Drain");
    default:
      return invalid("no request of administration");
  }
}

std::vector<std::byte> write_admin(FrameType type, std::uint64_t request_id, const AdminReply& reply) {
  return std::visit(
      [&](const auto& body) {
        const auto message = message_of(body);
        const std::size_t bytes = message.ByteSizeLong();
        if (kFrameHeaderBytes + bytes > limits::kFrameBytes) {
          ReplyWriter writer;
          const auto frame =
              writer.error(request_id, edge_error(HB_INTERNAL, "the answer has " + std::to_string(bytes) +
                                                                   " bytes and does not fit a frame"));
          return std::vector<std::byte>(frame.begin(), frame.end());
        }
        std::vector<std::byte> out(kFrameHeaderBytes + bytes);
        FrameHeader header;
        header.type = type;
        header.flags = kFlagReply;
        header.request_id = request_id;
        encode_frame_header(std::span<std::byte, kFrameHeaderBytes>(out.data(), kFrameHeaderBytes), header,
                            static_cast<std::uint32_t>(bytes));
        message.SerializeWithCachedSizesToArray(
            reinterpret_cast<std::uint8_t*>(out.data() + kFrameHeaderBytes));
        return out;
      },
      reply);
}

}  // namespace hb::ipc
