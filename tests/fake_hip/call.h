// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What every entry point does around its body: takes the lock, counts the call, lets it fail when told so,
// refuses in forked children and on a lost device, keeps the last error, writes the trace.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "abi.h"
#include "inject.h"
#include "state.h"

namespace hb::fakehip {

enum class CallKind : unsigned char {
  kPlain,
  kGivesBack,  // an injected failure is told after the work was done
  kQuiet,      // not counted, no last error, works in forked children and on lost devices
};

class Call {
 public:
  Call(const char* function, CallKind kind, std::string arguments);

  // Before the body: the answer when there is to be no body.
  std::optional<HipError> refused();
  // Ends the call. The result is what the caller gets.
  HipError done(HipError result);
  [[noreturn]] void crash(const std::string& why);

  // Unsafe during stream capture: ends it and answers kStreamCaptureUnsupported, else nothing.
  std::optional<HipError> refused_by_capture();
  // Waits as a synchronous call does until `idle()`; the lock is free meanwhile.
  template <class Idle>
  void wait_until(Idle idle) {
    ++state_.waiting;
    state_.streams_changed.wait(lock_, idle);
    --state_.waiting;
  }
  void use_null_stream();  // counts it and waits for it

  [[nodiscard]] State& state() { return state_; }
  // kLate, kPartial: the body's business.
  [[nodiscard]] std::optional<Injected> for_body() const { return for_body_; }

 private:
  State& state_;
  std::unique_lock<std::mutex> lock_;
  const char* function_;
  CallKind kind_;
  std::string arguments_;
  std::optional<Injected> injected_;
  std::optional<Injected> for_body_;
};

HipError& last_error();
int& capture_mode_of_thread();

// Argument text for the trace.
std::string text(const void* p);
inline std::string text(unsigned long long v) { return std::to_string(v); }
inline std::string text(unsigned long v) { return std::to_string(v); }
inline std::string text(unsigned v) { return std::to_string(v); }
inline std::string text(int v) { return std::to_string(v); }
inline std::string text(const std::string& v) { return v; }
template <class First, class... Rest>
std::string arguments(const First& first, const Rest&... rest) {
  std::string out = text(first);
  ((out += ", " + text(rest)), ...);
  return out;
}
inline std::string arguments() { return {}; }

// Opens an entry point's body: `call` and `s` are in scope after it.
#define FAKE_ENTER(function, kind, ...)                        \
  Call call(function, CallKind::kind, arguments(__VA_ARGS__)); \
  if (const auto refusal = call.refused()) return *refusal;    \
  [[maybe_unused]] State& s = call.state()

}  // namespace hb::fakehip
