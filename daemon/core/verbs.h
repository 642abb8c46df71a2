// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a session can ask for, one function a verb. Each either happens whole or leaves no trace.
#pragma once

#include <vector>

#include "core/core.h"
#include "core/waiting.h"

namespace hb::core {

// export.cc
[[nodiscard]] Outcome export_memory(Call& call, Asker& asker, ExportRequest& request);
[[nodiscard]] Outcome export_chunks(Call& call, Asker& asker, ExportChunksRequest& request);
[[nodiscard]] Outcome export_abort(Call& call, Asker& asker, const ExportAbortRequest& request);

// acquire.cc
[[nodiscard]] Outcome acquire(Call& call, Asker& asker, AcquireRequest& request);
[[nodiscard]] Outcome refresh(Call& call, Asker& asker, const RefreshRequest& request);
[[nodiscard]] Outcome fetch(Call& call, Asker& asker, const FetchRequest& request);
[[nodiscard]] Outcome release(Call& call, Asker& asker, const ReleaseRequest& request);
[[nodiscard]] std::vector<Broker::Candidate> candidates_of(const Core& core, const Principal& who,
                                                           const AcquireRequest& request);
[[nodiscard]] std::vector<Broker::Candidate> candidates_of(const Core& core, const Asker& asker,
                                                           const RefreshRequest& request);

// change.cc
[[nodiscard]] Outcome change(Call& call, Asker& asker, ChangeRequest& request);

// suspend.cc
[[nodiscard]] Outcome suspend(Call& call, Asker& asker, const SuspendRequest& request);
[[nodiscard]] Outcome unmapped(Call& call, Asker& asker, const UnmappedRequest& request);

// revoke.cc
[[nodiscard]] Outcome revoke(Call& call, Asker& asker, const RevokeRequest& request);

void wake(Call& call, std::uint32_t export_slot);  // resumed: its holders are told

// claim.cc
[[nodiscard]] Outcome claim(Call& call, Asker& asker, const ClaimRequest& request);

// reoffer.cc
[[nodiscard]] Outcome reoffer(Call& call, Asker& asker, const ReofferRequest& request);

// ticket.cc
[[nodiscard]] Outcome make_ticket(Call& call, Asker& asker, const MakeTicketRequest& request);
[[nodiscard]] Outcome drop_ticket(Call& call, Asker& asker, const DropTicketRequest& request);

// events.cc
[[nodiscard]] Outcome subscribe(Asker& asker);
[[nodiscard]] Outcome take_events(Call& call, Asker& asker, const TakeEventsRequest& request);

// steps.cc
[[nodiscard]] Outcome publish(Call& call, Asker& asker, const PublishRequest& request);
[[nodiscard]] Outcome wait_step(Call& call, Asker& asker, const WaitStepRequest& request);
[[nodiscard]] Outcome ack_step(Call& call, Asker& asker, const AckStepRequest& request);
[[nodiscard]] Outcome wait_acks(Call& call, Asker& asker, const WaitAcksRequest& request);

// group.cc, group_rounds.cc, group_end.cc
[[nodiscard]] Outcome join(Call& call, Asker& asker, JoinRequest& request);
// The answer of a join once more.
[[nodiscard]] ReplyBody joined_again(Call& call, const Asker& asker, GroupId group);
[[nodiscard]] Outcome ready(Call& call, Asker& asker, ReadyRequest& request);
[[nodiscard]] Outcome group_append(Call& call, Asker& asker, const GroupAppendRequest& request);
[[nodiscard]] Outcome leave(Call& call, Asker& asker, const LeaveRequest& request);

// withdraw.cc
[[nodiscard]] Outcome withdraw(Call& call, Asker& asker, const WithdrawRequest& request);

// look.cc
[[nodiscard]] Outcome list(Call& call, Asker& asker, const ListRequest& request);
[[nodiscard]] Outcome show(Call& call, Asker& asker, const ShowRequest& request);
[[nodiscard]] Outcome who(Call& call, Asker& asker, const WhoRequest& request);
[[nodiscard]] Outcome status(Call& call, Asker& asker);
[[nodiscard]] Outcome list_quotas(Call& call, Asker& asker, const QuotaListRequest& request);
[[nodiscard]] Counters count(const Core& core);

// answering.cc
// Sends the answer and, for a mutating request with an id, remembers it.
void answer(Call& call, Asker& asker, bool mutating, ReplyBody body, bool after_close = false);
// Once more what was answered before: nothing of it is new.
void answer_again(Call& call, const Asker& asker, ReplyBody body);
// The first answer of a request sent again, or PROTO for one that is forgotten, or nothing for a new one.
[[nodiscard]] std::optional<ReplyBody> answered_before(Call& call, const Asker& asker,
                                                       const Request& request);

}  // namespace hb::core
