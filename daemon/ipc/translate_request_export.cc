// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Exports as their owners describe them: new ones, and those that a daemon started again lost the descriptors
// of.
#include <algorithm>
#include <utility>
#include <vector>

#include "ipc/translate_request_parts.h"
#include "wire/limits.h"

namespace hb::ipc {
namespace {

Result<core::HandleKind> kind_of(std::uint32_t number) {
  switch (number) {
    case 1:
      return core::HandleKind::kMemfd;
    case 2:
      return core::HandleKind::kDmaBuf;
    case 3:
      return core::HandleKind::kDriver;
    default:
      return tl::unexpected(
          edge_error(HB_UNSUPPORTED, "handle kind " + std::to_string(number) +
                                         " is not known to this daemon; it knows 1 (memfd), 2 "
                                         "(dma-buf) and 3 (a driver's own)"));
  }
}

Result<std::vector<core::AclEntry>> acl_of(const google::protobuf::RepeatedPtrField<v1::AclEntry>& acl) {
  if (static_cast<std::size_t>(acl.size()) > limits::kAclEntries) {
    return too_much("access list entries", static_cast<std::uint64_t>(acl.size()), limits::kAclEntries);
  }
  std::vector<core::AclEntry> result;
  result.reserve(static_cast<std::size_t>(acl.size()));
  for (const v1::AclEntry& entry : acl) {
    core::AclEntry made;
    if (entry.kind() == v1::AclEntry::UID) {
      made.kind = core::AclEntry::Kind::kUid;
    } else if (entry.kind() == v1::AclEntry::GID) {
      made.kind = core::AclEntry::Kind::kGid;
    } else {
      return invalid("access list entry " + std::to_string(result.size()) + " is of kind " +
                     std::to_string(static_cast<int>(entry.kind())) + ", expected 0 (uid) or 1 (gid)");
    }
    const auto access = access_of(entry.access(), "the access of an access list entry");
    if (!access) return tl::unexpected(access.error());
    made.id = entry.id();
    made.access = *access;
    result.push_back(made);
  }
  return result;
}

template <class Message>
Result<core::Placement> placement_of(const Message& message) {
  core::Placement placement;
  auto device = device_of(message.device());
  if (!device) return tl::unexpected(std::move(device.error()));
  placement.device = std::move(*device);
  if (static_cast<std::size_t>(message.peers_size()) > limits::kExportPeers)
    return too_much("peers", static_cast<std::uint64_t>(message.peers_size()), limits::kExportPeers);
  placement.peers.reserve(static_cast<std::size_t>(message.peers_size()));
  for (const v1::Device& peer : message.peers()) {
    auto made = device_of(peer);
    if (!made) return tl::unexpected(std::move(made.error()));
    placement.peers.push_back(std::move(*made));
  }
  return placement;
}

// What an export is, said when it is made and again when it is offered again.
template <class Message, class Request>
Result<void> terms_into(const Message& message, Request& request) {
  if (message.name().size() > limits::kNameBytes)
    return too_much("name bytes", message.name().size(), limits::kNameBytes);
  if (message.metadata().size() > limits::kMetadataBytes)
    return too_much("metadata bytes", message.metadata().size(), limits::kMetadataBytes);
  auto placement = placement_of(message);
  if (!placement) return tl::unexpected(std::move(placement.error()));
  const auto lifetime = lifetime_of(message.lifetime());
  if (!lifetime) return tl::unexpected(lifetime.error());
  const auto kind = kind_of(message.handle_kind());
  if (!kind) return tl::unexpected(kind.error());
  auto acl = acl_of(message.acl());
  if (!acl) return tl::unexpected(std::move(acl.error()));
  request.name = message.name();
  request.metadata = message.metadata();
  request.kind = *kind;
  request.placement = std::move(*placement);
  request.acl = std::move(*acl);
  request.lifetime = *lifetime;
  request.linger_ns = message.linger_ns();
  request.max_size = message.max_size();
  return {};
}

}  // namespace

Result<core::Request> request_of(const v1::Export& message, std::size_t fd_count) {
  core::ExportRequest request;
  if (auto terms = terms_into(message, request); !terms) return tl::unexpected(std::move(terms.error()));
  auto chunks = chunks_of(message.chunks(), fd_count);
  if (!chunks) return tl::unexpected(std::move(chunks.error()));
  if (message.max_access() != 0) {
    const auto access = access_of(message.max_access(), "the most any reader may get");
    if (!access) return tl::unexpected(access.error());
    request.max_access = *access;
  }
  request.total_chunks = message.total_chunks();
  request.total_size = message.total_size();
  request.distinct_handles = message.distinct_handles();
  request.replace = message.replace();
  request.chunks = std::move(*chunks);
  return core::Request(std::move(request));
}

Result<core::Request> request_of(const v1::Reoffer& message) {
  core::ReofferRequest request;
  if (message.token().size() != request.token.size()) {
    return invalid("the token of a reoffer has " + std::to_string(message.token().size()) +
                   " bytes, expected " + std::to_string(request.token.size()));
  }
  if (auto terms = terms_into(message, request); !terms) return tl::unexpected(std::move(terms.error()));
  const auto access = access_of(message.access(), "the access of a reoffer");
  if (!access) return tl::unexpected(access.error());
  request.id = core::ExportId{message.export_id()};
  request.generation = message.generation();
  std::copy(message.token().begin(), message.token().end(), request.token.begin());
  request.access = *access;
  request.layout_version = message.layout_version();
  request.size = message.size();
  return core::Request(std::move(request));
}

}  // namespace hb::ipc
