// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "acquire.h"

#include "chunk_reader.h"
#include "client.h"
#include "fd_room.h"
#include "hipbroker/hipbroker.h"
#include "succession.h"
#include "wire/limits.h"

namespace hb::client {
namespace {

msg::Target wire_target(const AcquireTarget& target) {
  if (target.key) return msg::Target::by_key(std::as_bytes(std::span(*target.key)));
  return msg::Target::by_name(target.name, target.owner_uid);
}

std::uint64_t wait_ns(const AcquireRequest& request) {
  if (!request.wait) return 0;
  if (request.deadline_ns == kNoDeadline) return UINT64_MAX;
  const std::uint64_t now = now_ns();
  return request.deadline_ns > now ? request.deadline_ns - now : 0;
}

class Acquiring {
 public:
  Acquiring(Client& client, const std::shared_ptr<Session>& session, const AcquireRequest& request)
      : session_(session), request_(request), reader_(session, client.stats(), request.deadline_ns) {}

  Result<void> wait() {
    auto reply = first_page();
    if (!reply) return tl::unexpected(std::move(reply.error()));
    const auto body = msg::decode<msg::AcquireReply>(reply->body);
    if (!body) return fail(malformed(body.error()));
    session_->release(body->lease_id);
    return {};
  }

  Result<Acquired> run(const PageSink& sink) {
    auto words = session_->validity(request_.deadline_ns);
    if (!words) return tl::unexpected(std::move(words.error()));
    const LeaseIndex::Arrival arriving(session_->leases());
    auto reply = first_page();
    if (!reply) return tl::unexpected(std::move(reply.error()));
    // From here on nothing is sent twice: the lease is this session's.
    if (auto used = use_first(std::move(*reply), **words, sink); !used) return fail(std::move(used.error()));
    const Grant& grant = acquired_.grant;
    while (taken_ < grant.chunk_count) {
      auto page = reader_.fetch(acquired_.lease, grant, grant.first_chunk + taken_,
                                grant.chunk_count - taken_, position_);
      if (!page) {
        // Nothing of another layout is ever given under this lease. What it is now, a new one tells; but a
        // ticket is used up.
        const hb_status status = page.error().status;
        changed_ = (status == HB_STALE || status == HB_SUSPENDED) && !by_ticket();
        return fail(std::move(page.error()));
      }
      if (auto used = use(std::move(*page), sink); !used) return fail(std::move(used.error()));
    }
    if (position_ < grant.offset + grant.bytes) return broken_grant("its chunks end before its range");
    return std::move(acquired_);
  }

  // run() failed because the export got another layout meanwhile.
  [[nodiscard]] bool was_changed() const { return changed_; }

 private:
  [[nodiscard]] bool by_ticket() const { return request_.target.key && is_ticket(*request_.target.key); }

  Result<Reply> first_page() {
    msg::Acquire acquire;
    acquire.target = wire_target(request_.target);
    acquire.access = request_.access;
    acquire.offset = request_.offset;
    acquire.length = request_.bytes == HB_WHOLE ? 0 : request_.bytes;
    acquire.demand_level = request_.demand_level;
    for (;;) {
      // Waiting for a name must not keep other acquires waiting: it takes no turn, and one descriptor.
      Result<Session::PageTurn> turn;
      if (!request_.wait) turn = session_->page_turn(request_.deadline_ns);
      if (!turn) return tl::unexpected(std::move(turn.error()));
      acquire.max_handles = request_.wait ? 1 : reader_.ask();
      acquire.wait_ns = wait_ns(request_);
      auto reply = session_->call(FrameType::kAcquire, as_bytes(encoded(acquire)), {}, request_.deadline_ns,
                                  Late::kAcquire);
      if (!reply) {
        if (reply.error().status == HB_NO_FDS && !request_.wait && reader_.ask_less()) continue;
        // The daemon's clock and this one end at once: whoever is first, it says the same.
        if (reply.error().status == HB_TIMEOUT && request_.wait)
          reply.error().message = "no export named \"" + request_.target.name +
                                  "\" that may be read, and is awake, appeared before the deadline";
        return reply;
      }
      // A ticket is used up: its first page is fetched again under the lease that came of it.
      if (!reply->fds_truncated || (by_ticket() && reader_.ask_less())) return reply;
      if (const auto granted = msg::decode<msg::AcquireReply>(reply->body))
        session_->release(granted->lease_id);
      if (request_.wait || !reader_.ask_less())
        return fail(no_fds(fd_room(), 1, "receiving a descriptor from the daemon"));
    }
  }

