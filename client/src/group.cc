// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "group.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "chunk_reader.h"
#include "client.h"
#include "export_change.h"
#include "fd_room.h"
#include "flat_addresses.h"
#include "member_grant.h"
#include "refresh.h"
#include "wire/limits.h"

namespace hb::client {
namespace {

std::uint64_t wait_of(std::uint64_t deadline_ns) {
  if (deadline_ns == kNoDeadline) return UINT64_MAX;
  const std::uint64_t now = now_ns();
  return deadline_ns > now ? deadline_ns - now : 0;
}

// The daemon keeps the deadline, and its answer names who is missing: it is waited for a little longer.
std::uint64_t with_grace(std::uint64_t deadline_ns) {
  constexpr std::uint64_t kGraceNs = 1'000'000'000;
  return deadline_ns > kNoDeadline - kGraceNs ? kNoDeadline : deadline_ns + kGraceNs;
}

// How this rank's part went, for all; the answer of all.
Result<void> report(Session& session, std::uint64_t group, std::uint64_t round, const Error* trouble,
                    std::uint64_t deadline_ns) {
  msg::Ready ready;
  ready.group_id = group;
  ready.round = round;
  ready.wait_ns = wait_of(deadline_ns);
  std::string words;
  if (trouble != nullptr) {
    ready.status = trouble->status;
    words = trouble->message;
    ready.message = words;
  }
  auto reply = session.call(FrameType::kReady, as_bytes(encoded(ready)), {}, with_grace(deadline_ns));
  if (reply) return {};
  reply.error().not_sent = false;
  return tl::unexpected(std::move(reply.error()));
}

// A GPU's mappings begin at its granularity, 2 MiB or more.
std::uint64_t alignment_of(const ExportRecord& offered) {
  return offered.device.empty() ? std::uint64_t{64} << 10 : std::uint64_t{64} << 20;
}
std::uint64_t step_of(const ExportRecord& offered) {
  return offered.device.empty() ? std::uint64_t{64} << 10 : std::uint64_t{2} << 20;
}

class Joining {
 public:
  Joining(const std::shared_ptr<Client>& client, const GroupRequest& request)
      : client_(client), request_(request), group_(std::make_unique<hb_group>()) {
    group_->client = client;
    group_->rank = request.rank;
  }

  Result<std::unique_ptr<hb_group>> run() {
    if (auto offered = offer(); !offered) return tl::unexpected(std::move(offered.error()));
    const LeaseIndex::Arrival arriving(group_->session->leases());
    auto reply = ask();
    if (!reply) return tl::unexpected(std::move(reply.error()));
    const auto joined = msg::decode<msg::JoinReply>(reply->body);
    if (!joined) return fail(malformed(joined.error()));
    group_->id = joined->group_id;
    const auto mapped = map_all(*joined, *reply);
    // Whether the others could is what decides; of one's own failure they are told.
    auto all =
        report(*group_->session, group_->id, 0, mapped ? nullptr : &mapped.error(), request_.deadline_ns);
    if (!all) {
      if (!mapped && all.error().status == mapped.error().status) keep_details(all.error(), mapped.error());
      return tl::unexpected(std::move(all.error()));
    }
    if (!mapped) return tl::unexpected(mapped.error());
    return std::move(group_);
  }

 private:
  Result<void> offer() {
    group_->offered = request_.offered;
    if (group_->offered == nullptr) {
      auto made = create_export(*client_, request_.source);
      if (!made) return tl::unexpected(std::move(made.error()));
      group_->offered = std::move(*made);
      group_->made_offer = true;
    }
    auto session = client_->session_of(*group_->offered, request_.deadline_ns, Client::Part::kWhole);
    if (!session && session.error().status == HB_GONE)
      session.error().message =
          "the export offered has ended: " + session.error().message + "; export it anew";
    if (!session) return tl::unexpected(std::move(session.error()));
    group_->session = std::move(*session);
    // Before anything is asked for: the answer's leases are watched by it.
    if (const auto words = group_->session->validity(request_.deadline_ns); !words)
      return tl::unexpected(words.error());
    return {};
  }

