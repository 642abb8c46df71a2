// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <unistd.h>

#include <utility>

#include "call.h"

namespace hb::fakehip {
namespace {

constexpr unsigned kNonBlocking = 1;

HipError create_stream(const char* name, const void** out, unsigned flags) {
  FAKE_ENTER(name, kPlain, flags);
  if (out == nullptr || flags > kNonBlocking) return call.done(kInvalidValue);
  if (s.line_of(current_device()) < 0) return call.done(kNoDevice);
  *out = s.streams.create(current_device(), flags == kNonBlocking);
  return call.done(kSuccess);
}

HipError create_event(const char* name, const void** out, unsigned flags) {
  FAKE_ENTER(name, kPlain, flags);
  if (out == nullptr) return call.done(kInvalidValue);
  *out = s.streams.create_event();
  return call.done(kSuccess);
}

}  // namespace
}  // namespace hb::fakehip

using namespace hb::fakehip;  // NOLINT: the C ABI over this namespace

FAKE_API HipError hipStreamCreate(const void** out) { return create_stream("hipStreamCreate", out, 0); }
FAKE_API HipError hipStreamCreateWithFlags(const void** out, unsigned flags) {
  return create_stream("hipStreamCreateWithFlags", out, flags);
}
FAKE_API HipError hipStreamCreateWithPriority(const void** out, unsigned flags, int) {
  return create_stream("hipStreamCreateWithPriority", out, flags);
}

FAKE_API HipError hipStreamDestroy(const void* word) {
  FAKE_ENTER("hipStreamDestroy", kGivesBack, word);
  Stream* stream = s.streams.find(word, current_device());
  if (stream == nullptr || address(word) <= 2) return call.done(kInvalidHandle);
  call.wait_until([&] { return stream->idle(); });
  return call.done(s.streams.destroy(word) ? kSuccess : kInvalidHandle);
}

FAKE_API HipError hipStreamSynchronize(const void* word) {
  FAKE_ENTER("hipStreamSynchronize", kPlain, word);
  Stream* stream = s.streams.find(word, current_device());
  if (stream == nullptr) return call.done(kInvalidHandle);
  if (stream->capture_mode) {
    stream->capture_broken = true;
    return call.done(kStreamCaptureUnsupported);
  }
  if (stream->null_stream) {
    if (const auto refusal = call.refused_by_capture()) return *refusal;
    call.use_null_stream();
  }
  call.wait_until([&] { return stream->idle(); });
  return call.done(kSuccess);
}

FAKE_API HipError hipStreamQuery(const void* word) {
  FAKE_ENTER("hipStreamQuery", kPlain, word);
  Stream* stream = s.streams.find(word, current_device());
  if (stream == nullptr) return call.done(kInvalidHandle);
  if (stream->null_stream) {
    if (const auto refusal = call.refused_by_capture()) return *refusal;
    ++s.null_stream_uses;
  }
  return call.done(stream->idle() ? kSuccess : kNotReady);
}

FAKE_API HipError hipStreamWaitEvent(const void* word, const void* event_word, unsigned flags) {
  FAKE_ENTER("hipStreamWaitEvent", kPlain, word, event_word, flags);
  Stream* stream = s.streams.find(word, current_device());
  const auto event = s.streams.find_event(event_word);
  if (stream == nullptr || event == nullptr) return call.done(kInvalidHandle);
  if (event->reached < event->recorded) s.streams.submit(*stream, {event, event->recorded, {}});
  return call.done(kSuccess);
}

FAKE_API HipError hipStreamGetDevice(const void* word, int* out) {
  FAKE_ENTER("hipStreamGetDevice", kPlain, word);
  const Stream* stream = s.streams.find(word, current_device());
  if (stream == nullptr || out == nullptr) return call.done(kInvalidValue);
  *out = stream->ordinal;
  return call.done(kSuccess);
}

