// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Requests that change, pass on or end an export.
#include <utility>

#include "ipc/translate_request_parts.h"

namespace hb::ipc {
namespace {

Result<core::ChangeRequest::Kind> change_kind_of(v1::Change::Kind kind) {
  switch (kind) {
    case v1::Change::APPEND:
      return core::ChangeRequest::Kind::kAppend;
    case v1::Change::REPLACE:
      return core::ChangeRequest::Kind::kReplace;
    case v1::Change::RESUME:
      return core::ChangeRequest::Kind::kResume;
    default:  // an open enum: any number may arrive
      return invalid("a change is of kind " + std::to_string(static_cast<int>(kind)) +
                     ", expected 1 (append), 2 (replace) or 3 (resume)");
  }
}

}  // namespace

Result<core::Request> request_of(const v1::Change& message, std::size_t fd_count) {
  const auto kind = change_kind_of(message.kind());
  if (!kind) return tl::unexpected(kind.error());
  auto chunks = chunks_of(message.chunks(), fd_count);
  if (!chunks) return tl::unexpected(std::move(chunks.error()));
  auto device = device_of(message.device());
  if (!device) return tl::unexpected(std::move(device.error()));
  core::ChangeRequest request;
  request.id = core::ExportId{message.export_id()};
  request.kind = *kind;
  request.first = message.first();
  request.total_chunks = message.total_chunks();
  request.total_size = message.total_size();
  request.distinct_handles = message.distinct_handles();
  request.device = std::move(*device);
  request.chunks = std::move(*chunks);
  return core::Request(std::move(request));
}

Result<core::Request> request_of(const v1::Refresh& message) {
  return core::Request(core::RefreshRequest{core::LeaseId{message.lease_id()}, message.have_version(), {}});
}

Result<core::Request> request_of(const v1::Revoke& message) {
  return with_target(core::RevokeRequest{{}, message.grace_ns()}, message);
}

Result<core::Request> request_of(const v1::Suspend& message) {
  return core::Request(core::SuspendRequest{core::ExportId{message.export_id()}, message.wait_ns()});
}

Result<core::Request> request_of(const v1::Unmapped& message) {
  return core::Request(core::UnmappedRequest{core::LeaseId{message.lease_id()}, message.layout_version()});
}

Result<core::Request> request_of(const v1::Claim& message) {
  auto target = target_by_key_or_name(message.target(), "a claim");
  if (!target) return tl::unexpected(std::move(target.error()));
  const auto lifetime = lifetime_of(message.lifetime());
  if (!lifetime) return tl::unexpected(lifetime.error());
  return core::Request(core::ClaimRequest{std::move(*target), *lifetime, message.linger_ns()});
}

Result<core::Request> request_of(const v1::MakeTicket& message) {
  core::MakeTicketRequest request;
  switch (message.of_case()) {
    case v1::MakeTicket::kExportId:
      request.id = core::ExportId{message.export_id()};
      break;
    case v1::MakeTicket::kLeaseId:
      request.lease = core::LeaseId{message.lease_id()};
      break;
    case v1::MakeTicket::OF_NOT_SET:
      return invalid("a ticket needs the id of an export or of a lease");
  }
  const auto access = access_of(message.access(), "the access of a ticket");
  if (!access) return tl::unexpected(access.error());
  request.offset = message.offset();
  request.length = message.length();
  request.access = *access;
  request.ttl_ns = message.ttl_ns();
  return core::Request(request);
}

Result<core::Request> request_of(const v1::DropTicket& message) {
  return key_of(message.ticket(), "a ticket").map([](const KeyBytes& ticket) {
    return core::Request(core::DropTicketRequest{ticket});
  });
}

}  // namespace hb::ipc
