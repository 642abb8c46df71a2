// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "call.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace hb::fakehip {

HipError& last_error() {
  thread_local HipError error = kSuccess;
  return error;
}

int& capture_mode_of_thread() {
  thread_local int mode = kCaptureGlobal;
  return mode;
}

std::string text(const void* p) {
  char out[32];
  std::snprintf(out, sizeof out, "%p", p);
  return out;
}

Call::Call(const char* function, CallKind kind, std::string arguments)
    : state_(State::get()),
      lock_(state_.mutex),
      function_(function),
      kind_(kind),
      arguments_(std::move(arguments)) {}

std::optional<HipError> Call::refused() {
  if (kind_ == CallKind::kQuiet) return std::nullopt;
  if (state_.started_in == 0) state_.started_in = ::getpid();
  if (state_.started_in != ::getpid()) return done(kNotInitialized);
  if (state_.hang == function_) wait_until([this] { return state_.hang != function_; });
  injected_ = state_.injector.count(function_);
  if (injected_) {
    if (injected_->how == InjectHow::kDefault)
      injected_->how = kind_ == CallKind::kGivesBack ? InjectHow::kDone : InjectHow::kSkip;
    if (injected_->how == InjectHow::kSkip) return done(injected_->code);
    if (injected_->how != InjectHow::kDone) {
      for_body_ = injected_;
      injected_.reset();
    }
  }
  const int lost = state_.quirks.value(Quirk::kLostDevice);
  if (lost > 0 && lost - 1 == current_device() && kind_ != CallKind::kGivesBack) return done(kLaunchFailure);
  return std::nullopt;
}

HipError Call::done(HipError result) {
  if (injected_) result = injected_->code;
  // hipErrorNotReady is an answer, not an error.
  if (kind_ != CallKind::kQuiet && result != kSuccess && result != kNotReady) last_error() = result;
  if (state_.tracer.enabled()) state_.tracer.line(function_, arguments_, std::to_string(result));
  return result;
}

void Call::crash(const std::string& why) {
  state_.tracer.line(function_, arguments_, "abort: " + why);
  state_.crash(std::string(function_) + ": " + why);
}

std::optional<HipError> Call::refused_by_capture() {
  Stream* stream = state_.streams.capture_in_the_way(capture_mode_of_thread(), ::gettid());
  if (stream == nullptr) return std::nullopt;
  stream->capture_broken = true;
  return done(kStreamCaptureUnsupported);
}

void Call::use_null_stream() {
  ++state_.null_stream_uses;
  const int ordinal = current_device();
  wait_until([&] { return state_.streams.null_stream_idle(ordinal); });
}

}  // namespace hb::fakehip