FAKE_API HipError hipStreamBeginCapture(const void* word, int mode) {
  FAKE_ENTER("hipStreamBeginCapture", kPlain, word, mode);
  Stream* stream = s.streams.find(word, current_device());
  if (stream == nullptr || stream->null_stream || mode < kCaptureGlobal || mode > kCaptureRelaxed)
    return call.done(kInvalidValue);
  if (stream->capture_mode) return call.done(kStreamCaptureUnsupported);
  stream->capture_mode = mode;
  stream->capture_broken = false;
  stream->captured_by = ::gettid();
  return call.done(kSuccess);
}

FAKE_API HipError hipStreamEndCapture(const void* word, const void** graph) {
  FAKE_ENTER("hipStreamEndCapture", kPlain, word);
  Stream* stream = s.streams.find(word, current_device());
  if (stream == nullptr || graph == nullptr || !stream->capture_mode) return call.done(kInvalidValue);
  stream->capture_mode.reset();
  *graph = nullptr;  // graphs are not played
  return call.done(std::exchange(stream->capture_broken, false) ? kStreamCaptureInvalidated : kSuccess);
}

FAKE_API HipError hipStreamIsCapturing(const void* word, int* status) {
  FAKE_ENTER("hipStreamIsCapturing", kPlain, word);
  const Stream* stream = s.streams.find(word, current_device());
  if (stream == nullptr || status == nullptr) return call.done(kInvalidValue);
  *status = !stream->capture_mode ? 0 : stream->capture_broken ? 2 : 1;
  return call.done(kSuccess);
}

FAKE_API HipError hipThreadExchangeStreamCaptureMode(int* mode) {
  FAKE_ENTER("hipThreadExchangeStreamCaptureMode", kGivesBack);
  if (mode == nullptr || *mode < kCaptureGlobal || *mode > kCaptureRelaxed) return call.done(kInvalidValue);
  *mode = std::exchange(capture_mode_of_thread(), *mode);
  return call.done(kSuccess);
}

FAKE_API HipError hipEventCreate(const void** out) { return create_event("hipEventCreate", out, 0); }
FAKE_API HipError hipEventCreateWithFlags(const void** out, unsigned flags) {
  return create_event("hipEventCreateWithFlags", out, flags);
}

FAKE_API HipError hipEventDestroy(const void* word) {
  FAKE_ENTER("hipEventDestroy", kGivesBack, word);
  return call.done(s.streams.destroy_event(word) ? kSuccess : kInvalidHandle);
}

FAKE_API HipError hipEventRecord(const void* word, const void* stream_word) {
  FAKE_ENTER("hipEventRecord", kPlain, word, stream_word);
  const auto event = s.streams.find_event(word);
  Stream* stream = s.streams.find(stream_word, current_device());
  if (event == nullptr || stream == nullptr) return call.done(kInvalidHandle);
  event->captured = stream->capture_mode.has_value();
  if (event->captured) return call.done(kSuccess);
  if (stream->null_stream) ++s.null_stream_uses;
  const long long record = ++event->recorded;
  s.streams.submit(*stream, {nullptr, 0, [event, record] { event->reached = record; }});
  return call.done(kSuccess);
}

// An event of a capture says nothing, and asking it breaks a running one.
FAKE_API HipError hipEventQuery(const void* word) {
  FAKE_ENTER("hipEventQuery", kPlain, word);
  const auto event = s.streams.find_event(word);
  if (event == nullptr) return call.done(kInvalidHandle);
  if (event->captured) {
    if (const auto refusal = call.refused_by_capture()) return *refusal;
    return call.done(kCapturedEvent);
  }
  return call.done(event->reached < event->recorded ? kNotReady : kSuccess);
}

FAKE_API HipError hipEventSynchronize(const void* word) {
  FAKE_ENTER("hipEventSynchronize", kPlain, word);
  const auto event = s.streams.find_event(word);
  if (event == nullptr) return call.done(kInvalidHandle);
  if (const auto refusal = call.refused_by_capture()) return *refusal;
  const long long record = event->recorded;
  call.wait_until([&] { return event->reached >= record; });
  return call.done(kSuccess);
}
