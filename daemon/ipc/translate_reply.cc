// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/translate_reply.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "ipc/method_table.h"
#include "ipc/translate_reply_parts.h"
#include "wire/limits.h"

namespace hb::ipc {

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
  v1::RefreshReply refreshed;
  v1::MakeTicketReply ticket_made;
  v1::DropTicketReply ticket_dropped;
  v1::SubscribeReply subscribed;
  v1::TakeEventsReply events_taken;
  v1::PublishReply published;
  v1::WaitStepReply step_waited;
  v1::WaitAcksReply acks_waited;
  v1::JoinReply joined;
  v1::ReadyReply group_ready;
  v1::GroupAppendReply group_appended;
  v1::QuotaListReply quota_listed;
  v1::Resumed resumed;
  std::vector<std::byte> buffer = std::vector<std::byte>(limits::kFrameBytes);

  v1::ExportReply& message_for(const core::Exported& /*body*/) { return exported; }
  v1::AcquireReply& message_for(const core::Acquired& /*body*/) { return acquired; }
  v1::FetchReply& message_for(const core::Fetched& /*body*/) { return fetched; }
  v1::WithdrawReply& message_for(const core::Withdrawn& /*body*/) { return withdrawn; }
  v1::ListReply& message_for(const core::Listed& /*body*/) { return listed; }
  v1::ShowReply& message_for(const core::Shown& /*body*/) { return shown; }
  v1::WhoReply& message_for(const core::WhoListed& /*body*/) { return who; }
  v1::StatusReply& message_for(const core::Counters& /*body*/) { return status; }
  v1::RefreshReply& message_for(const core::Refreshed& /*body*/) { return refreshed; }
  v1::MakeTicketReply& message_for(const core::TicketMade& /*body*/) { return ticket_made; }
  v1::DropTicketReply& message_for(const core::TicketDropped& /*body*/) { return ticket_dropped; }
  v1::SubscribeReply& message_for(const core::Subscribed& /*body*/) { return subscribed; }
  v1::TakeEventsReply& message_for(const core::EventsTaken& /*body*/) { return events_taken; }
  v1::PublishReply& message_for(const core::Published& /*body*/) { return published; }
  v1::WaitStepReply& message_for(const core::StepWaited& /*body*/) { return step_waited; }
  v1::WaitAcksReply& message_for(const core::AcksWaited& /*body*/) { return acks_waited; }
  v1::JoinReply& message_for(const core::Joined& /*body*/) { return joined; }
  v1::ReadyReply& message_for(const core::GroupReady& /*body*/) { return group_ready; }
  v1::GroupAppendReply& message_for(const core::GroupAppended& /*body*/) { return group_appended; }
  v1::QuotaListReply& message_for(const core::QuotaListed& /*body*/) { return quota_listed; }

  std::span<const std::byte> frame(FrameHeader header, const google::protobuf::MessageLite& message);
  std::span<const std::byte> error_frame(std::uint64_t request_id, const core::Error& error, int sys_errno,
                                         const std::string& operation);
};

namespace {

template <class Use>
void each_page(const core::ReplyBody& body, Use use) {
  if (const auto* acquired = std::get_if<core::Acquired>(&body)) use(acquired->page);
  if (const auto* fetched = std::get_if<core::Fetched>(&body)) use(fetched->page);
  if (const auto* joined = std::get_if<core::Joined>(&body)) {
    for (const core::Joined::Member& member : joined->members)
      if (member.grant) use(member.grant->page);
  }
}

std::size_t fds_with(const core::ReplyBody& body) {
  std::size_t count = std::holds_alternative<core::Subscribed>(body) ? 1 : 0;  // the edge's doorbell
  each_page(body, [&count](const core::Page& page) { count += page.handles.size(); });
  return count;
}

void add(v1::StatusReply* out, const EdgeCounters& counters) {
  out->set_uptime_ns(counters.uptime_ns);
  out->set_fds_used(counters.fds_used);
  out->set_fds_limit(counters.fds_limit);
  out->set_fds_reserve(counters.fds_reserve);
  out->set_closing(counters.closing);
  out->set_quarantined(counters.quarantined);
  out->set_in_flight(counters.in_flight);
  out->set_in_flight_limit(counters.in_flight_limit);
  out->set_answers_waiting(counters.answers_waiting);
  out->set_sockets_unread(counters.sockets_unread);
  out->set_log_waiting(counters.log_waiting);
  out->set_log_dropped(counters.log_dropped);
  out->set_audit_dropped(counters.audit_dropped);
  out->set_audit_told(counters.audit_told);
  out->set_sandbox(counters.sandbox);
  out->set_restart_safe(counters.restart_safe);
  out->set_restart_reason(counters.restart_reason);
  out->set_parked(counters.parked);
  out->set_parked_limit(counters.parked_limit);
  out->set_store_entries(counters.store_entries);
  out->set_store_entries_max(counters.store_entries_max);
  out->set_records(counters.records);
  out->set_records_bytes(counters.records_bytes);
  out->set_awaited(counters.awaited);
  out->set_restarts(counters.restarts);
  out->set_draining(counters.draining);
}

constexpr std::size_t kAwaitedTold = 1024;  // of one Resumed: 10 KiB

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
                           static_cast<std::uint16_t>(fds_with(reply.body)), reply.request_id};
  return std::visit(
      [&]<class Body>(const Body& body) {
        if constexpr (std::is_same_v<Body, core::Error>) {
          return m.error_frame(header.request_id, body, 0, "");
        } else {
          auto& message = m.message_for(body);
          message.Clear();
          fill(&message, body);
          if constexpr (std::is_same_v<Body, core::Counters>) add(&message, counters);
          if constexpr (std::is_same_v<Body, core::Shown>)
            message.mutable_info()->set_restart_unsafe(counters.shown_unsafe);
          return m.frame(header, message);
        }
      },
      reply.body);
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
  if (answer.resumes) message.add_features(kResumeFeature);
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

std::span<const std::byte> ReplyWriter::resumed(std::uint64_t restarts,
                                                const std::vector<core::ExportId>& awaited) {
  v1::Resumed& message = messages_->resumed;
  message.Clear();
  message.set_restarts(restarts);
  for (const core::ExportId id : awaited) {
    if (message.awaited_size() == kAwaitedTold) break;
    message.add_awaited(id.value);
  }
  message.set_more_awaited(awaited.size() > kAwaitedTold);
  return messages_->frame({FrameType::kResumed, kFlagEvent, 0, 0}, message);
}

void append_handles(const core::ReplyBody& body, std::vector<OutHandle>& out) {
  each_page(body, [&out](const core::Page& page) {
    for (const core::HandleId handle : page.handles) out.push_back({handle, page.read_only});
  });
}

const std::string& daemon_name() {
  static const std::string name = "hipbrokerd " HIPBROKER_VERSION;
  return name;
}

}  // namespace hb::ipc
