// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Ranks of a group over a BrokerDriver: each a session with a pid of its own (100 + rank) and one export.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/core/broker_driver.h"

namespace hb::test {

class GroupDriver : public BrokerDriver {
 public:
  struct Rank {
    core::SessionId session;
    core::ExportId offer;
    core::GroupId group;
    std::uint64_t request = 0;
    std::vector<core::LeaseId> leases;
  };

  core::SessionId connect_pid(std::uint32_t pid, std::uint32_t uid = 1000, std::uint64_t scope = 0) {
    core::Principal principal;
    principal.scope = core::ScopeId{scope};
    principal.uid = uid;
    principal.gid = uid;
    principal.groups = {uid};
    return broker.connect(principal, core::ProcessInfo{pid, "rank", "/", ""}, now).value();
  }

  // `count` ranks that offer `chunks` chunks of `size` bytes each and can grow.
  std::vector<Rank> ranks(std::uint32_t count, std::size_t chunks = 1, std::uint64_t size = 4 * kKiB) {
    std::vector<Rank> out(count);
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      out[rank].session = connect_pid(100 + rank);
      out[rank].offer = offer(out[rank].session, chunks, size);
    }
    return out;
  }
  core::ExportId offer(core::SessionId session, std::size_t chunks = 1, std::uint64_t size = 4 * kKiB) {
    core::ExportRequest request = chunked("", chunks, size);
    request.max_size = 64 * kGiB;
    return exported(session, std::move(request)).id;
  }

  static core::JoinRequest join(const Rank& rank, std::uint32_t number, std::uint32_t world) {
    core::JoinRequest request;
    request.name = "job/heap";
    request.rank = number;
    request.world = world;
    request.wait_ns = 10 * kSecond;
    request.offer = rank.offer;
    request.access = core::Access::kReadWrite;
    request.max_handles = 253;
    return request;
  }
  void send_join(Rank& rank, core::JoinRequest request) {
    rank.request = send(rank.session, std::move(request));
    note_joined(rank);
  }

  // All ranks join, the last completes the meeting; the effects are those of the last.
  void join_all(std::vector<Rank>& all) {
    const auto world = static_cast<std::uint32_t>(all.size());
    for (std::uint32_t rank = 0; rank < world; ++rank) send_join(all[rank], join(all[rank], rank, world));
    for (Rank& rank : all) note_joined(rank);
  }
  void ready_all(std::vector<Rank>& all, std::uint64_t round = 0) {
    for (Rank& rank : all) rank.request = send(rank.session, ready(rank, round));
  }
  static core::ReadyRequest ready(const Rank& rank, std::uint64_t round = 0) {
    return {rank.group, round, HB_OK, "", 10 * kSecond};
  }
  static core::GroupAppendRequest append(const Rank& rank, std::uint64_t round) {
    return {rank.group, round, 10 * kSecond};
  }
  void grow(const Rank& rank, std::uint64_t size = 4 * kKiB) {
    core::ExportRequest page = chunked("", 1, size);
    core::ChangeRequest change;
    change.id = rank.offer;
    change.kind = core::ChangeRequest::Kind::kAppend;
    change.total_chunks = 1;
    change.total_size = size;
    change.distinct_handles = 1;
    change.chunks = std::move(page.chunks);
    change.handles = std::move(page.handles);
    EXPECT_EQ(status_of(ask(rank.session, std::move(change))), HB_OK);
  }

  // Of the last event: what that rank was answered.
  [[nodiscard]] const core::Reply* reply_of(const Rank& rank) const {
    return answer_to(rank.session, rank.request);
  }
  [[nodiscard]] const core::Joined* joined(const Rank& rank) const {
    const core::Reply* reply = reply_of(rank);
    return reply == nullptr ? nullptr : std::get_if<core::Joined>(&reply->body);
  }
  [[nodiscard]] const core::Error& error(const Rank& rank) const {
    static const core::Error kUnanswered{HB_OK, "not answered", {}, 0, 0, {}, 0};
    const core::Reply* reply = reply_of(rank);
    return reply == nullptr ? kUnanswered : error_of(reply->body);
  }
  // Every one of these was refused so, in the same words, which name all of `parts`.
  void expect_all_refused(const std::vector<Rank>& all, hb_status status,
                          std::initializer_list<const char*> parts) const {
    ASSERT_FALSE(all.empty());
    for (const Rank& rank : all) {
      ASSERT_NE(reply_of(rank), nullptr) << "pid " << 100 + (&rank - all.data()) << " hangs";
      EXPECT_EQ(error(rank).status, status) << error(rank).message;
      EXPECT_EQ(error(rank).message, error(all.front()).message);
    }
    for (const char* part : parts)
      EXPECT_NE(error(all.front()).message.find(part), std::string::npos)
          << "\"" << part << "\" is not in: " << error(all.front()).message;
  }
  void expect_no_trace() const {
    EXPECT_EQ(counters().groups, 0u);
    EXPECT_EQ(counters().leases, 0u);
    EXPECT_EQ(counters().waits, 0u);
  }

 private:
  void note_joined(Rank& rank) const {
    const core::Joined* const in = joined(rank);
    if (in == nullptr || rank.group) return;
    rank.group = in->group;
    for (const auto& member : in->members)
      if (member.grant) rank.leases.push_back(member.grant->lease);
  }
};

}  // namespace hb::test
