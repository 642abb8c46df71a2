// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/failure.h"
#include "core/verbs.h"

namespace hb::core {
namespace {
Outcome none() { return failure(HB_UNSUPPORTED, "not built yet"); }
}  // namespace
Outcome change(Call& call, Asker&, ChangeRequest& request) {
  for (const HandleFacts& handle : request.handles) call.closing.push_back(handle.id);
  return none();
}
Outcome refresh(Call&, Asker&, const RefreshRequest&) { return none(); }
Outcome suspend(Call&, Asker&, const SuspendRequest&) { return none(); }
Outcome unmapped(Call&, Asker&, const UnmappedRequest&) { return none(); }
Outcome revoke(Call&, Asker&, const RevokeRequest&) { return none(); }
Outcome claim(Call&, Asker&, const ClaimRequest&) { return none(); }
Outcome make_ticket(Call&, Asker&, const MakeTicketRequest&) { return none(); }
Outcome drop_ticket(Call&, Asker&, const DropTicketRequest&) { return none(); }
Outcome subscribe(Call&, Asker&) { return none(); }
Outcome take_events(Call&, Asker&, const TakeEventsRequest&) { return none(); }
Outcome publish(Call&, Asker&, const PublishRequest&) { return none(); }
Outcome wait_step(Call&, Asker&, const WaitStepRequest&) { return none(); }
Outcome ack_step(Call&, Asker&, const AckStepRequest&) { return none(); }
Outcome wait_acks(Call&, Asker&, const WaitAcksRequest&) { return none(); }
Outcome join(Call&, Asker&, JoinRequest&) { return none(); }
Outcome ready(Call&, Asker&, ReadyRequest&) { return none(); }
Outcome group_append(Call&, Asker&, const GroupAppendRequest&) { return none(); }
Outcome leave(Call&, Asker&, const LeaveRequest&) { return none(); }
}  // namespace hb::core
