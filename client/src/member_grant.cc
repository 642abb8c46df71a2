// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "member_grant.h"

#include <algorithm>
#include <utility>

#include "chunk_reader.h"
#include "client.h"
#include "messages_life.h"

namespace hb::client {

Result<std::vector<MemberGrant>> take_apart(const std::shared_ptr<Session>& session,
                                            const msg::JoinReply& joined, Reply& reply) {
  std::vector<MemberGrant> out(joined.members.size());
  for (std::size_t rank = 0; rank < out.size(); ++rank) {
    const msg::Member& member = joined.members[rank];
    if (!member.grant) continue;
    out[rank].lease = Lease(session, member.grant->lease_id);
    out[rank].reply = &*member.grant;
  }
  if (reply.fds_truncated) reply.fds.clear();
  // A frame's descriptors lie side by side, by member.
  std::size_t before = 0;
  for (MemberGrant& member : out) {
    if (member.reply == nullptr || reply.fds_truncated) continue;
    member.handles_before = static_cast<std::uint32_t>(before);
    std::size_t count = 0;
    for (const msg::Chunk& chunk : member.reply->chunks) {
      if (chunk.handle == 0) continue;
      if (chunk.handle <= before) return broken_grant("a chunk of another member's descriptor");
      count = std::max<std::size_t>(count, chunk.handle - before);
    }
    if (count > reply.fds.size() - before) return broken_grant("chunks of more descriptors than came");
    for (std::size_t i = 0; i < count; ++i) member.fds.push_back(std::move(reply.fds[before + i]));
    before += count;
  }
  return out;
}

namespace {

class Reading {
 public:
  Reading(Client& client, const std::shared_ptr<Session>& session, std::uint64_t deadline_ns)
      : session_(session), deadline_ns_(deadline_ns), reader_(session, client.stats(), deadline_ns) {}

  Result<Acquired> run(MemberGrant granted, std::uint32_t access, const PageSink& sink) {
    acquired_.lease = std::move(granted.lease);
    std::vector<msg::Chunk> chunks = granted.reply->chunks;
    // In brief: the answer to the join had no room for it.
    const bool brief = granted.reply->chunk_count == 0;
    if (auto known = brief ? refresh() : describe(*granted.reply); !known)
      return tl::unexpected(std::move(known.error()));
    const Grant& grant = acquired_.grant;
    if ((grant.access & access) != access) return broken_grant("less access than was asked for");
    position_ = grant.chunk_base;
    if (!granted.fds.empty()) {
      for (msg::Chunk& chunk : chunks)
        if (chunk.handle != 0) chunk.handle -= granted.handles_before;
      auto page = reader_.page_of(grant, chunks, std::move(granted.fds), grant.first_chunk, grant.chunk_count,
                                  position_);
      if (auto used = use(std::move(page), sink); !used) return tl::unexpected(std::move(used.error()));
    }
    while (taken_ < grant.chunk_count) {
      auto page = reader_.fetch(acquired_.lease, grant, grant.first_chunk + taken_,
                                grant.chunk_count - taken_, position_);
      if (auto used = use(std::move(page), sink); !used) return tl::unexpected(std::move(used.error()));
    }
    if (position_ < grant.offset + grant.bytes) return broken_grant("its chunks end before its range");
    return std::move(acquired_);
  }

 private:
  Result<void> describe(const msg::AcquireReply& reply) {
    const auto words = session_->validity(deadline_ns_);
    if (!words) return tl::unexpected(words.error());
    const auto* word = (*words)->slot(reply.validity_slot);
    if (word == nullptr) return broken_grant("validity slot " + std::to_string(reply.validity_slot));
    acquired_.lease.watch(word, reply.validity_value);
    auto grant = grant_of(*session_, reply);
    if (!grant) return tl::unexpected(std::move(grant.error()));
    acquired_.grant = std::move(*grant);
    return {};
  }

  Result<void> refresh() {
    msg::Refresh question;
    question.lease_id = acquired_.lease.id();
    auto reply = session_->call(FrameType::kRefresh, as_bytes(encoded(question)), {}, deadline_ns_);
    if (!reply) return tl::unexpected(std::move(reply.error()));
    const auto body = msg::decode<msg::RefreshReply>(reply->body);
    if (!body) return fail(malformed(body.error()));
    return describe(body->grant);
  }

  Result<void> use(Result<GrantPage> page, const PageSink& sink) {
    if (!page) return tl::unexpected(std::move(page.error()));
    page->first = taken_ == 0;
    taken_ += page->chunks.size();
    position_ = page->end;
    return sink(acquired_.grant, std::move(*page));
  }

  const std::shared_ptr<Session>& session_;
  const std::uint64_t deadline_ns_;
  ChunkReader reader_;
  Acquired acquired_;
  std::uint64_t taken_ = 0;     // chunks
  std::uint64_t position_ = 0;  // end of the last one inside the export
};

}  // namespace

Result<Acquired> read_grant(Client& client, const std::shared_ptr<Session>& session, MemberGrant granted,
                            std::uint32_t access, std::uint64_t deadline_ns, const PageSink& sink) {
  auto acquired = Reading(client, session, deadline_ns).run(std::move(granted), access, sink);
  // The lease is this session's: nothing of it can be asked for on another.
  if (!acquired) acquired.error().not_sent = false;
  return acquired;
}

}  // namespace hb::client
