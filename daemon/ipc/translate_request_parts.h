// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the readers of several requests share, and one reader a message. Private to translate_request*.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hipbroker/v1/broker.pb.h"
#include "ipc/translate_request.h"

namespace hb::ipc {

namespace v1 = hipbroker::v1;

template <class T>
using Result = tl::expected<T, EdgeError>;

[[nodiscard]] tl::unexpected<EdgeError> invalid(std::string message);
[[nodiscard]] tl::unexpected<EdgeError> too_much(const char* what, std::uint64_t used, std::uint64_t limit);

template <class Message>
[[nodiscard]] Result<const Message*> parse(Message& message, std::span<const std::byte> body,
                                           const char* name) {
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return tl::unexpected(
        edge_error(HB_PROTO, std::string("the body of ") + name + " (" + std::to_string(body.size()) +
                                 " bytes) is not a hipbroker.v1 message, or a string in it is not UTF-8"));
  }
  return &message;
}

// --- fields -------------------------------------------------------------------------------------
[[nodiscard]] Result<core::Access> access_of(std::uint32_t value, const char* what);
[[nodiscard]] Result<core::Lifetime> lifetime_of(std::uint32_t value);
[[nodiscard]] Result<KeyBytes> key_of(const std::string& bytes, const char* what);
[[nodiscard]] Result<core::NameRef> name_of(const v1::NameRef& ref);
[[nodiscard]] Result<core::Target> target_of(const v1::Target& target);
[[nodiscard]] Result<core::Device> device_of(const v1::Device& device);
// For `verb`s that need a target and cannot know it by id.
[[nodiscard]] Result<core::Target> target_by_key_or_name(const v1::Target& target, const char* verb);
// `fd_count`: of the frame, every one of which has to belong to a chunk.
[[nodiscard]] Result<std::vector<core::NewChunk>> chunks_of(
    const google::protobuf::RepeatedPtrField<v1::Chunk>& chunks, std::size_t fd_count);

template <class Made, class Message>
[[nodiscard]] Result<core::Request> with_target(Made made, const Message& message) {
  auto target = target_of(message.target());
  if (!target) return tl::unexpected(std::move(target.error()));
  made.target = std::move(*target);
  return core::Request(std::move(made));
}

// --- translate_request_export.cc ----------------------------------------------------------------
[[nodiscard]] Result<core::Request> request_of(const v1::Export& message, std::size_t fd_count);
[[nodiscard]] Result<core::Request> request_of(const v1::Reoffer& message);

// --- translate_request_life.cc ------------------------------------------------------------------
[[nodiscard]] Result<core::Request> request_of(const v1::Change& message, std::size_t fd_count);
[[nodiscard]] Result<core::Request> request_of(const v1::Refresh& message);
[[nodiscard]] Result<core::Request> request_of(const v1::Revoke& message);
[[nodiscard]] Result<core::Request> request_of(const v1::Suspend& message);
[[nodiscard]] Result<core::Request> request_of(const v1::Unmapped& message);
[[nodiscard]] Result<core::Request> request_of(const v1::Claim& message);
[[nodiscard]] Result<core::Request> request_of(const v1::MakeTicket& message);
[[nodiscard]] Result<core::Request> request_of(const v1::DropTicket& message);

// --- translate_request_events.cc ----------------------------------------------------------------
[[nodiscard]] Result<core::Request> request_of(const v1::Subscribe& message);
[[nodiscard]] Result<core::Request> request_of(const v1::TakeEvents& message);
[[nodiscard]] Result<core::Request> request_of(const v1::Publish& message);
[[nodiscard]] Result<core::Request> request_of(const v1::WaitStep& message);
[[nodiscard]] Result<core::Request> request_of(const v1::AckStep& message);
[[nodiscard]] Result<core::Request> request_of(const v1::WaitAcks& message);

// --- translate_request_group.cc -----------------------------------------------------------------
[[nodiscard]] Result<core::Request> request_of(const v1::Join& message);
[[nodiscard]] Result<core::Request> request_of(const v1::Ready& message);
[[nodiscard]] Result<core::Request> request_of(const v1::GroupAppend& message);
[[nodiscard]] Result<core::Request> request_of(const v1::Leave& message);

}  // namespace hb::ipc
