// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "restart/inbox.h"

#include <atomic>
#include <cstring>

#include "wire/frame.h"
#include "wire/little_endian.h"

namespace hb::restart {
namespace {

constexpr std::size_t kBodyBytesAt = 16;  // in the header of a frame

// What the end of the process leaves behind is what it stored so far, in this order.
void store(std::byte* at, std::uint64_t value) {
  std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at)).store(value, std::memory_order_seq_cst);
}

}  // namespace

Inbox::Inbox() : own_(kBytes) {}

void Inbox::expect(std::uint64_t session) {
  store(buffer().data(), 0);  // no magic: the packet before cannot be taken for this one
  store(memory().data(), session);
}

void Inbox::done() { store(memory().data(), 0); }

std::optional<Inbox::Left> Inbox::left() {
  std::uint64_t session = 0;
  std::memcpy(&session, memory().data(), sizeof session);
  if (session == 0) return std::nullopt;
  const auto header = buffer().first<kFrameHeaderBytes>();
  const std::size_t bytes = std::to_integer<std::size_t>(header[2]) + load_le<std::uint32_t>(&header[kBodyBytesAt]);
  if (bytes > limits::kFrameBytes || !decode_frame(buffer().first(bytes))) return std::nullopt;
  return Left{session, buffer().first(bytes)};
}

}  // namespace hb::restart
