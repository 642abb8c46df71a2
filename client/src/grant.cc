// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "grant.h"

#include <cstring>

#include "chunk_reader.h"
#include "hipbroker/hipbroker.h"
#include "session.h"
#include "wire/limits.h"

namespace hb::client {
namespace {

DeviceId device_of(const msg::Device& device) {
  return {std::string(device.uuid), std::string(device.pci), device.partition};
}

}  // namespace

Result<Grant> grant_of(const Session& session, const msg::AcquireReply& reply) {
  Grant grant;
  grant.offset = reply.offset;
  grant.bytes = reply.length;
  grant.export_id = reply.export_id;
  grant.generation = reply.generation;
  grant.layout_version = reply.layout_version;
  grant.export_bytes = reply.export_size;
  grant.first_chunk = reply.first_chunk;
  grant.chunk_count = reply.chunk_count;
  grant.chunk_base = reply.chunk_base;
  grant.owner_uid = reply.owner_uid;
  grant.access = reply.access;
  grant.level = reply.level;
  grant.handle_kind = reply.handle_kind;
  grant.device = device_of(reply.device);
  for (const msg::Device& peer : reply.peers) grant.peers.push_back(device_of(peer));
  grant.object_bytes = reply.object_bytes;
  grant.max_bytes = reply.max_size;
  grant.follows = reply.follows;
  grant.metadata.assign(reinterpret_cast<const char*>(reply.metadata.data()), reply.metadata.size());
  const msg::Bytes broker = session.hello().broker_id;
  std::memcpy(grant.broker.data(), broker.data(), grant.broker.size());
  if (reply.secret.size() != grant.secret.size()) return broken_grant("secret of another size");
  std::memcpy(grant.secret.data(), reply.secret.data(), grant.secret.size());
  if (grant.bytes == 0 || grant.chunk_count == 0 || grant.export_bytes > limits::kExportBytes ||
      grant.offset > grant.export_bytes || grant.bytes > grant.export_bytes - grant.offset ||
      grant.chunk_base > grant.offset || grant.chunk_count > limits::kExportChunks)
    return broken_grant("range " + std::to_string(grant.offset) + " + " + std::to_string(grant.bytes) +
                        " of " + std::to_string(grant.export_bytes) + " bytes");
  return grant;
}

Result<KeyBytes> Grant::subkey(std::uint64_t at, std::uint64_t length) const {
  if (at > bytes || (length != HB_WHOLE && length > bytes - at) || at == bytes || length == 0)
    return fail(limit_error(HB_RANGE, "bytes", length == HB_WHOLE ? at : at + length, bytes,
                            "offset " + std::to_string(at) + " and the bytes from there do not lie inside " +
                                std::to_string(bytes) + " bytes"));
  KeyFields fields;
  fields.broker = broker;
  fields.export_id = export_id;
  fields.generation = generation;
  fields.offset = offset + at;
  // As the daemon writes it: to the end, wherever that comes to be.
  const bool on = follows && max_bytes != 0;
  fields.length = length != HB_WHOLE ? length : on ? UINT64_MAX : bytes - at;
  return encode_key(fields, secret);
}

}  // namespace hb::client
