// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hipMemcpy and hipMemset: what a device may touch decides, not what the CPU sees.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "call.h"

namespace hb::fakehip {
namespace {

enum class Access : unsigned char { kRead, kWrite };

struct Piece {
  std::byte* at;
  std::size_t size;
};

// Where a device with wrong pages works: bytes of its own, never the memory.
std::byte* junk_of(Region& region) {
  if (region.junk.empty()) region.junk.assign(region.size, std::byte{0xdb});
  return region.junk.data();
}

// What the device behind `line` finds at [base, base+size), in pieces; empty: a page fault.
std::vector<Piece> translate(State& s, int line, std::uintptr_t base, std::size_t size, Access access) {
  std::vector<Piece> out;
  while (size > 0) {
    Region* region = s.region_at(base);
    if (region == nullptr) {
      if (s.reservation_at(base) != s.reservations.end()) return {};
      // Ordinary host memory, up to the next thing the runtime knows.
      const auto next = s.regions.upper_bound(base);
      const std::size_t here = next == s.regions.end() ? size : std::min(size, next->first - base);
      out.push_back({static_cast<std::byte*>(pointer(base)), here});
      base += here;
      size -= here;
      continue;
    }
    const std::size_t inside = base - region->base;
    const std::size_t here = std::min(size, region->size - inside);
    const auto granted = region->access.find(line);
    if (region->object == nullptr && region->kind == RegionKind::kVmm) return {};
    if (region->object != nullptr &&
        (granted == region->access.end() || (access == Access::kWrite && granted->second != kProtReadWrite)))
      return {};
    const bool peer = region->object != nullptr && line != region->object->line;
    if (peer && s.quirks.value(Quirk::kPeerAccessAborts) != 0 &&
        region->object->line == s.line_of(s.quirks.value(Quirk::kPeerAccessAborts) - 1))
      s.crash("a peer touches memory of that device");
    const bool wrong =
        (peer && s.on(Quirk::kPeersSeeJunk)) || (region->owner_wrong && line == region->line) ||
        (region->handle != nullptr && region->handle->imported && s.on(Quirk::kCorruptImports));
    std::byte* at = wrong                       ? junk_of(*region) + inside
                    : region->object != nullptr ? region->object->bytes + region->offset + inside
                                                : static_cast<std::byte*>(pointer(base));
    out.push_back({at, here});
    base += here;
    size -= here;
  }
  return out;
}

HipError fault(State& s, const void* at) {
  ++s.faults;
  std::fprintf(stderr, "fake_hip: Memory access fault by GPU on address %p. Reason: page not present.\n", at);
  if (s.on(Quirk::kFaultAborts)) std::abort();
  return kIllegalAddress;
}

HipError copy_now(State& s, int ordinal, void* to, const void* from, std::size_t size) {
  const int line = s.line_of(ordinal);
  std::vector<Piece> in = translate(s, line, address(from), size, Access::kRead);
  std::vector<Piece> out = translate(s, line, address(to), size, Access::kWrite);
  if (size > 0 && in.empty()) return fault(s, from);
  if (size > 0 && out.empty()) return fault(s, to);
  for (std::size_t i = 0, o = 0; i < in.size() && o < out.size();) {
    const std::size_t n = std::min(in[i].size, out[o].size);
    std::memmove(out[o].at, in[i].at, n);
    in[i].at += n;
    out[o].at += n;
    if ((in[i].size -= n) == 0) ++i;
    if ((out[o].size -= n) == 0) ++o;
  }
  return kSuccess;
}

HipError set_now(State& s, int ordinal, void* to, int value, std::size_t size) {
  const std::vector<Piece> out = translate(s, s.line_of(ordinal), address(to), size, Access::kWrite);
  if (size > 0 && out.empty()) return fault(s, to);
  for (const Piece& piece : out) std::memset(piece.at, value, piece.size);
  return kSuccess;
}

bool valid_kind(int kind) { return kind >= kCopyHostToHost && kind <= kCopyDefault; }

HipError synchronous(Call& call, const std::function<HipError()>& work) {
  if (const auto refusal = call.refused_by_capture()) return *refusal;
  call.use_null_stream();
  return call.done(work());
}

// Into a stream: recorded by a capture, queued behind busy work, else done at once.
HipError asynchronous(Call& call, const void* stream_word, std::function<HipError(int ordinal)> work) {
  State& s = call.state();
  Stream* stream = s.streams.find(stream_word, current_device());
  if (stream == nullptr) return call.done(kInvalidHandle);
  if (stream->null_stream) {
    if (const auto refusal = call.refused_by_capture()) return *refusal;
    ++s.null_stream_uses;
  }
  if (stream->capture_mode) return call.done(kSuccess);
  if (stream->idle() && !stream->null_stream) return call.done(work(stream->ordinal));
  s.streams.submit(*stream, {nullptr, 0, [work = std::move(work), ordinal = stream->ordinal] {
                               static_cast<void>(work(ordinal));
                             }});
  return call.done(kSuccess);
}

HipError copy_call(const char* name, void* to, const void* from, std::size_t size, int kind) {
  FAKE_ENTER(name, kPlain, static_cast<const void*>(to), from, size, kind);
  if (!valid_kind(kind)) return call.done(kInvalidMemcpyDirection);
  if (size > 0 && (to == nullptr || from == nullptr)) return call.done(kInvalidValue);
  return synchronous(call, [&] { return copy_now(s, current_device(), to, from, size); });
}

HipError copy_async_call(const char* name, void* to, const void* from, std::size_t size, int kind,
                         const void* stream) {
  FAKE_ENTER(name, kPlain, static_cast<const void*>(to), from, size, kind, stream);
  if (!valid_kind(kind)) return call.done(kInvalidMemcpyDirection);
  if (size > 0 && (to == nullptr || from == nullptr)) return call.done(kInvalidValue);
  return asynchronous(call, stream,
                      [&s, to, from, size](int ordinal) { return copy_now(s, ordinal, to, from, size); });
}

}  // namespace
}  // namespace hb::fakehip

