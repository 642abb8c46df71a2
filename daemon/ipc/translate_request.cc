// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/translate_request.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ipc/method_table.h"
#include "ipc/translate_request_parts.h"
#include "wire/limits.h"

namespace hb::ipc {

struct RequestReader::Messages {
  v1::Hello hello;
  v1::Export exported;
  v1::ExportChunks export_chunks;
  v1::ExportAbort export_abort;
  v1::Acquire acquire;
  v1::Fetch fetch;
  v1::Release release;
  v1::Withdraw withdraw;
  v1::List list;
  v1::Show show;
  v1::Who who;
  v1::Ping ping;
  v1::QuotaList quota_list;
  v1::Status status;
  v1::Cancel cancel;
  v1::Change change;
  v1::Refresh refresh;
  v1::Revoke revoke;
  v1::Suspend suspend;
  v1::Unmapped unmapped;
  v1::Claim claim;
  v1::MakeTicket make_ticket;
  v1::DropTicket drop_ticket;
  v1::Subscribe subscribe;
  v1::TakeEvents take_events;
  v1::Publish publish;
  v1::WaitStep wait_step;
  v1::AckStep ack_step;
  v1::WaitAcks wait_acks;
  v1::Join join;
  v1::Ready ready;
  v1::GroupAppend group_append;
  v1::Leave leave;
  v1::Reoffer reoffer;
};

namespace {

Result<core::Request> acquire_request(const v1::Acquire& message) {
  auto target = target_by_key_or_name(message.target(), "an acquire");
  if (!target) return tl::unexpected(std::move(target.error()));
  const auto access = access_of(message.access(), "the access of an acquire");
  if (!access) return tl::unexpected(access.error());
  if (message.demand_level() > static_cast<std::uint32_t>(core::Level::kSealed)) {
    return invalid("the read-only level demanded is " + std::to_string(message.demand_level()) +
                   ", expected 0 (any), 1 (intent), 2 (per-reader) or 3 (sealed)");
  }
  core::AcquireRequest request;
  request.target = std::move(*target);
  request.access = *access;
  request.offset = message.offset();
  request.length = message.length();
  request.max_handles = message.max_handles();
  request.wait_ns = message.wait_ns();
  request.demand = static_cast<core::Level>(message.demand_level());
  return core::Request(std::move(request));
}

}  // namespace

RequestReader::RequestReader() : messages_(std::make_unique<Messages>()) {}
RequestReader::~RequestReader() = default;

Result<core::Request> RequestReader::read(FrameType type, std::span<const std::byte> body,
                                          std::size_t fd_count) {
  Messages& m = *messages_;
  const auto through = [body](auto& message, const char* name) {
    return parse(message, body, name).and_then([](const auto* parsed) { return request_of(*parsed); });
  };
  switch (type) {
    case FrameType::kExport:
      return parse(m.exported, body, "Export").and_then([fd_count](const v1::Export* message) {
        return request_of(*message, fd_count);
      });
    case FrameType::kExportChunks:
      return parse(m.export_chunks, body, "ExportChunks")
          .and_then([fd_count](const v1::ExportChunks* message) -> Result<core::Request> {
            auto chunks = chunks_of(message->chunks(), fd_count);
            if (!chunks) return tl::unexpected(std::move(chunks.error()));
            return core::Request(core::ExportChunksRequest{
                core::ExportId{message->export_id()}, message->first(), std::move(*chunks), {}});
          });
    case FrameType::kExportAbort:
      return parse(m.export_abort, body, "ExportAbort").map([](const v1::ExportAbort* message) {
        return core::Request(core::ExportAbortRequest{core::ExportId{message->export_id()}});
      });
    case FrameType::kAcquire:
      return parse(m.acquire, body, "Acquire").and_then([](const v1::Acquire* message) {
        return acquire_request(*message);
      });
    case FrameType::kFetch:
      return parse(m.fetch, body, "Fetch").map([](const v1::Fetch* message) {
        return core::Request(
            core::FetchRequest{core::LeaseId{message->lease_id()}, message->first(), message->max_handles()});
      });
    case FrameType::kRelease:
      return parse(m.release, body, "Release").map([](const v1::Release* message) {
        return core::Request(core::ReleaseRequest{core::LeaseId{message->lease_id()}});
      });
    case FrameType::kWithdraw:
      return parse(m.withdraw, body, "Withdraw").and_then([](const v1::Withdraw* message) {
        return with_target(core::WithdrawRequest{{}, message->all(), message->wait_ns()}, *message);
      });
    case FrameType::kList:
      return parse(m.list, body, "List").and_then([](const v1::List* message) -> Result<core::Request> {
        if (message->prefix().size() > limits::kNameBytes) {
          return too_much("name prefix bytes", message->prefix().size(), limits::kNameBytes);
        }
        return core::Request(core::ListRequest{message->cursor(), message->prefix(), message->ended()});
      });
    case FrameType::kShow:
      return parse(m.show, body, "Show").and_then([](const v1::Show* message) {
        return with_target(core::ShowRequest{{}, message->first_chunk()}, *message);
      });
    case FrameType::kWho:
      return parse(m.who, body, "Who").and_then([](const v1::Who* message) {
        return with_target(core::WhoRequest{{}, message->cursor()}, *message);
      });
    case FrameType::kStatus:
      return parse(m.status, body, "Status").map([](const v1::Status*) {
        return core::Request(core::StatusRequest{});
      });
    case FrameType::kCancel:
      return parse(m.cancel, body, "Cancel").map([](const v1::Cancel* message) {
        return core::Request(core::CancelRequest{message->request_id()});
      });
    case FrameType::kChange:
      return parse(m.change, body, "Change").and_then([fd_count](const v1::Change* message) {
        return request_of(*message, fd_count);
      });
    case FrameType::kRefresh:
      return through(m.refresh, "Refresh");
    case FrameType::kRevoke:
      return through(m.revoke, "Revoke");
    case FrameType::kSuspend:
      return through(m.suspend, "Suspend");
    case FrameType::kUnmapped:
      return through(m.unmapped, "Unmapped");
    case FrameType::kClaim:
      return through(m.claim, "Claim");
    case FrameType::kMakeTicket:
      return through(m.make_ticket, "MakeTicket");
    case FrameType::kDropTicket:
      return through(m.drop_ticket, "DropTicket");
    case FrameType::kSubscribe:
      return through(m.subscribe, "Subscribe");
    case FrameType::kTakeEvents:
      return through(m.take_events, "TakeEvents");
    case FrameType::kPublish:
      return through(m.publish, "Publish");
    case FrameType::kWaitStep:
      return through(m.wait_step, "WaitStep");
    case FrameType::kAckStep:
      return through(m.ack_step, "AckStep");
    case FrameType::kWaitAcks:
      return through(m.wait_acks, "WaitAcks");
    case FrameType::kJoin:
      return through(m.join, "Join");
    case FrameType::kReady:
      return through(m.ready, "Ready");
    case FrameType::kGroupAppend:
      return through(m.group_append, "GroupAppend");
    case FrameType::kLeave:
      return through(m.leave, "Leave");
    case FrameType::kReoffer:
      return through(m.reoffer, "Reoffer");
    case FrameType::kQuotaList:
      return parse(m.quota_list, body, "QuotaList").map([](const v1::QuotaList* message) {
        return core::Request(core::QuotaListRequest{message->cursor()});
      });
    case FrameType::kHello:
    case FrameType::kPing:
    case FrameType::kSharePage:
    case FrameType::kScopeAdd:
    case FrameType::kScopeRemove:
    case FrameType::kScopeList:
    case FrameType::kReload:
    case FrameType::kCheckPolicy:
    case FrameType::kQuotaSet:
    case FrameType::kAuditRead:
    case FrameType::kDrain:
    case FrameType::kResumed:
    case FrameType::kError:
      break;
  }
  return tl::unexpected(edge_error(
      HB_UNSUPPORTED,
      "frame type " + std::to_string(static_cast<unsigned>(type)) + " is not known to this daemon"));
}

Result<HelloRequest> RequestReader::read_hello(std::span<const std::byte> body) {
  const auto message = parse(messages_->hello, body, "Hello");
  if (!message) return tl::unexpected(message.error());
  const v1::Hello& hello = **message;
  const bool feature_too_long = std::any_of(hello.features().begin(), hello.features().end(),
                                            [](const auto& f) { return f.size() > limits::kFeatureBytes; });
  if (static_cast<std::size_t>(hello.features_size()) > limits::kFeatures || feature_too_long ||
      hello.library().size() > limits::kLibraryBytes) {
    return tl::unexpected(edge_error(
        HB_PROTO, "a Hello has at most " + std::to_string(limits::kFeatures) + " features of at most " +
                      std::to_string(limits::kFeatureBytes) + " bytes and a library name of at most " +
                      std::to_string(limits::kLibraryBytes) + " bytes"));
  }
  const bool resumes = std::find(hello.features().begin(), hello.features().end(), kResumeFeature) !=
                       hello.features().end();
  return HelloRequest{hello.lowest_version(), hello.highest_version(), hello.library(), resumes};
}

Result<std::string> RequestReader::read_ping(std::span<const std::byte> body) {
  const auto message = parse(messages_->ping, body, "Ping");
  if (!message) return tl::unexpected(message.error());
  if ((*message)->payload().size() > limits::kPingBytes) {
    return too_much("ping payload bytes", (*message)->payload().size(), limits::kPingBytes);
  }
  return (*message)->payload();
}

}  // namespace hb::ipc