  Result<Reply> ask() {
    msg::Join join;
    join.name = request_.name;
    join.rank = request_.rank;
    join.world = request_.world;
    join.attempt = request_.attempt;
    join.wait_ns = wait_of(request_.deadline_ns);
    join.export_id = group_->offered->id;
    join.agreement = std::as_bytes(std::span(request_.agreement));
    join.any_layout = request_.any_layout;
    join.access = request_.import.access;
    join.max_handles = fds_per_page();
    auto reply = group_->session->call(FrameType::kJoin, as_bytes(encoded(join)), {},
                                       with_grace(request_.deadline_ns), Late::kJoin);
    if (!reply) reply.error().not_sent = false;
    return reply;
  }

  Result<void> map_all(const msg::JoinReply& joined, Reply& reply) {
    auto grants = take_apart(group_->session, joined, reply);
    if (!grants) return tl::unexpected(std::move(grants.error()));
    if (grants->size() != request_.world || (*grants)[request_.rank].reply != nullptr)
      return broken_grant("a group of " + std::to_string(grants->size()) + " ranks");
    for (const msg::Member& member : joined.members) {
      hb_group::Member& made = group_->members.emplace_back();
      made.export_id = member.export_id;
      made.pid = member.process.pid;
    }
    return request_.flat ? map_row(*grants) : map_each(*grants, nullptr);
  }

  // Addresses that are free and that another thread takes before the mapping does are looked for elsewhere.
  // The second time members are acquired by key, like any export: their leases of the join are used up.
  Result<void> map_row(std::vector<MemberGrant>& grants) {
    constexpr int kAttempts = 8;
    const auto stride = stride_of(grants);
    if (!stride) return tl::unexpected(stride.error());
    reserve_ = *stride;
    for (const MemberGrant& granted : grants) keys_.push_back(key_of(granted));
    for (int attempt = 1;; ++attempt) {
      auto row = FlatAddresses::find(request_.base, *stride, request_.world, alignment_of(*group_->offered));
      if (!row) return tl::unexpected(std::move(row.error()));
      auto mapped = map_each(grants, &*row);
      if (mapped || mapped.error().status != HB_ADDRESS || request_.base != nullptr || attempt == kAttempts)
        return mapped;
      for (hb_group::Member& member : group_->members) member.imported.reset();
      grants.clear();
    }
  }

  Result<void> map_each(std::vector<MemberGrant>& grants, FlatAddresses* row) {
    for (std::uint32_t rank = 0; rank < request_.world; ++rank) {
      void* address = rank < request_.bases.size() ? request_.bases[rank] : nullptr;
      if (row != nullptr) address = row->take(rank);
      if (rank == request_.rank && row == nullptr) continue;
      const bool granted = rank < grants.size() && grants[rank].reply != nullptr;
      auto mapped = granted ? map(grants[rank], address) : map_by_key(keys_[rank], address);
      if (!mapped) {
        mapped.error().message = "mapping rank " + std::to_string(rank) + ": " + mapped.error().message;
        return tl::unexpected(std::move(mapped.error()));
      }
      (*mapped)->of_group = true;
      group_->members[rank].imported.reset(mapped->release());
    }
    return {};
  }

  // This rank's own, or another's as its grant tells it. Zeros where the grant came in brief.
  [[nodiscard]] KeyBytes key_of(const MemberGrant& granted) const {
    if (granted.reply == nullptr) return group_->offered->key;
    const auto grant = grant_of(*group_->session, *granted.reply);
    return grant ? grant->subkey(0, HB_WHOLE).value_or(KeyBytes{}) : KeyBytes{};
  }

  [[nodiscard]] ImportKey import_key() const {
    ImportKey key = request_.import;
    if (reserve_ != 0) key.reserve_bytes = reserve_;
    return key;
  }

  Result<std::unique_ptr<hb_import>> map(MemberGrant& granted, void* address) {
    return map_grant(client_, import_key(), address, [&](const PageSink& sink) {
      return read_grant(*client_, group_->session, std::move(granted), request_.import.access,
                        request_.deadline_ns, sink);
    });
  }

  Result<std::unique_ptr<hb_import>> map_by_key(const KeyBytes& member, void* address) {
    ImportKey key = import_key();
    key.target.key = member;
    AcquireRequest wanted;
    wanted.target = key.target;
    wanted.access = key.access;
    wanted.bytes = HB_WHOLE;
    wanted.deadline_ns = request_.deadline_ns;
    return map_grant(client_, key, address,
                     [&](const PageSink& sink) { return acquire(*client_, wanted, sink); });
  }

