// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The frame: a fixed little-endian header and a protobuf body, one frame a packet. Pure: no socket, no
// protobuf library, so that the daemon (libprotobuf) and the client (protozero) share it. The header
// exists so that a request can be answered although its body or its descriptors cannot be used.
//
//   0  u16  magic 'H','B'
//   2  u8   header bytes (24 today; a reader skips what it does not know)
//   3  u8   flags
//   4  u16  type
//   6  u16  descriptors that travel with this frame
//   8  u64  request id: chosen by the client, rising within a session, 0 for one-way frames and events
//  16  u32  body bytes
//  20  u32  reserved: written 0, ignored
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/expected.h"

namespace hb {

// Numbers are fixed for ever; a reply carries the type of its request, or kError.
enum class FrameType : std::uint16_t {
  kHello = 1,
  kExport = 2,
  kExportChunks = 3,
  kExportAbort = 4,  // one-way
  kAcquire = 5,
  kFetch = 6,
  kRelease = 7,  // one-way
  kWithdraw = 8,
  kList = 9,
  kShow = 10,
  kWho = 11,
  kPing = 12,
  kSharePage = 13,
  kStatus = 14,
  kCancel = 15,  // one-way
  kChange = 16,
  kRefresh = 17,
  kRevoke = 18,
  kSuspend = 19,
  kUnmapped = 20,  // one-way
  kClaim = 21,
  kMakeTicket = 22,
  kDropTicket = 23,
  kSubscribe = 24,
  kTakeEvents = 25,
  kPublish = 26,
  kWaitStep = 27,
  kAckStep = 28,  // one-way
  kWaitAcks = 29,
  kJoin = 30,
  kReady = 31,
  kGroupAppend = 32,
  kLeave = 33,  // one-way
  kScopeAdd = 34,
  kScopeRemove = 35,
  kScopeList = 36,
  kReload = 37,
  kCheckPolicy = 38,
  kQuotaSet = 39,
  kQuotaList = 40,
  kAuditRead = 41,
  kReoffer = 42,
  kDrain = 43,
  kResumed = 44,  // from the daemon, of its own accord
  kError = 0xffff,
};

inline constexpr std::uint8_t kFlagReply = 1;
inline constexpr std::uint8_t kFlagEvent = 2;
inline constexpr std::size_t kFrameHeaderBytes = 24;

struct FrameHeader {
  FrameType type{};
  std::uint8_t flags = 0;
  std::uint16_t fd_count = 0;
  std::uint64_t request_id = 0;
};

struct FrameView {
  FrameHeader header;
  std::span<const std::byte> body;  // points into the bytes given to decode_frame
};

enum class FrameError : std::uint8_t {
  kTooShort,    // fewer bytes than a header
  kMagic,       // not one of our frames
  kHeaderSize,  // header length below 24 or past the end
  kBodySize,    // announced body is not what follows
  kTooLong,     // over limits::kFrameBytes
  kFdCount,     // over limits::kFrameFds
};
[[nodiscard]] const char* frame_error_text(FrameError error) noexcept;

[[nodiscard]] tl::expected<FrameView, FrameError> decode_frame(std::span<const std::byte> bytes) noexcept;

// Writes the header for a body of `body_bytes` that the caller puts behind it.
void encode_frame_header(std::span<std::byte, kFrameHeaderBytes> out, const FrameHeader& header,
                         std::uint32_t body_bytes) noexcept;

}  // namespace hb