using namespace hb::fakehip;  // NOLINT: the C ABI over this namespace

FAKE_API HipError hipMemcpy(void* to, const void* from, std::size_t size, int kind) {
  return copy_call("hipMemcpy", to, from, size, kind);
}
FAKE_API HipError hipMemcpyHtoD(void* to, void* from, std::size_t size) {
  return copy_call("hipMemcpyHtoD", to, from, size, kCopyHostToDevice);
}
FAKE_API HipError hipMemcpyDtoH(void* to, void* from, std::size_t size) {
  return copy_call("hipMemcpyDtoH", to, from, size, kCopyDeviceToHost);
}
FAKE_API HipError hipMemcpyDtoD(void* to, void* from, std::size_t size) {
  return copy_call("hipMemcpyDtoD", to, from, size, kCopyDeviceToDevice);
}
FAKE_API HipError hipMemcpyAsync(void* to, const void* from, std::size_t size, int kind, const void* stream) {
  return copy_async_call("hipMemcpyAsync", to, from, size, kind, stream);
}
FAKE_API HipError hipMemcpyHtoDAsync(void* to, const void* from, std::size_t size, const void* stream) {
  return copy_async_call("hipMemcpyHtoDAsync", to, from, size, kCopyHostToDevice, stream);
}
FAKE_API HipError hipMemcpyDtoHAsync(void* to, void* from, std::size_t size, const void* stream) {
  return copy_async_call("hipMemcpyDtoHAsync", to, from, size, kCopyDeviceToHost, stream);
}
FAKE_API HipError hipMemcpyDtoDAsync(void* to, void* from, std::size_t size, const void* stream) {
  return copy_async_call("hipMemcpyDtoDAsync", to, from, size, kCopyDeviceToDevice, stream);
}

FAKE_API HipError hipMemset(void* to, int value, std::size_t size) {
  FAKE_ENTER("hipMemset", kPlain, static_cast<const void*>(to), value, size);
  return synchronous(call, [&] { return set_now(s, current_device(), to, value, size); });
}
FAKE_API HipError hipMemsetAsync(void* to, int value, std::size_t size, const void* stream) {
  FAKE_ENTER("hipMemsetAsync", kPlain, static_cast<const void*>(to), value, size, stream);
  return asynchronous(call, stream,
                      [&s, to, value, size](int ordinal) { return set_now(s, ordinal, to, value, size); });
}
