// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "acquire.h"

#include <cstring>

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

DeviceId device_of(const msg::Device& device) {
  return {std::string(device.uuid), std::string(device.pci), device.partition};
}

tl::unexpected<Error> broken(const std::string& reason) {
  return fail(HB_PROTO, "the daemon's grant makes no sense: " + reason);
}

class Acquiring {
 public:
  Acquiring(const std::shared_ptr<Session>& session, const AcquireRequest& request)
      : session_(session), request_(request), ask_(fds_per_page()) {}

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
    while (taken_ < acquired_.grant.chunk_count)
      if (auto used = fetch(sink); !used) return fail(std::move(used.error()));
    const Grant& grant = acquired_.grant;
    if (position_ < grant.offset + grant.bytes) return broken("its chunks end before its range");
    return std::move(acquired_);
  }

 private:
  // Half the size after a refusal for descriptors, here or in the daemon. False: it was one already.
  bool ask_less() {
    if (ask_ <= 1) return false;
    ask_ /= 2;
    return true;
  }

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
      acquire.max_handles = request_.wait ? 1 : ask_;
      acquire.wait_ns = wait_ns(request_);
      auto reply = session_->call(FrameType::kAcquire, as_bytes(encoded(acquire)), {}, request_.deadline_ns,
                                  Late::kAcquire);
      if (!reply) {
        if (reply.error().status == HB_NO_FDS && !request_.wait && ask_less()) continue;
        return reply;
      }
      // A ticket is used up: its first page is fetched again under the lease that came of it.
      if (!reply->fds_truncated || (by_ticket() && ask_less())) return reply;
      if (const auto granted = msg::decode<msg::AcquireReply>(reply->body))
        session_->release(granted->lease_id);
      if (request_.wait || !ask_less())
        return fail(no_fds(fd_room(), 1, "receiving a descriptor from the daemon"));
    }
  }

  Result<void> use_first(Reply reply, const ValidityPage& words, const PageSink& sink) {
    const auto body = msg::decode<msg::AcquireReply>(reply.body);
    if (!body) return fail(malformed(body.error()));
    acquired_.lease = Lease(session_, body->lease_id);
    const auto* word = words.slot(body->validity_slot);
    if (word == nullptr) return broken("validity slot " + std::to_string(body->validity_slot));
    acquired_.lease.watch(word, body->validity_value);
    Grant& grant = acquired_.grant;
    grant.offset = body->offset;
    grant.bytes = body->length;
    grant.export_id = body->export_id;
    grant.generation = body->generation;
    grant.layout_version = body->layout_version;
    grant.export_bytes = body->export_size;
    grant.first_chunk = body->first_chunk;
    grant.chunk_count = body->chunk_count;
    grant.chunk_base = body->chunk_base;
    grant.owner_uid = body->owner_uid;
    grant.access = body->access;
    grant.level = body->level;
    grant.handle_kind = body->handle_kind;
    grant.device = device_of(body->device);
    for (const msg::Device& peer : body->peers) grant.peers.push_back(device_of(peer));
    grant.object_bytes = body->object_bytes;
    grant.metadata.assign(reinterpret_cast<const char*>(body->metadata.data()), body->metadata.size());
    const msg::Bytes broker = session_->hello().broker_id;
    std::memcpy(grant.broker.data(), broker.data(), grant.broker.size());
    if (body->secret.size() != grant.secret.size()) return broken("secret of another size");
    std::memcpy(grant.secret.data(), body->secret.data(), grant.secret.size());
    if (grant.bytes == 0 || grant.chunk_count == 0 || grant.export_bytes > limits::kExportBytes ||
        grant.offset > grant.export_bytes || grant.bytes > grant.export_bytes - grant.offset ||
        grant.chunk_base > grant.offset || grant.chunk_count > limits::kExportChunks)
      return broken("range " + std::to_string(grant.offset) + " + " + std::to_string(grant.bytes) + " of " +
                    std::to_string(grant.export_bytes) + " bytes");
    if ((grant.access & request_.access) != request_.access) return broken("less access than was asked for");
    position_ = grant.chunk_base;
    if (reply.fds_truncated) return {};
    return use_page(body->chunks, std::move(reply.fds), sink);
  }

  Result<void> fetch(const PageSink& sink) {
    msg::Fetch fetch;
    fetch.lease_id = acquired_.lease.id();
    fetch.first = acquired_.grant.first_chunk + taken_;
    for (;;) {
      auto turn = session_->page_turn(request_.deadline_ns);
      if (!turn) return tl::unexpected(std::move(turn.error()));
      fetch.max_handles = ask_;
      auto reply = session_->call(FrameType::kFetch, as_bytes(encoded(fetch)), {}, request_.deadline_ns);
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
      if (body->first != fetch.first) return broken("another page than the one asked for");
      return use_page(body->chunks, std::move(reply->fds), sink);
    }
  }

  Result<void> use_page(const std::vector<msg::Chunk>& chunks, std::vector<UniqueFd> fds,
                        const PageSink& sink) {
    const Grant& grant = acquired_.grant;
    if (chunks.empty()) return broken("a page without chunks");
    if (chunks.size() > grant.chunk_count - taken_) return broken("more chunks than it announced");
    GrantPage page;
    page.chunks.reserve(chunks.size());
    for (const msg::Chunk& chunk : chunks) {
      const std::uint64_t number = grant.first_chunk + taken_ + page.chunks.size();
      if (chunk.handle == 0)
        return fail(HB_UNSUPPORTED, "chunk " + std::to_string(number) +
                                        " has no descriptor; this library can only map descriptors");
      if (chunk.handle > fds.size()) return broken("chunk " + std::to_string(number) + " of no descriptor");
      if (chunk.size == 0 || chunk.size > limits::kExportBytes || chunk.offset > limits::kExportBytes ||
          position_ > grant.export_bytes || chunk.size > grant.export_bytes - position_)
        return broken("chunk " + std::to_string(number) + " of " + std::to_string(chunk.size) + " bytes");
      if (chunk.object_size != 0 && chunk.object_size < chunk.offset + chunk.size)
        return broken("chunk " + std::to_string(number) + " ends behind its object of " +
                      std::to_string(chunk.object_size) + " bytes");
      page.chunks.push_back(
          {chunk.handle - 1, chunk.offset, chunk.size, position_, number, chunk.object_size});
      position_ += chunk.size;
    }
    taken_ += chunks.size();
    page.fds = std::move(fds);
    return sink(grant, std::move(page));
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
  std::uint32_t ask_;
  Acquired acquired_;
  std::uint64_t taken_ = 0;     // chunks
  std::uint64_t position_ = 0;  // end of the last one inside the export
};

}  // namespace

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
  fields.length = length == HB_WHOLE ? bytes - at : length;
  return encode_key(fields, secret);
}

Result<void> wait_until_acquirable(Client& client, const AcquireRequest& request) {
  return client.on_session(request.deadline_ns, [&](const std::shared_ptr<Session>& session) {
    return Acquiring(session, request).wait();
  });
}

Result<Acquired> acquire(Client& client, const AcquireRequest& request, const PageSink& sink) {
  if (request.bytes == 0) return fail(HB_INVALID, "bytes is 0; HB_WHOLE means to the end");
  if (request.bytes != HB_WHOLE && request.offset > UINT64_MAX - request.bytes)
    return fail(limit_error(HB_RANGE, "offset", request.offset, UINT64_MAX - request.bytes,
                            "offset " + std::to_string(request.offset) + " plus " +
                                std::to_string(request.bytes) + " bytes is beyond 2^64"));
  return client.on_session(request.deadline_ns, [&](const std::shared_ptr<Session>& session) {
    return Acquiring(session, request).run(sink);
  });
}

}  // namespace hb::client
