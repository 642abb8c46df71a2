// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Requests of the ranks of a group.
#include <utility>

#include "ipc/translate_request_parts.h"
#include "wire/limits.h"

namespace hb::ipc {
namespace {

// A rank's reason is for people: too long, it is shortened and not refused. The parser has checked that it
// is UTF-8, and a character cut in two would make the answer to the other ranks none.
std::string cut(const std::string& text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  std::size_t end = bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace

Result<core::Request> request_of(const v1::Join& message) {
  if (message.name().size() > limits::kNameBytes) {
    return too_much("name bytes", message.name().size(), limits::kNameBytes);
  }
  if (message.agreement().size() > limits::kAgreementBytes) {
    return too_much("agreement bytes", message.agreement().size(), limits::kAgreementBytes);
  }
  const auto access = access_of(message.access(), "the access a rank wants of the others");
  if (!access) return tl::unexpected(access.error());
  core::JoinRequest request;
  request.name = message.name();
  request.rank = message.rank();
  request.world = message.world();
  request.attempt = message.attempt();
  request.wait_ns = message.wait_ns();
  request.offer = core::ExportId{message.export_id()};
  request.agreement = message.agreement();
  request.any_layout = message.any_layout();
  request.access = *access;
  request.max_handles = message.max_handles();
  return core::Request(std::move(request));
}

Result<core::Request> request_of(const v1::Ready& message) {
  // A reason this daemon does not know (a newer client) is passed on as the number it is.
  if (message.status() > 0) {
    return invalid("the status of a rank is " + std::to_string(message.status()) +
                   ", expected 0 or one of the negative numbers of hipbroker/status.h");
  }
  core::ReadyRequest request;
  request.group = core::GroupId{message.group_id()};
  request.round = message.round();
  request.status = message.status();
  request.message = cut(message.message(), limits::kReadyMessageBytes);
  request.wait_ns = message.wait_ns();
  return core::Request(std::move(request));
}

Result<core::Request> request_of(const v1::GroupAppend& message) {
  return core::Request(
      core::GroupAppendRequest{core::GroupId{message.group_id()}, message.round(), message.wait_ns()});
}

Result<core::Request> request_of(const v1::Leave& message) {
  return core::Request(core::LeaveRequest{core::GroupId{message.group_id()}});
}

}  // namespace hb::ipc
