// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Every bound that a peer can push against, in one place. Bytes unless the name says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hb::limits {

// --- wire ---------------------------------------------------------------------------------------
inline constexpr std::size_t kFrameBytes = 64 * 1024;  // below SO_SNDBUF's default of 212,992
inline constexpr std::size_t kFrameFds = 253;          // SCM_MAX_FD: 254 is EINVAL
inline constexpr std::size_t kPageChunks = 1024;       // chunks described by one frame
inline constexpr std::uint32_t kLowestVersion = 1;
inline constexpr std::uint32_t kHighestVersion = 1;
inline constexpr std::size_t kFeatures = 32;
inline constexpr std::size_t kFeatureBytes = 64;
inline constexpr std::size_t kLibraryBytes = 128;  // the peer's self-description in Hello

// --- what an export is made of ------------------------------------------------------------------
inline constexpr std::size_t kNameBytes = 255;
inline constexpr std::size_t kMetadataBytes = 4096;
inline constexpr std::size_t kOpaqueBytes = 64;  // of one chunk, for handle kinds without descriptor
inline constexpr std::size_t kAclEntries = 64;
inline constexpr std::size_t kDeviceUuidBytes = 64;
inline constexpr std::size_t kDevicePciBytes = 32;
inline constexpr std::size_t kExportPeers = 64;            // 8 GPUs in 8 parts each
inline constexpr std::uint64_t kExportChunks = 1u << 20;   // 2 TiB in 2 MiB chunks
inline constexpr std::uint64_t kExportBytes = 1ull << 50;  // keeps every sum far from 2^64
inline constexpr std::uint64_t kPingBytes = 1024;
inline constexpr std::size_t kChangesRemembered = 64;  // layout versions whose chunks are known one by one

// --- groups -------------------------------------------------------------------------------------
inline constexpr std::uint32_t kGroupWorld = 256;  // ranks of one node: all leases of all at once
inline constexpr std::size_t kAgreementBytes = 256;
inline constexpr std::size_t kReadyMessageBytes = 512;

// --- one session --------------------------------------------------------------------------------
inline constexpr std::uint32_t kSessionLeases = 131'072;  // validity slots of one session, 4 B each
inline constexpr std::size_t kSessionWaits = 1024;        // requests parked on a name
inline constexpr std::size_t kSessionStagings = 4;        // exports half sent
inline constexpr std::size_t kSessionListWaits = 16;  // of them such that are answered with a list of holders
inline constexpr std::size_t kSessionTickets = 4096;
inline constexpr std::size_t kEndedTickets = 16'384;  // remembered, of all
inline constexpr std::size_t kSessionGroups = 256;
inline constexpr std::uint32_t kSessionLosses = 4096;           // revoked exports it has not been told of
inline constexpr std::size_t kEventsPage = 512;                 // of one TakeEvents
inline constexpr std::uint64_t kTicketNs = 3'600'000'000'000;   // at most, 1 hour
inline constexpr std::uint64_t kLingerNs = 86'400'000'000'000;  // at most, 1 day
inline constexpr std::size_t kRememberedAnswers = 16;           // mutating requests answered again
inline constexpr std::size_t kOutboxBytes = 1024 * 1024;
inline constexpr std::size_t kOutboxFds = kSessionWaits + 2 * kFrameFds;
inline constexpr std::uint64_t kHelloNs = 5'000'000'000;        // from accept to a valid Hello
inline constexpr std::uint64_t kSlowReaderNs = 10'000'000'000;  // outbox not drained for so long
// Of one session before the others have their turn. One: a second recvmsg would find nothing in the usual
// case of a client that waits for its answer, and with more a busy session makes the others wait.
inline constexpr int kRequestsPerWakeup = 1;

// --- one principal: a uid in a scope, over all its sessions; unless the policy file says another ------
inline constexpr std::size_t kUidSessions = 4'096;  // of kSessions: one uid cannot lock the rest out
inline constexpr std::size_t kUidExports = 131'072;
inline constexpr std::uint64_t kUidChunks = 1u << 22;  // about 40 B each
inline constexpr std::size_t kUidLeases = 262'144;
inline constexpr std::size_t kUidStagings = 256;
inline constexpr std::size_t kUidWaits = 16'384;
inline constexpr std::size_t kUidTickets = 16'384;  // they outlive their sessions
inline constexpr std::size_t kUidGroups = 4'096;
inline constexpr std::size_t kUidEvents = 524'288;
inline constexpr std::size_t kUidRequests = 16'384;
inline constexpr std::uint64_t kUidConnects = 2'000;     // a second
inline constexpr std::size_t kUidEndedExports = 16'384;  // of kEndedExports
inline constexpr std::uint64_t kFdsForOthers = 1024;     // of the descriptors that no single uid can get
inline constexpr std::uint64_t fds_for_others(std::uint64_t limit) {
  return limit / 16 < kFdsForOthers ? limit / 16 : kFdsForOthers;
}

// --- scopes and policy --------------------------------------------------------------------------
inline constexpr std::size_t kScopes = 4'096;
inline constexpr std::size_t kScopeNameBytes = 64;
inline constexpr std::size_t kScopeUids = 256;
inline constexpr std::size_t kPolicyRules = 4'096;
inline constexpr std::size_t kAuditRecords = 16'384;  // kept for who asks

// --- the daemon ---------------------------------------------------------------------------------
inline constexpr std::size_t kSessions = 16'384;
inline constexpr std::size_t kListEntries = 64;  // of one page of list, who or show: 64 x 1,000 B fit a frame
inline constexpr std::size_t kListEntryBytes = 1000;  // at most, of one without its peers
inline constexpr std::size_t kListBytes = kListEntries * kListEntryBytes;
inline constexpr std::size_t kEndedExports = 65'536;              // remembered for GONE and STALE
inline constexpr std::uint64_t kEndedExportNs = 600'000'000'000;  // 10 minutes
// Descriptors kept free so that replies, accepts and one full incoming frame never meet EMFILE.
inline constexpr std::uint64_t kFdReserve = kFrameFds + 16;
inline constexpr std::uint64_t kFdReserveSmallLimit = 1076;  // below it a quarter of the limit
inline constexpr std::uint64_t fd_reserve(std::uint64_t limit) {
  return limit < kFdReserveSmallLimit ? limit / 4 : kFdReserve;
}
// Descriptors that were refused and whose close may block: how many wait, how many threads try.
// Session sockets are closed there too, so a few hostile uids must not be able to hold all threads.
inline constexpr std::size_t kQuarantineThreads = 64;
inline constexpr std::size_t kQuarantineThreadsPerUid = 2;
inline constexpr std::size_t kQuarantinePerUid = 64;

// What is to be written and has not been: a log or a journal that nobody reads costs no more than this.
inline constexpr std::size_t kLogLines = 4096;
inline constexpr std::size_t kLogBytes = 1024 * 1024;
inline constexpr std::size_t kAuditBytes = 16 * 1024 * 1024;  // of kAuditRecords
inline constexpr std::size_t kAuditShare = 2048;              // records that one principal causes in 10 s
inline constexpr std::size_t kAuditRepeats = 4096;            // refusals that are watched for repeats

}  // namespace hb::limits
