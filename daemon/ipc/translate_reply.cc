// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/translate_reply.h"

#include <utility>

#include "hipbroker/v1/broker.pb.h"
#include "wire/limits.h"

namespace hb::ipc {

namespace v1 = hipbroker::v1;

struct ReplyWriter::Messages {
  v1::Error error;
  v1::HelloReply hello;
  v1::ExportReply exported;
  v1::AcquireReply acquired;
  v1::FetchReply fetched;
  v1::WithdrawReply withdrawn;
  v1::ListReply listed;
  v1::ShowReply shown;
  v1::WhoReply who;
  v1::PingReply ping;
  v1::SharePageReply share_page;
  v1::StatusReply status;
  std::vector<std::byte> buffer = std::vector<std::byte>(limits::kFrameBytes);

  std::span<const std::byte> frame(FrameHeader header, const google::protobuf::MessageLite& message);
  std::span<const std::byte> error_frame(std::uint64_t request_id, const core::Error& error, int sys_errno,
                                         const std::string& operation);
};

namespace {

template <std::size_t kBytes>
void set_bytes(std::string* field, const std::array<std::uint8_t, kBytes>& bytes) {
  field->assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::uint32_t number(core::Access access) { return static_cast<std::uint32_t>(access); }
std::uint32_t number(core::Level level) { return static_cast<std::uint32_t>(level); }

void fill(v1::Device* out, const core::Device& device) {
  out->set_uuid(device.uuid);
  out->set_pci(device.pci);
  out->set_partition(device.partition);
}

void fill(google::protobuf::RepeatedPtrField<v1::Device>* out, const std::vector<core::Device>& devices) {
  for (const core::Device& device : devices) fill(out->Add(), device);
}

void fill(v1::Process* out, const core::SessionInfo& session) {
  out->set_session_id(session.id.value);
  out->set_uid(session.uid);
  out->set_gid(session.gid);
  out->set_connected_ns(session.age_ns);
  if (session.process == nullptr) return;
  out->set_pid(session.process->pid);
  out->set_command(session.process->command);
  out->set_cgroup(session.process->cgroup);
  out->set_scope(session.process->scope_name);
}

void fill(v1::Holder* out, const core::Holder& holder) {
  out->set_lease_id(holder.lease.value);
  fill(out->mutable_process(), holder.session);
  out->set_access(number(holder.access));
  out->set_level(number(holder.level));
  out->set_offset(holder.offset);
  out->set_length(holder.length);
  out->set_age_ns(holder.age_ns);
  out->set_export_id(holder.exported.value);
}

void fill(v1::ExportInfo* out, const core::ExportInfo& info) {
  const core::ExportView& view = info.view;
  out->set_export_id(view.id.value);
  if (view.name != nullptr) out->set_name(*view.name);
  if (view.metadata != nullptr) out->set_metadata_bytes(static_cast<std::uint32_t>(view.metadata->size()));
  if (view.device != nullptr) fill(out->mutable_device(), *view.device);
  if (view.peers != nullptr) fill(out->mutable_peers(), *view.peers);
  if (info.owner.process != nullptr) out->set_scope(info.owner.process->scope_name);
  out->set_owner_uid(view.owner_uid);
  fill(out->mutable_owner(), info.owner);
  out->set_generation(view.generation);
  out->set_layout_version(view.layout_version);
  out->set_state(info.state);
  out->set_lifetime(static_cast<std::uint32_t>(info.lifetime));
  out->set_size(view.size);
  out->set_chunks(info.chunks);
  out->set_allocations(info.allocations);
  out->set_handle_kind(static_cast<std::uint32_t>(view.kind));
  out->set_leases(info.leases);
  out->set_age_ns(info.age_ns);
  out->set_access(number(info.access));
  out->set_level(number(info.level));
  out->set_size_declared(info.size_declared);
}

void fill(google::protobuf::RepeatedPtrField<v1::Chunk>* out, const core::Page& page) {
  out->Reserve(static_cast<int>(page.chunks.size()));
  for (std::size_t i = 0; i < page.chunks.size(); ++i) {
    v1::Chunk* chunk = out->Add();
    // handle_of is 0-based, the wire counts from 1.
    if (i < page.handle_of.size()) {
      chunk->set_handle(page.handle_of[i] + 1u);
      chunk->set_object_size(page.sizes[page.handle_of[i]]);
    }
    chunk->set_offset(page.chunks[i].offset);
    chunk->set_size(page.chunks[i].size);
    chunk->set_identity(page.chunks[i].allocation.value);
  }
}

void fill(v1::ExportReply* out, const core::Exported& exported) {
  out->set_export_id(exported.id.value);
  out->set_generation(exported.generation);
  out->set_layout_version(exported.layout_version);
  out->set_received_chunks(exported.received_chunks);
  out->set_complete(exported.complete);
  out->set_access(number(exported.access));
  if (!exported.complete) return;
  set_bytes(out->mutable_key(), exported.key);
  set_bytes(out->mutable_secret(), exported.secret);
}

void fill(v1::AcquireReply* out, const core::Acquired& acquired) {
  out->set_lease_id(acquired.lease.value);
  out->set_validity_slot(acquired.validity_slot);
  out->set_validity_value(acquired.validity_value);
  out->set_access(number(acquired.access));
  out->set_level(number(acquired.level));
  out->set_offset(acquired.offset);
  out->set_length(acquired.length);
  out->set_first_chunk(acquired.first_chunk);
  out->set_chunk_count(acquired.chunk_count);
  out->set_chunk_base(acquired.chunk_base);
  out->set_object_bytes(acquired.object_bytes);
  const core::ExportView& view = acquired.exported;
  out->set_export_id(view.id.value);
  out->set_generation(view.generation);
  out->set_layout_version(view.layout_version);
  out->set_export_size(view.size);
  out->set_handle_kind(static_cast<std::uint32_t>(view.kind));
  if (view.device != nullptr) fill(out->mutable_device(), *view.device);
  if (view.peers != nullptr) fill(out->mutable_peers(), *view.peers);
  if (view.metadata != nullptr) out->set_metadata(*view.metadata);
  if (view.name != nullptr) out->set_name(*view.name);
  out->set_owner_uid(view.owner_uid);
  set_bytes(out->mutable_secret(), acquired.secret);
  fill(out->mutable_chunks(), acquired.page);
}

void fill(v1::FetchReply* out, const core::Fetched& fetched) {
  out->set_first(fetched.page.first);
  fill(out->mutable_chunks(), fetched.page);
}

void fill(v1::WithdrawReply* out, const core::Withdrawn& withdrawn) {
  out->set_withdrawn(withdrawn.exports);
  for (const core::Holder& holder : withdrawn.holders) fill(out->add_holders(), holder);
  out->set_more_holders(withdrawn.more_holders);
}

void fill(v1::ListReply* out, const core::Listed& listed) {
  for (const core::ExportInfo& info : listed.exports) fill(out->add_exports(), info);
  out->set_next_cursor(listed.next_cursor);
}

void fill(v1::ShowReply* out, const core::Shown& shown) {
  fill(out->mutable_info(), shown.info);
  for (const core::AclEntry& entry : shown.acl) {
    v1::AclEntry* made = out->add_acl();
    made->set_kind(entry.kind == core::AclEntry::Kind::kUid ? v1::AclEntry::UID : v1::AclEntry::GID);
    made->set_id(entry.id);
    made->set_access(number(entry.access));
  }
  if (shown.info.view.metadata != nullptr) out->set_metadata(*shown.info.view.metadata);
  for (const core::ShownChunk& chunk : shown.chunks) {
    v1::ChunkInfo* made = out->add_chunks();
    made->set_offset(chunk.offset);
    made->set_size(chunk.size);
    made->set_allocation(chunk.allocation.value);
    made->set_object_offset(chunk.object_offset);
    made->set_object_size(chunk.object_size);
  }
  out->set_more_chunks(shown.more_chunks);
}

void fill(v1::WhoReply* out, const core::WhoListed& who) {
  for (const core::Holder& holder : who.holders) fill(out->add_holders(), holder);
  out->set_next_cursor(who.next_cursor);
}

void fill(v1::StatusReply* out, const core::Counters& counters) {
  out->set_sessions(counters.sessions);
  out->set_exports(counters.exports);
  out->set_allocations(counters.allocations);
  out->set_leases(counters.leases);
  out->set_waits(counters.waits);
  out->set_stagings(counters.stagings);
  out->set_ended_remembered(counters.ended_remembered);
  out->set_bytes(counters.bytes);
}

void add(v1::StatusReply* out, const EdgeCounters& counters) {
  out->set_uptime_ns(counters.uptime_ns);
  out->set_fds_used(counters.fds_used);
  out->set_fds_limit(counters.fds_limit);
  out->set_fds_reserve(counters.fds_reserve);
  out->set_closing(counters.closing);
  out->set_quarantined(counters.quarantined);
}

std::size_t page_fds(const core::ReplyBody& body) {
  if (const auto* acquired = std::get_if<core::Acquired>(&body)) return acquired->page.handles.size();
  if (const auto* fetched = std::get_if<core::Fetched>(&body)) return fetched->page.handles.size();
  return 0;
}

}  // namespace

ReplyWriter::ReplyWriter() : messages_(std::make_unique<Messages>()) {}
ReplyWriter::~ReplyWriter() = default;

std::span<const std::byte> ReplyWriter::Messages::error_frame(std::uint64_t request_id,
                                                              const core::Error& failure, int sys_errno,
                                                              const std::string& operation) {
  error.Clear();
  error.set_status(failure.status);
  error.set_message(failure.message);
  error.set_what(failure.what);
  error.set_used(failure.used);
  error.set_limit(failure.limit);
  error.set_who(failure.who);
  error.set_sys_errno(sys_errno);
  error.set_operation(operation);
  error.set_chunk(failure.chunk);
  return frame({FrameType::kError, kFlagReply, 0, request_id}, error);
}

std::span<const std::byte> ReplyWriter::Messages::frame(FrameHeader header,
                                                        const google::protobuf::MessageLite& message) {
  const std::size_t body = message.ByteSizeLong();
  if (kFrameHeaderBytes + body > limits::kFrameBytes) {
    core::Error failure;
    failure.message = "the answer has " + std::to_string(body) + " bytes, a frame holds " +
                      std::to_string(limits::kFrameBytes - kFrameHeaderBytes);
    return error_frame(header.request_id, failure, 0, "");
  }
  encode_frame_header(std::span(buffer).first<kFrameHeaderBytes>(), header, static_cast<std::uint32_t>(body));
  message.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(buffer.data() + kFrameHeaderBytes));
  return std::span(buffer).first(kFrameHeaderBytes + body);
}

std::span<const std::byte> ReplyWriter::reply(const core::Reply& reply, const EdgeCounters& counters) {
  Messages& m = *messages_;
  const FrameHeader header{static_cast<FrameType>(reply.frame_type), kFlagReply,
                           static_cast<std::uint16_t>(page_fds(reply.body)), reply.request_id};
  const auto send = [&](auto& message, const auto& body) {
    message.Clear();
    fill(&message, body);
    return m.frame(header, message);
  };
  struct Visitor {
    Messages& m;
    const FrameHeader& header;
    const EdgeCounters& counters;
    const decltype(send)& send_body;

    std::span<const std::byte> operator()(const core::Error& body) const {
      return m.error_frame(header.request_id, body, 0, "");
    }
    std::span<const std::byte> operator()(const core::Exported& body) const {
      return send_body(m.exported, body);
    }
    std::span<const std::byte> operator()(const core::Acquired& body) const {
      return send_body(m.acquired, body);
    }
    std::span<const std::byte> operator()(const core::Fetched& body) const {
      return send_body(m.fetched, body);
    }
    std::span<const std::byte> operator()(const core::Withdrawn& body) const {
      return send_body(m.withdrawn, body);
    }
    std::span<const std::byte> operator()(const core::Listed& body) const {
      return send_body(m.listed, body);
    }
    std::span<const std::byte> operator()(const core::Shown& body) const { return send_body(m.shown, body); }
    std::span<const std::byte> operator()(const core::WhoListed& body) const {
      return send_body(m.who, body);
    }
    std::span<const std::byte> operator()(const core::Counters& body) const {
      m.status.Clear();
      fill(&m.status, body);
      add(&m.status, counters);
      return m.frame(header, m.status);
    }
  };
  return std::visit(Visitor{m, header, counters, send}, reply.body);
}

std::span<const std::byte> ReplyWriter::error(std::uint64_t request_id, const EdgeError& error) {
  return messages_->error_frame(request_id, error, error.sys_errno, error.operation);
}

std::span<const std::byte> ReplyWriter::hello(std::uint64_t request_id, const HelloAnswer& answer) {
  v1::HelloReply& message = messages_->hello;
  message.Clear();
  message.set_version(answer.version);
  set_bytes(message.mutable_broker_id(), answer.broker_id);
  message.set_session_id(answer.session_id);
  message.set_daemon(daemon_name());
  message.set_scope(answer.scope);
  message.set_admin(answer.admin);
  message.set_uid(answer.uid);
  message.set_pid(answer.pid);
  v1::Limits* bounds = message.mutable_limits();
  bounds->set_frame_bytes(limits::kFrameBytes);
  bounds->set_frame_fds(limits::kFrameFds);
  bounds->set_page_chunks(limits::kPageChunks);
  bounds->set_name_bytes(limits::kNameBytes);
  bounds->set_metadata_bytes(limits::kMetadataBytes);
  bounds->set_acl_entries(limits::kAclEntries);
  bounds->set_export_chunks(limits::kExportChunks);
  bounds->set_export_bytes(limits::kExportBytes);
  bounds->set_session_leases(limits::kSessionLeases);
  return messages_->frame({FrameType::kHello, kFlagReply, 0, request_id}, message);
}

std::span<const std::byte> ReplyWriter::ping(std::uint64_t request_id, const std::string& payload,
                                             std::uint64_t uptime_ns) {
  messages_->ping.Clear();
  messages_->ping.set_payload(payload);
  messages_->ping.set_uptime_ns(uptime_ns);
  return messages_->frame({FrameType::kPing, kFlagReply, 0, request_id}, messages_->ping);
}

std::span<const std::byte> ReplyWriter::share_page(std::uint64_t request_id) {
  messages_->share_page.Clear();
  messages_->share_page.set_slots(limits::kSessionLeases);
  return messages_->frame({FrameType::kSharePage, kFlagReply, 1, request_id}, messages_->share_page);
}

const std::string& daemon_name() {
  static const std::string name = "hipbrokerd " HIPBROKER_VERSION;
  return name;
}

}  // namespace hb::ipc
