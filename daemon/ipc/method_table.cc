// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/method_table.h"

#include <array>

namespace hb::ipc {
namespace {

// clang-format off
//                                                    hello  admin  fds    mutat. one-way
constexpr std::array<Method, 43> kMethods{{
    {FrameType::kHello, "hello",                      false, false, false, false, false},
    {FrameType::kExport, "export",                    true,  false, true,  true,  false},
    {FrameType::kExportChunks, "export-chunks",       true,  false, true,  true,  false},
    {FrameType::kExportAbort, "export-abort",         true,  false, false, true,  true},
    {FrameType::kAcquire, "acquire",                  true,  false, false, true,  false},
    {FrameType::kFetch, "fetch",                      true,  false, false, false, false},
    {FrameType::kRelease, "release",                  true,  false, false, true,  true},
    {FrameType::kWithdraw, "withdraw",                true,  false, false, true,  false},
    {FrameType::kList, "list",                        true,  false, false, false, false},
    {FrameType::kShow, "show",                        true,  false, false, false, false},
    {FrameType::kWho, "who",                          true,  false, false, false, false},
    {FrameType::kPing, "ping",                        true,  false, false, false, false},
    {FrameType::kSharePage, "share-page",             true,  false, false, false, false},
    {FrameType::kStatus, "status",                    true,  true,  false, false, false},
    {FrameType::kCancel, "cancel",                    true,  false, false, false, true},
    {FrameType::kChange, "change",                    true,  false, true,  true,  false},
    {FrameType::kRefresh, "refresh",                  true,  false, false, false, false},
    {FrameType::kRevoke, "revoke",                    true,  false, false, true,  false},
    {FrameType::kSuspend, "suspend",                  true,  false, false, true,  false},
    {FrameType::kUnmapped, "unmapped",                true,  false, false, false, true},
    {FrameType::kClaim, "claim",                      true,  false, false, true,  false},
    {FrameType::kMakeTicket, "make-ticket",           true,  false, false, true,  false},
    {FrameType::kDropTicket, "drop-ticket",           true,  false, false, true,  false},
    {FrameType::kSubscribe, "subscribe",              true,  false, false, false, false},
    {FrameType::kTakeEvents, "take-events",           true,  false, false, false, false},
    {FrameType::kPublish, "publish",                  true,  false, false, true,  false},
    {FrameType::kWaitStep, "wait-step",               true,  false, false, false, false},
    {FrameType::kAckStep, "ack-step",                 true,  false, false, false, true},
    {FrameType::kWaitAcks, "wait-acks",               true,  false, false, false, false},
    {FrameType::kJoin, "join",                        true,  false, false, true,  false},
    {FrameType::kReady, "ready",                      true,  false, false, false, false},
    {FrameType::kGroupAppend, "group-append",         true,  false, false, false, false},
    {FrameType::kLeave, "leave",                      true,  false, false, false, true},
    {FrameType::kScopeAdd, "scope-add",               true,  true,  false, false, false},
    {FrameType::kScopeRemove, "scope-remove",         true,  true,  false, false, false},
    {FrameType::kScopeList, "scope-list",             true,  true,  false, false, false},
    {FrameType::kReload, "reload",                    true,  true,  false, false, false},
    {FrameType::kCheckPolicy, "check-policy",         true,  true,  false, false, false},
    {FrameType::kQuotaSet, "quota-set",               true,  true,  false, false, false},
    {FrameType::kQuotaList, "quota-list",             true,  false, false, false, false},
    {FrameType::kAuditRead, "audit-read",             true,  true,  false, false, false},
    {FrameType::kReoffer, "reoffer",                  true,  false, false, true,  false},
    {FrameType::kDrain, "drain",                      true,  true,  false, false, false},
}};
// clang-format on

}  // namespace

const Method* find_method(FrameType type) {
  const auto number = static_cast<std::size_t>(type);
  if (number == 0 || number > kMethods.size()) return nullptr;
  const Method& method = kMethods[number - 1];  // sorted by number, without gaps
  return method.type == type ? &method : nullptr;
}

}  // namespace hb::ipc