  // What the largest rank needs, or what the caller wants if that is enough.
  Result<std::uint64_t> stride_of(const std::vector<MemberGrant>& grants) const {
    std::uint64_t most = 0;
    std::uint32_t largest = 0;
    for (std::uint32_t rank = 0; rank < grants.size(); ++rank) {
      const msg::AcquireReply* const reply = grants[rank].reply;
      std::uint64_t bytes = reply == nullptr ? group_->offered->layout()->bytes : reply->length;
      const std::uint64_t grows = reply == nullptr ? group_->offered->max_bytes : reply->max_size;
      bytes = std::max({bytes, request_.import.reserve_bytes != 0 ? request_.import.reserve_bytes : grows});
      if (bytes > most) largest = rank;
      most = std::max(most, bytes);
    }
    const std::uint64_t step = step_of(*group_->offered);
    if (request_.stride == 0) return (most + step - 1) / step * step;
    if (request_.stride < most)
      return fail(limit_error(HB_RANGE, "stride", request_.stride, most,
                              "stride " + std::to_string(request_.stride) + ": rank " +
                                  std::to_string(largest) + " needs " + std::to_string(most) + " bytes"));
    return request_.stride;
  }

  static void keep_details(Error& all, const Error& own) {
    all.sys_errno = own.sys_errno;
    all.operation = own.operation;
    all.what = own.what;
    all.used = own.used;
    all.limit = own.limit;
    all.chunk = own.chunk;
  }

  const std::shared_ptr<Client>& client_;
  const GroupRequest& request_;
  std::unique_ptr<hb_group> group_;
  std::uint64_t reserve_ = 0;   // of each member, in a row
  std::vector<KeyBytes> keys_;  // by rank, in a row
};

// One collective call at a time.
class Turn {
 public:
  explicit Turn(hb_group& group) : group_(group), taken_(!group.busy.exchange(true)) {}
  ~Turn() {
    if (taken_) group_.busy.store(false);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  [[nodiscard]] Result<void> taken() const {
    if (taken_) return {};
    return fail(HB_BUSY, "another thread is in a collective call of this group");
  }

 private:
  hb_group& group_;
  bool taken_;
};

Result<void> grow_all(hb_group& group, const ExportRequest& source) {
  if (auto grown = append_export(*group.client, group.offered, source); !grown) return grown;
  msg::GroupAppend append;
  append.group_id = group.id;
  append.round = group.round + 1;
  append.wait_ns = wait_of(source.deadline_ns);
  auto reply = group.session->call(FrameType::kGroupAppend, as_bytes(encoded(append)), {},
                                   with_grace(source.deadline_ns));
  if (!reply) return tl::unexpected(std::move(reply.error()));
  const auto body = msg::decode<msg::GroupAppendReply>(reply->body);
  if (!body) return fail(malformed(body.error()));
  for (std::uint32_t rank = 0; rank < group.members.size(); ++rank) {
    hb_import* const imported = group.members[rank].imported.get();
    if (imported == nullptr) continue;
    auto done = refresh_import(*imported, source.deadline_ns);
    if (done) continue;
    done.error().message = "mapping what rank " + std::to_string(rank) + " added: " + done.error().message;
    return tl::unexpected(std::move(done.error()));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<hb_group>> join_group(const std::shared_ptr<Client>& client,
                                             const GroupRequest& request) {
  return Joining(client, request).run();
}

Result<void> check_group(hb_group& group, std::uint64_t deadline_ns) {
  const Turn turn(group);
  if (auto taken = turn.taken(); !taken) return taken;
  return report(*group.session, group.id, group.round, nullptr, deadline_ns);
}

Result<void> append_to_group(hb_group& group, const ExportRequest& source) {
  const Turn turn(group);
  if (auto taken = turn.taken(); !taken) return taken;
  const auto grown = grow_all(group, source);
  // Where the daemon ended the group already, this says why, too.
  auto all =
      report(*group.session, group.id, group.round + 1, grown ? nullptr : &grown.error(), source.deadline_ns);
  if (!all) return all;
  ++group.round;
  return {};
}

}  // namespace hb::client

hb_group::~hb_group() {
  using namespace hb::client;
  if (!client->is_here()) return;
  if (id != 0) session->leave_group(id);
  members.clear();
  if (!made_offer) return;
  offered->session()->withdraw_unheard(offered->id);
  client->forget_export(offered->id);
}
