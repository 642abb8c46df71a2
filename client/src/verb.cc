// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "verb.h"

namespace hb::client {

const char* verb(FrameType type) {
  switch (type) {
    case FrameType::kHello:
      return "hello";
    case FrameType::kExport:
      return "export";
    case FrameType::kExportChunks:
      return "export of further chunks";
    case FrameType::kAcquire:
      return "acquire";
    case FrameType::kFetch:
      return "fetch of further chunks";
    case FrameType::kWithdraw:
      return "withdraw";
    case FrameType::kList:
      return "list";
    case FrameType::kShow:
      return "show";
    case FrameType::kWho:
      return "who";
    case FrameType::kPing:
      return "ping";
    case FrameType::kSharePage:
      return "page of validity words";
    case FrameType::kStatus:
      return "status";
    case FrameType::kChange:
      return "change of an export";
    case FrameType::kRefresh:
      return "refresh";
    case FrameType::kRevoke:
      return "revoke";
    case FrameType::kSuspend:
      return "suspend";
    case FrameType::kClaim:
      return "claim";
    case FrameType::kMakeTicket:
      return "making of a ticket";
    case FrameType::kDropTicket:
      return "dropping of a ticket";
    case FrameType::kSubscribe:
      return "subscription to events";
    case FrameType::kTakeEvents:
      return "taking of events";
    case FrameType::kPublish:
      return "publishing of a step";
    case FrameType::kWaitStep:
      return "wait for a step";
    case FrameType::kWaitAcks:
      return "wait for acknowledgements";
    case FrameType::kJoin:
      return "join of a group";
    case FrameType::kReady:
      return "word that a rank is ready";
    case FrameType::kGroupAppend:
      return "append of a group";
    case FrameType::kReoffer:
      return "offer of an export once more";
    case FrameType::kReload:
      return "reload";
    case FrameType::kCheckPolicy:
      return "check of the policy";
    case FrameType::kScopeAdd:
      return "making of a scope";
    case FrameType::kScopeRemove:
      return "removal of a scope";
    case FrameType::kScopeList:
      return "list of scopes";
    case FrameType::kQuotaSet:
      return "setting of a quota";
    case FrameType::kQuotaList:
      return "list of quotas";
    default:
      return "request";
  }
}

}  // namespace hb::client
