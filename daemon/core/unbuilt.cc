// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/failure.h"
#include "core/verbs.h"

namespace hb::core {
namespace {
Outcome none() { return failure(HB_UNSUPPORTED, "not built yet"); }
}  // namespace
Outcome join(Call&, Asker&, JoinRequest&) { return none(); }
Outcome ready(Call&, Asker&, ReadyRequest&) { return none(); }
Outcome group_append(Call&, Asker&, const GroupAppendRequest&) { return none(); }
Outcome leave(Call&, Asker&, const LeaveRequest&) { return none(); }
void expire_meeting(Call&, MemberWait) {}
void cancel_member(Call&, MemberWait) {}
void leave_groups(Call&, Session&) {}
}  // namespace hb::core
