// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <algorithm>

#include "core/failure.h"
#include "core/grant.h"
#include "core/verbs.h"

namespace hb::core {

namespace {

Answer to_remember(const Core& core, const ReplyBody& body) {
  if (const auto* acquired = std::get_if<Acquired>(&body))
    return LeaseAnswer{acquired->lease, acquired->exported.id, acquired->exported.generation};
  if (const auto* exported = std::get_if<Exported>(&body)) return *exported;
  if (const auto* withdrawn = std::get_if<Withdrawn>(&body)) {
    // Holders point at sessions that may be gone when the answer is wanted again.
    auto kept = std::make_shared<WithdrawnAnswer>();
    kept->body = *withdrawn;
    for (Holder& holder : kept->body.holders) {
      if (const Session* session = core.sessions.find(holder.session.id))
        kept->processes.push_back(session->process);
      else if (const Ticket* ticket = core.tickets.find(holder.ticket))
        kept->processes.push_back(ticket->process);
    }
    return std::shared_ptr<const WithdrawnAnswer>(std::move(kept));
  }
  if (const auto* made = std::get_if<TicketMade>(&body)) return *made;
  if (const auto* joined = std::get_if<Joined>(&body)) return JoinAnswer{joined->group};
  if (const auto* error = std::get_if<Error>(&body)) return *error;
  return Done{static_cast<std::uint8_t>(body.index())};
}

// An answer without contents.
ReplyBody empty_body(Done done) {
  if (done.index == ReplyBody(Published{}).index()) return Published{};
  return TicketDropped{};
}

ReplyBody lease_again(Core& core, const LeaseAnswer& first, std::uint32_t max_handles) {
  const Lease* const lease = core.leases.find(first.lease);
  const Export* e = core.exports.find(first.exported);
  const bool pinned = lease != nullptr && e != nullptr && lease->pins && has_ended(e->state) &&
                      lease->layout_version == e->layout_version;
  if (lease != nullptr && (lease->current || pinned))
    return describe_lease(core, first.lease, std::max(max_handles, 1u));
  if (lease != nullptr && e != nullptr && is_current(e->state))
    return failure(HB_STALE,
                   "this acquire was answered before and its chunks have changed since; refresh the "
                   "lease, or release it and acquire anew");
  if (e != nullptr && is_current(e->state))
    return failure(HB_NOT_HELD, "this acquire was answered before and its lease has been released");
  return failure(HB_GONE, "this acquire was answered before and its export has ended since");
}

}  // namespace

void answer(Call& call, Asker& asker, bool mutating, ReplyBody body, bool after_close) {
  if (const auto* const error = std::get_if<Error>(&body)) note_refused(call, asker, *error);
  if (mutating && asker.request_id != 0)
    asker.session.answers.remember(asker.request_id, asker.frame_type, to_remember(call.core, body));
  call.out.emplace_back(Reply{asker.id, asker.request_id, asker.frame_type, after_close, std::move(body)});
}

void answer_again(Call& call, const Asker& asker, ReplyBody body) {
  const bool after_close = std::holds_alternative<Withdrawn>(body);
  call.out.emplace_back(Reply{asker.id, asker.request_id, asker.frame_type, after_close, std::move(body)});
}

std::optional<ReplyBody> answered_before(Call& call, const Asker& asker, const Request& request) {
  if (asker.request_id == 0) return std::nullopt;
  const AnswerLog::Entry* const entry = asker.session.answers.find(asker.request_id);
  if (entry == nullptr) {
    const auto* acquire = std::get_if<AcquireRequest>(&request);
    if (std::erase(asker.session.parked_before, asker.request_id) != 0) return std::nullopt;
    if (!asker.session.answers.forgotten(asker.request_id) || (acquire != nullptr && acquire->retried))
      return std::nullopt;
    return failure(HB_PROTO, "request id ", asker.request_id, " is not above ",
                   asker.session.answers.highest_forgotten(),
                   ", whose answer is no longer remembered; request ids must rise");
  }
  if (entry->frame_type != asker.frame_type)
    return failure(HB_PROTO, "request id ", asker.request_id, " was of frame type ", entry->frame_type,
                   " before and is of ", asker.frame_type, " now; every request needs an id of its own");
  const Answer* const first = &entry->answer;
  if (const auto* lease = std::get_if<LeaseAnswer>(first)) {
    const auto* acquire = std::get_if<AcquireRequest>(&request);
    if (acquire == nullptr)
      return failure(HB_PROTO, "request id ", asker.request_id, " was an acquire before");
    return lease_again(call.core, *lease, acquire->max_handles);
  }
  if (const auto* exported = std::get_if<Exported>(first)) return *exported;
  if (const auto* withdrawn = std::get_if<std::shared_ptr<const WithdrawnAnswer>>(first))
    return (*withdrawn)->body;
  if (const auto* made = std::get_if<TicketMade>(first)) return *made;
  if (const auto* join = std::get_if<JoinAnswer>(first)) return joined_again(call, asker, join->group);
  if (const auto* done = std::get_if<Done>(first)) return empty_body(*done);
  return std::get<Error>(*first);
}

}  // namespace hb::core
