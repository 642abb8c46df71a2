// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What tests say to the fake, and what it says to them.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "accounting.h"
#include "fake_hip.h"
#include "hsa_bridge.h"
#include "state.h"

namespace hb::fakehip {

bool State::control_one(std::string_view name, std::string_view value) {
  if (name == "fail") return injector.configure(value);
  if (name == "hang") {
    hang = value;
    streams_changed.notify_all();
    return true;
  }
  if (name == "forget") {
    violations.clear();
    return true;
  }
  if (name == "busy" || name == "idle") {
    const bool busy = name == "busy";
    if (value == "all") {
      streams.set_all_busy(busy, static_cast<int>(visible.size()));
    } else {
      std::uintptr_t word = 0;
      if (value.starts_with("0x")) value.remove_prefix(2);
      if (std::from_chars(value.data(), value.data() + value.size(), word, 16).ec != std::errc())
        return false;
      Stream* stream = streams.find(pointer(word), current_device());
      if (stream == nullptr) return false;
      streams.set_busy(*stream, busy);
    }
    streams_changed.notify_all();
    return true;
  }
  int number = 0;
  if (std::from_chars(value.data(), value.data() + value.size(), number).ec != std::errc()) return false;
  if (name == "grant_fails_once") grants_to_fail = number;
  return quirks.set(name, number);
}

bool State::control(std::string_view text) {
  while (!text.empty()) {
    const std::size_t comma = text.starts_with("fail=") ? std::string_view::npos : text.find(',');
    const std::string_view entry = text.substr(0, comma);
    const std::size_t equal = entry.find('=');
    if (equal == std::string_view::npos || !control_one(entry.substr(0, equal), entry.substr(equal + 1))) {
      std::fprintf(stderr, "fake_hip: '%.*s' is not understood\n", static_cast<int>(entry.size()),
                   entry.data());
      return false;
    }
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return true;
}

long long State::count(std::string_view what) const {
  const auto of_kind = [this](RegionKind kind) {
    long long n = 0;
    for (const auto& [base, region] : regions) n += region.kind == kind ? 1 : 0;
    return n;
  };
  if (what == "handles" || what == "imports") {
    long long n = 0;
    for (const auto& [key, handle] : handles)
      n += handle->references > 0 && (handle->imported || what == "handles");
    return n;
  }
  if (what == "mappings") return of_kind(RegionKind::kVmm);
  if (what == "mallocs") return of_kind(RegionKind::kMalloc);
  if (what == "pool") return of_kind(RegionKind::kPool);
  if (what == "host") return of_kind(RegionKind::kHost) + of_kind(RegionKind::kRegistered);
  if (what == "reservations") return static_cast<long long>(reservations.size());
  if (what == "reserved") {
    long long bytes = 0;
    for (const auto& [base, reservation] : reservations) bytes += static_cast<long long>(reservation.size);
    return bytes;
  }
  if (what == "streams") return static_cast<long long>(streams.stream_count());
  if (what == "events") return static_cast<long long>(streams.event_count());
  if (what == "externals") return static_cast<long long>(externals.size());
  if (what == "violations") return static_cast<long long>(violations.size());
  if (what == "faults") return faults;
  if (what == "waiting") return waiting;
  if (what == "null_stream") return null_stream_uses;
  if (what == "vault") return static_cast<long long>(vault.size());
  if (what == "calls") return injector.calls("");
  if (what.starts_with("calls:")) return injector.calls(what.substr(6));
  return -1;
}

int State::report(bool streams_too) {
  struct Kind {
    const char* word;
    const char* text;
    bool stream;
  };
  constexpr Kind kKinds[] = {{"handles", "allocation handle(s) not released", false},
                             {"mappings", "mapping(s) not unmapped", false},
                             {"reservations", "address reservation(s) not freed", false},
                             {"mallocs", "hipMalloc allocation(s) not freed", false},
                             {"pool", "hipMallocAsync allocation(s) not freed", false},
                             {"host", "host allocation(s) or registration(s) left", false},
                             {"externals", "external memory object(s) not destroyed", false},
                             {"streams", "stream(s) not destroyed", true},
                             {"events", "event(s) not destroyed", true}};
  long long total = 0;
  for (const Kind& kind : kKinds) {
    const long long n = count(kind.word);
    if (n == 0 || (kind.stream && !streams_too)) continue;
    std::fprintf(stderr, "fake_hip: leak: %lld %s\n", n, kind.text);
    total += n;
  }
  for (const LeftFd& left : export_fds) {
    struct stat status = {};
    if (::fstat(left.fd, &status) != 0 || status.st_ino != left.inode) continue;
    std::fprintf(stderr, "fake_hip: leak: export descriptor %d not closed after its handle went\n", left.fd);
    ++total;
  }
  for (const std::string& text : violations) std::fprintf(stderr, "fake_hip: violation: %s\n", text.c_str());
  return static_cast<int>(total) + static_cast<int>(violations.size());
}

namespace {

// The HSA half is loaded with the HIP half, as with the real pair, and found beside it.
void load_hsa_half() {
  if (std::getenv("FAKE_HIP_NO_HSA") != nullptr) return;
  Dl_info info = {};
  if (::dladdr(reinterpret_cast<const void*>(&load_hsa_half), &info) == 0 || info.dli_fname == nullptr)
    return;
  std::string path = info.dli_fname;
  path = path.substr(0, path.rfind('/') + 1) + "libhsa-runtime64.so.1";
  void* half = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  using Attach = void (*)(const HsaTable*);
  const auto attach = half != nullptr ? reinterpret_cast<Attach>(::dlsym(half, "fake_hsa_attach")) : nullptr;
  if (attach == nullptr) {
    std::fprintf(stderr, "fake_hip: no HSA half: %s\n", ::dlerror());
    return;
  }
  attach(&kHsaTable);
}

__attribute__((constructor)) void at_load() { load_hsa_half(); }

__attribute__((destructor)) void at_exit() {
  State& state = State::get();
  if (state.started_in != ::getpid()) return;  // never used, or a forked child
  if (state.report(false) != 0 && state.strict) {
    std::fflush(nullptr);
    ::_exit(kComplaintExit);
  }
}

}  // namespace
}  // namespace hb::fakehip

using hb::fakehip::State;

FAKE_API int fake_hip_control(const char* text) {
  State& state = State::get();
  const std::lock_guard lock(state.mutex);
  return state.control(text) ? 0 : -1;
}

FAKE_API long long fake_hip_count(const char* what) {
  State& state = State::get();
  const std::lock_guard lock(state.mutex);
  return state.count(what);
}

FAKE_API unsigned long long fake_hip_device_bytes(int line) {
  return hb::fakehip::accounted_bytes(State::get().machine, line);
}

FAKE_API int fake_hip_report(int streams_too) {
  State& state = State::get();
  const std::lock_guard lock(state.mutex);
  return state.report(streams_too != 0);
}

FAKE_API int fake_hip_write_sysfs(const char* root) {
  const int error = hb::fakehip::write_sysfs(State::get().devices, root);
  if (error == 0) return 0;
  errno = error;
  return -1;
}
