// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/failure.h"
#include "core/restoring.h"

namespace hb::core {

std::shared_ptr<const ProcessInfo> process_of(const record::Process& process) {
  return std::make_shared<const ProcessInfo>(ProcessInfo{process.pid, std::string(process.command),
                                                         std::string(process.cgroup),
                                                         std::string(process.scope_name)});
}

std::shared_ptr<const ProcessInfo> process_of(const std::optional<record::Process>& process) {
  return process ? process_of(*process) : nullptr;
}

Error error_of(const record::Error& error) {
  Error out;
  out.status = error.status;
  out.message = error.message;
  out.what = error.what;
  out.used = error.used;
  out.limit = error.limit;
  out.who = error.who;
  out.chunk = error.chunk;
  return out;
}

namespace {

Device device_of(const record::Device& device) {
  return {std::string(device.uuid), std::string(device.pci), device.partition};
}

template <std::size_t kSize>
bool copy(msg::Bytes from, std::array<std::uint8_t, kSize>& to) {
  if (from.size() != kSize) return false;
  std::memcpy(to.data(), from.data(), kSize);
  return true;
}

bool exported_of(const record::Exported& record, Exported& out) {
  out.id = ExportId{record.id};
  out.generation = record.generation;
  out.layout_version = record.layout_version;
  out.received_chunks = record.received_chunks;
  out.complete = record.complete;
  out.size = record.size;
  if (!record.complete) return true;
  return access_of(record.access, out.access) && copy(record.key, out.key) &&
         copy(record.secret, out.secret) && copy(record.token, out.token);
}

bool holder_of(const record::Holder& record, Holder& out,
               std::vector<std::shared_ptr<const ProcessInfo>>& keep) {
  keep.push_back(process_of(record.process));
  out.lease = LeaseId{record.lease};
  out.exported = ExportId{record.exported};
  out.session = {SessionId{record.session}, record.uid, record.gid, keep.back().get(), record.session_age_ns};
  out.offset = record.offset;
  out.length = record.length;
  out.age_ns = record.age_ns;
  out.unread_ns = record.unread_ns;
  out.listens = record.listens;
  out.unmap_asked = record.unmap_asked;
  out.ticket = TicketId{record.ticket};
  out.ticket_left_ns = record.ticket_left_ns;
  out.acked_step = record.acked_step;
  out.state = static_cast<std::uint8_t>(record.state);
  return access_of(record.access, out.access) && enum_of(record.level, Level::kSealed, out.level);
}

std::shared_ptr<const WithdrawnAnswer> withdrawn_of(const record::Withdrawn& record) {
  auto out = std::make_shared<WithdrawnAnswer>();
  out->body.exports = record.exports;
  out->body.more_holders = record.more_holders;
  out->body.holder_count = record.holder_count;
  out->body.layout_version = record.layout_version;
  for (const record::Holder& holder : record.holders)
    if (!holder_of(holder, out->body.holders.emplace_back(), out->processes)) return nullptr;
  return out;
}

bool answer_of(const record::Answer& record, Answer& out) {
  if (record.error) {
    out = error_of(*record.error);
  } else if (record.exported) {
    return exported_of(*record.exported, out.emplace<Exported>());
  } else if (record.lease) {
    out =
        LeaseAnswer{LeaseId{record.lease->lease}, ExportId{record.lease->exported}, record.lease->generation};
  } else if (!record.withdrawn.empty()) {
    auto withdrawn = withdrawn_of(record.withdrawn.front());
    if (withdrawn == nullptr) return false;
    out = std::move(withdrawn);
  } else if (record.ticket) {
    return copy(*record.ticket, out.emplace<TicketMade>().ticket);
  } else if (record.joined) {
    out = JoinAnswer{GroupId{*record.joined}};
  } else if (record.done && *record.done < std::variant_size_v<ReplyBody>) {
    out = Done{static_cast<std::uint8_t>(*record.done)};
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool access_of(std::uint32_t number, Access& out) {
  if (number != static_cast<std::uint32_t>(Access::kRead) &&
      number != static_cast<std::uint32_t>(Access::kReadWrite))
    return false;
  out = static_cast<Access>(number);
  return true;
}

Placement placement_of(const record::Device& device, const std::vector<record::Device>& peers) {
  Placement out;
  out.device = device_of(device);
  for (const record::Device& peer : peers) out.peers.push_back(device_of(peer));
  return out;
}

Acl acl_of(const std::vector<record::AclEntry>& entries) {
  Acl out;
  for (const record::AclEntry& entry : entries)
    out.push_back({entry.kind == 0 ? AclEntry::Kind::kUid : AclEntry::Kind::kGid, entry.id,
                   static_cast<Access>(entry.access & 3)});
  return out;
}

Misfit restore_answers(Core& core, const RecordSet& records) {
  auto ordered = records.answers;
  std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, record] : ordered) {
    if (!core.sessions.live(key.slot)) continue;  // nobody asks for it again
    AnswerLog::Entry entry{record.id, static_cast<std::uint16_t>(record.frame_type), {}, record.order};
    if (!answer_of(record, entry.answer))
      return text("answer ", record.id, " of session ", key.slot, " is of no kind");
    if (!core.sessions.at(key.slot).answers.restore(key.part, std::move(entry)))
      return text("session ", key.slot, " has two answers in place ", key.part);
  }
  return {};
}

}  // namespace hb::core
