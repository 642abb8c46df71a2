// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Requests about what happened, and about steps.
#include "ipc/translate_request_parts.h"

namespace hb::ipc {

Result<core::Request> request_of(const v1::Subscribe& /*message*/) {
  return core::Request(core::SubscribeRequest{});
}

Result<core::Request> request_of(const v1::TakeEvents& message) {
  return core::Request(core::TakeEventsRequest{message.max_events()});
}

Result<core::Request> request_of(const v1::Publish& message) {
  return core::Request(core::PublishRequest{core::ExportId{message.export_id()}, message.step()});
}

Result<core::Request> request_of(const v1::WaitStep& message) {
  return core::Request(
      core::WaitStepRequest{core::LeaseId{message.lease_id()}, message.step(), message.wait_ns()});
}

Result<core::Request> request_of(const v1::AckStep& message) {
  return core::Request(core::AckStepRequest{core::LeaseId{message.lease_id()}, message.step()});
}

Result<core::Request> request_of(const v1::WaitAcks& message) {
  return core::Request(
      core::WaitAcksRequest{core::ExportId{message.export_id()}, message.step(), message.wait_ns()});
}

}  // namespace hb::ipc
