// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One step of a random history: eight bytes, so that the model test and the fuzzer speak the same language.
#pragma once

#include <array>
#include <cstdint>

namespace hb::test {

enum class Op : std::uint8_t {
  kConnect,
  kDisconnect,
  kExport,
  kExportWrong,  // one thing of it is broken
  kExportPaged,  // its first page
  kPage,
  kPageWrong,
  kAbort,
  kAcquireKey,
  kAcquireName,
  kFetch,
  kRelease,
  kWithdraw,
  kWait,
  kCancel,
  kResend,
  kList,
  kShow,
  kWho,
  kTick,
  kChange,
  kChangeWrong,  // one thing of it is broken
  kChangePaged,  // its first page
  kRefresh,
  kSuspend,
  kUnmapped,
  kRevoke,
  kClaim,
  kSubscribe,
  kTakeEvents,
  kPublish,
  kWaitStep,
  kAckStep,
  kWaitAcks,
  kMakeTicket,
  kDropTicket,
  kAcquireTicket,
  kJoin,
  kReady,
  kGroupAppend,
  kLeave,
  kTerms,        // the policy is read anew: what a session may
  kRemoveScope,  // and another takes its place
  kRestart,      // the process dies, and another goes on
  kCount,
};

struct Command {
  std::array<std::uint8_t, 8> bytes{};
  [[nodiscard]] Op op() const { return static_cast<Op>(bytes[0] % static_cast<std::uint8_t>(Op::kCount)); }
  // Parameter 1..7, below `bound`.
  [[nodiscard]] std::uint32_t at(std::size_t i, std::uint32_t bound) const { return bytes[i] % bound; }
  // What is left of the parameter when at(i, bound) was used for something else.
  [[nodiscard]] std::uint32_t rest(std::size_t i, std::uint32_t bound) const { return bytes[i] / bound; }
};

}  // namespace hb::test