  Result<void> use_first(Reply reply, const ValidityPage& words, const PageSink& sink) {
    const auto body = msg::decode<msg::AcquireReply>(reply.body);
    if (!body) return fail(malformed(body.error()));
    acquired_.lease = Lease(session_, body->lease_id);
    const auto* word = words.slot(body->validity_slot);
    if (word == nullptr) return broken_grant("validity slot " + std::to_string(body->validity_slot));
    acquired_.lease.watch(word, body->validity_value);
    auto granted = grant_of(*session_, *body);
    if (!granted) return tl::unexpected(std::move(granted.error()));
    acquired_.grant = std::move(*granted);
    const Grant& grant = acquired_.grant;
    if ((grant.access & request_.access) != request_.access)
      return broken_grant("less access than was asked for");
    position_ = grant.chunk_base;
    if (reply.fds_truncated) return {};
    auto page = reader_.page_of(grant, body->chunks, std::move(reply.fds), grant.first_chunk,
                                grant.chunk_count, position_);
    if (!page) return tl::unexpected(std::move(page.error()));
    return use(std::move(*page), sink);
  }

  Result<void> use(GrantPage page, const PageSink& sink) {
    page.first = taken_ == 0;
    taken_ += page.chunks.size();
    position_ = page.end;
    return sink(acquired_.grant, std::move(page));
  }

  static tl::unexpected<Error> fail(Error error) {
    error.not_sent = false;
    return hb::client::fail(std::move(error));
  }
  static tl::unexpected<Error> fail(hb_status status, std::string message) {
    return hb::client::fail(status, std::move(message));
  }

  const std::shared_ptr<Session>& session_;
  const AcquireRequest& request_;
  ChunkReader reader_;
  Acquired acquired_;
  bool changed_ = false;
  std::uint64_t taken_ = 0;     // chunks
  std::uint64_t position_ = 0;  // end of the last one inside the export
};

}  // namespace

Result<void> wait_until_acquirable(Client& client, const AcquireRequest& request) {
  return client.on_session(request.deadline_ns, [&](const std::shared_ptr<Session>& session) {
    return Acquiring(client, session, request).wait();
  });
}

Result<Acquired> acquire(Client& client, const AcquireRequest& request, const PageSink& sink) {
  if (request.bytes == 0) return fail(HB_INVALID, "bytes is 0; HB_WHOLE means to the end");
  if (request.bytes != HB_WHOLE && request.offset > UINT64_MAX - request.bytes)
    return fail(limit_error(HB_RANGE, "offset", request.offset, UINT64_MAX - request.bytes,
                            "offset " + std::to_string(request.offset) + " plus " +
                                std::to_string(request.bytes) + " bytes is beyond 2^64"));
  for (;;) {
    bool changed = false;
    auto acquired = client.on_session(request.deadline_ns, [&](const std::shared_ptr<Session>& session) {
      Acquiring acquiring(client, session, request);
      auto result = acquiring.run(sink);
      changed = acquiring.was_changed();
      return result;
    });
    if (acquired || !changed) return acquired;
    if (now_ns() >= request.deadline_ns)
      return fail(HB_TIMEOUT, "the export was changed again and again while it was acquired: " +
                                  acquired.error().message);
  }
}

}  // namespace hb::client
