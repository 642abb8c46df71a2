// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/export_rules.h"

#include <algorithm>
#include <vector>

#include "core/access_rules.h"
#include "core/failure.h"
#include "wire/limits.h"
#include "wire/name.h"

namespace hb::core {

namespace {

bool is_device_text(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

std::optional<Error> refuse_acl(const ExportRequest& request, std::uint32_t uid) {
  if (request.acl.size() > limits::kAclEntries)
    return over_bound("ACL entries", request.acl.size(), limits::kAclEntries, uid);
  for (const AclEntry& entry : request.acl)
    if (entry.access != Access::kRead && entry.access != Access::kReadWrite)
      return failure(HB_INVALID, "ACL entry for ", entry.kind == AclEntry::Kind::kUid ? "uid " : "gid ",
                     entry.id, " grants access ", static_cast<unsigned>(entry.access),
                     "; 1 (read) and 3 (read and write) exist");
  if (request.max_access != Access::kNone && request.max_access != Access::kRead &&
      request.max_access != Access::kReadWrite)
    return failure(HB_INVALID, "max_access ", static_cast<unsigned>(request.max_access),
                   " is not known; 0 (all), 1 (read) and 3 (read and write) exist");
  if (request.max_access == Access::kRead && promises_write(request))
    return failure(HB_READ_ONLY, "an ACL entry grants write, max_access allows read only");
  return std::nullopt;
}

std::optional<Error> refuse_placement(const Placement& placement, std::uint32_t uid) {
  const auto refused = [](const Device& device, const std::string& what) -> std::optional<Error> {
    if (device.uuid.size() <= limits::kDeviceUuidBytes && device.pci.size() <= limits::kDevicePciBytes &&
        is_device_text(device.uuid) && is_device_text(device.pci))
      return std::nullopt;
    return failure(HB_INVALID, what, ": uuid is at most ", limits::kDeviceUuidBytes, " and pci at most ",
                   limits::kDevicePciBytes, " printable ASCII characters");
  };
  if (auto bad = refused(placement.device, "device")) return bad;
  if (placement.peers.size() > limits::kExportPeers)
    return over_bound("peers", placement.peers.size(), limits::kExportPeers, uid);
  const auto nobody = [](const Device& device) { return device.uuid.empty() && device.pci.empty(); };
  if (!placement.peers.empty() && nobody(placement.device))
    return failure(HB_INVALID, placement.peers.size(), " peers of memory that is on no device");
  for (std::size_t i = 0; i < placement.peers.size(); ++i) {
    const std::string what = "peer " + std::to_string(i);
    if (auto bad = refused(placement.peers[i], what)) return bad;
    if (nobody(placement.peers[i])) return failure(HB_INVALID, what, " has neither uuid nor pci");
  }
  return std::nullopt;
}

// One chunk by itself and against its handle.
std::optional<Error> refuse_chunk(const PageRules& rules, std::uint64_t number, const NewChunk& chunk,
                                  std::span<const HandleFacts> handles) {
  if (chunk.handle == NewChunk::kNoHandle)
    return chunk_failure(HB_PROTO, number, "no descriptor; kind ", kind_name(rules.kind), " needs one");
  if (chunk.handle >= handles.size())
    return chunk_failure(HB_PROTO, number, "names handle ", chunk.handle, " of ", handles.size());
  if (!chunk.opaque.empty())
    return chunk_failure(HB_UNSUPPORTED, number, "opaque bytes; kind ", kind_name(rules.kind), " has none");
  const HandleFacts& handle = handles[chunk.handle];
  if (handle.kind != rules.kind)
    return chunk_failure(HB_MIXED, number, "a ", kind_name(handle.kind), " in an export of kind ",
                         kind_name(rules.kind), "; all chunks of an export are of one kind");
  if (chunk.size == 0) return chunk_failure(HB_INVALID, number, "zero bytes; empty exports are refused");
  const std::uint64_t object = handle.size_known ? handle.size : chunk.object_size;
  if (!handle.size_known && object == 0)
    return chunk_failure(HB_INVALID, number,
                         "the kernel does not tell the size of this kind: declare object_size");
  if (chunk.offset > object || chunk.size > object - chunk.offset)
    return chunk_failure(HB_RANGE, number, "offset ", chunk.offset, " and size ", chunk.size,
                         " do not lie inside the object of ", object, " bytes");
  if (rules.promises_write && !handle.writable)
    return chunk_failure(HB_READ_ONLY, number,
                         "write is granted over a descriptor that is read-only; grant read, or bring a "
                         "writable descriptor");
  return std::nullopt;
}

}  // namespace

bool promises_write(const ExportRequest& request) {
  return request.max_access == Access::kReadWrite ||
         std::any_of(request.acl.begin(), request.acl.end(),
                     [](const AclEntry& entry) { return entry.access == Access::kReadWrite; });
}

std::optional<Error> refuse_lifetime(const Core& core, Lifetime lifetime, std::uint64_t linger_ns,
                                     const Principal& who) {
  switch (lifetime) {
    case Lifetime::kOwner:
      if (linger_ns == 0) return std::nullopt;
      return failure(HB_INVALID, "linger_ns ", linger_ns, " with lifetime owner: it is for linger");
    case Lifetime::kLinger:
      if (linger_ns == 0) return failure(HB_INVALID, "lifetime linger needs linger_ns above 0");
      if (linger_ns <= limits::kLingerNs) return std::nullopt;
      return over_bound("ns of linger", linger_ns, limits::kLingerNs, who.uid);
    case Lifetime::kPersist:
      if (linger_ns != 0)
        return failure(HB_INVALID, "linger_ns ", linger_ns, " with lifetime persist: it is for linger");
      if (who.rights.allows(Verb::kPersist)) return std::nullopt;
      return refuse_verb(core, who, Verb::kPersist).value();
  }
  return failure(HB_UNSUPPORTED, "lifetime ", static_cast<unsigned>(lifetime),
                 " is not known to this daemon; 0 (owner), 1 (linger) and 2 (persist) are");
}

std::optional<Error> refuse_terms(const Core& core, const ExportRequest& request, const Principal& who) {
  const std::uint32_t uid = who.uid;
  if (!request.name.empty())
    if (const auto valid = check_name(request.name); !valid)
      return failure(HB_INVALID, "name: ", valid.error());
  if (request.metadata.size() > limits::kMetadataBytes)
    return over_bound("metadata bytes", request.metadata.size(), limits::kMetadataBytes, uid);
  if (request.kind != HandleKind::kMemfd && request.kind != HandleKind::kDmaBuf &&
      request.kind != HandleKind::kDriver)
    return failure(HB_UNSUPPORTED, "handle kind ", static_cast<unsigned>(request.kind),
                   " is not known to this daemon");
  if (auto refused = refuse_placement(request.placement, uid)) return refused;
  if (auto refused = refuse_acl(request, uid)) return refused;
  if (auto refused = refuse_lifetime(core, request.lifetime, request.linger_ns, who)) return refused;
  if (request.replace && request.name.empty())
    return failure(HB_INVALID, "replace is for names, and the export has none");
  if (request.max_size != 0 && request.max_size < request.total_size)
    return failure(HB_INVALID, "the maximum (max_bytes) of ", request.max_size, " is below the ",
                   request.total_size, " bytes of the export itself");
  if (request.max_size > limits::kExportBytes)
    return over_bound("bytes of the maximum (max_bytes)", request.max_size, limits::kExportBytes, uid);
  if (request.total_chunks == 0 || request.total_size == 0 || request.chunks.empty())
    return failure(HB_INVALID, "empty exports are refused: ", request.total_chunks, " chunks, ",
                   request.total_size, " bytes announced, ", request.chunks.size(), " chunks sent");
  if (request.total_chunks > limits::kExportChunks)
    return over_bound("chunks", request.total_chunks, limits::kExportChunks, uid);
  if (request.total_size > limits::kExportBytes)
    return over_bound("bytes", request.total_size, limits::kExportBytes, uid);
  if (request.distinct_handles > request.total_chunks)
    return failure(HB_INVALID, request.distinct_handles, " descriptors announced for ", request.total_chunks,
                   " chunks; each must belong to a chunk");
  return std::nullopt;
}

std::optional<Error> refuse_page(const PageRules& rules, std::span<const NewChunk> chunks,
                                 std::span<const HandleFacts> handles) {
  if (chunks.empty() || chunks.size() > limits::kPageChunks)
    return failure(HB_PROTO, "a page has 1 to ", limits::kPageChunks, " chunks, not ", chunks.size());
  if (chunks.size() > rules.total_chunks - rules.first)
    return chunk_failure(HB_PROTO, rules.base + rules.total_chunks, "more than the ", rules.total_chunks,
                         " chunks announced");
  if (handles.size() > rules.handles)
    return chunk_failure(HB_PROTO, rules.base + rules.first, "the page brings ", handles.size(),
                         " descriptors, ", rules.handles, " of those announced are still to come");
  std::vector<std::uint32_t> first_use(handles.size(), UINT32_MAX);
  std::uint64_t bytes = rules.bytes;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::uint64_t number = rules.base + rules.first + i;
    const NewChunk& chunk = chunks[i];
    if (auto refused = refuse_chunk(rules, number, chunk, handles)) return refused;
    if (chunk.size > rules.total_size - bytes)
      return chunk_failure(HB_INVALID, number, "goes beyond the ", rules.total_size, " bytes announced");
    bytes += chunk.size;
    std::uint32_t& first = first_use[chunk.handle];
    if (first == UINT32_MAX) first = static_cast<std::uint32_t>(i);
    const NewChunk& other = chunks[first];
    if (other.identity != chunk.identity || other.object_size != chunk.object_size)
      return chunk_failure(HB_INVALID, number, "declares another identity or object size than chunk ",
                           rules.base + rules.first + first, " of the same descriptor");
  }
  const auto unused = std::find(first_use.begin(), first_use.end(), UINT32_MAX);
  if (unused != first_use.end())
    return failure(HB_PROTO, "descriptor ", unused - first_use.begin(), " of the page belongs to no chunk");
  if (rules.first + chunks.size() == rules.total_chunks && bytes != rules.total_size)
    return chunk_failure(HB_INVALID, rules.base + rules.total_chunks - 1, "the chunks add up to ", bytes,
                         " bytes, ", rules.total_size, " were announced");
  return std::nullopt;
}

}  // namespace hb::core
