// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "chunk_reader.h"

#include <algorithm>

#include "fd_room.h"
#include "hipbroker/hipbroker.h"
#include "wire/limits.h"

namespace hb::client {

tl::unexpected<Error> broken_grant(const std::string& reason) {
  return fail(HB_PROTO, "the daemon's grant makes no sense: " + reason);
}

ChunkReader::ChunkReader(const std::shared_ptr<Session>& session, Stats& stats, std::uint64_t deadline_ns)
    : session_(session), stats_(stats), deadline_ns_(deadline_ns), ask_(fds_per_page()) {}

bool ChunkReader::ask_less() {
  if (ask_ <= 1) return false;
  ask_ /= 2;
  return true;
}

Result<GrantPage> ChunkReader::fetch(const Lease& lease, const Grant& grant, std::uint64_t first,
                                     std::uint64_t most, std::uint64_t position) {
  msg::Fetch fetch;
  fetch.lease_id = lease.id();
  fetch.first = first;
  for (;;) {
    auto turn = session_->page_turn(deadline_ns_);
    if (!turn) return tl::unexpected(std::move(turn.error()));
    // The daemon fills a page up to the end of the range: of what is not wanted nothing is sent this way.
    const bool to_the_end = most == grant.first_chunk + grant.chunk_count - first;
    fetch.max_handles = to_the_end ? ask_ : static_cast<std::uint32_t>(std::min<std::uint64_t>(ask_, most));
    auto reply = session_->call(FrameType::kFetch, as_bytes(encoded(fetch)), {}, deadline_ns_);
    if (!reply) {
      if (reply.error().status == HB_NO_FDS && ask_less()) continue;
      reply.error().not_sent = false;
      return tl::unexpected(std::move(reply.error()));
    }
    if (reply->fds_truncated) {
      if (ask_less()) continue;
      return fail(no_fds(fd_room(), 1, "receiving a descriptor from the daemon"));
    }
    const auto body = msg::decode<msg::FetchReply>(reply->body);
    if (!body) return fail(malformed(body.error()));
    if (body->first != first) return broken_grant("another page than the one asked for");
    return page_of(grant, body->chunks, std::move(reply->fds), first, most, position);
  }
}

Result<GrantPage> ChunkReader::page_of(const Grant& grant, const std::vector<msg::Chunk>& chunks,
                                       std::vector<UniqueFd> fds, std::uint64_t first, std::uint64_t most,
                                       std::uint64_t position) {
  Stats::add(stats_.fetched_fds, fds.size());
  if (chunks.empty()) return broken_grant("a page without chunks");
  if (chunks.size() > grant.first_chunk + grant.chunk_count - first)
    return broken_grant("more chunks than it announced");
  GrantPage page;
  page.chunks.reserve(chunks.size());
  for (const msg::Chunk& chunk : chunks) {
    if (page.chunks.size() == most) break;
    const std::uint64_t number = first + page.chunks.size();
    if (chunk.handle == 0)
      return fail(HB_UNSUPPORTED, "chunk " + std::to_string(number) +
                                      " has no descriptor; this library can only map descriptors");
    if (chunk.handle > fds.size())
      return broken_grant("chunk " + std::to_string(number) + " of no descriptor");
    if (chunk.size == 0 || chunk.size > limits::kExportBytes || chunk.offset > limits::kExportBytes ||
        position > grant.export_bytes || chunk.size > grant.export_bytes - position)
      return broken_grant("chunk " + std::to_string(number) + " of " + std::to_string(chunk.size) + " bytes");
    if (chunk.object_size != 0 && chunk.object_size < chunk.offset + chunk.size)
      return broken_grant("chunk " + std::to_string(number) + " ends behind its object of " +
                          std::to_string(chunk.object_size) + " bytes");
    page.chunks.push_back({chunk.handle - 1, chunk.offset, chunk.size, position, number, chunk.object_size});
    position += chunk.size;
  }
  page.end = position;
  page.fds = std::move(fds);
  return page;
}

}  // namespace hb::client
