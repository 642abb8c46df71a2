// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The client's codec of hipbroker.v1: the daemon's is libprotobuf, which must not enter a process that may
// carry its own. Pure; safe from any thread. Both functions exist for every message of HB_EVERY_MESSAGE.
//
// A sub-message without any field set is not written, and reads as the default. Where the protocol tells an
// absent one from an empty one (a oneof, Member.grant) it is std::optional here.
#pragma once

#include <string>

#include "messages_acquire.h"
#include "messages_audit.h"
#include "messages_events.h"
#include "messages_export.h"
#include "messages_group.h"
#include "messages_life.h"
#include "messages_look.h"
#include "messages_policy.h"
#include "messages_quotas.h"
#include "messages_scopes.h"
#include "messages_session.h"
#include "wire/message.h"

// What the client sends and what it receives. The seeds of the fuzzer count into the second list: new ones
// go to its end.
// clang-format does not come to rest on these lists.
// clang-format off
#define HB_EVERY_SENT_MESSAGE(X)                                                                    \
  X(Hello) X(Export) X(ExportChunks) X(ExportAbort) X(Acquire) X(Fetch) X(Release) X(Cancel)        \
  X(SharePage) X(Withdraw) X(List) X(Show) X(Who) X(Ping) X(Status)                                 \
  X(Change) X(Refresh) X(Revoke) X(Suspend) X(Unmapped) X(Claim) X(MakeTicket) X(DropTicket)        \
  X(Subscribe) X(TakeEvents) X(Publish) X(WaitStep) X(AckStep) X(WaitAcks)                          \
  X(Join) X(Ready) X(GroupAppend) X(Leave)                                                          \
  X(Reload) X(CheckPolicy) X(QuotaSet) X(QuotaList)                                   \
  X(ScopeAdd) X(ScopeRemove) X(ScopeList) X(AuditRead) X(Reoffer) X(Drain)
#define HB_EVERY_RECEIVED_MESSAGE(X)                                                                \
  X(HelloReply) X(Error) X(ExportReply) X(AcquireReply) X(FetchReply) X(SharePageReply)             \
  X(WithdrawReply) X(ListReply) X(ShowReply) X(WhoReply) X(PingReply) X(StatusReply)                \
  X(RefreshReply) X(MakeTicketReply) X(DropTicketReply) X(SubscribeReply) X(TakeEventsReply)        \
  X(PublishReply) X(WaitStepReply) X(WaitAcksReply) X(JoinReply) X(ReadyReply) X(GroupAppendReply)   \
  X(ReloadReply) X(CheckPolicyReply) X(QuotaSetReply) X(QuotaListReply)               \
  X(ScopeAddReply) X(ScopeRemoveReply) X(ScopeListReply) X(AuditReadReply) X(Resumed) X(DrainReply)
// clang-format on
