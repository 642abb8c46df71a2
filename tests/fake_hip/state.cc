// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "state.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "accounting.h"
#include "fake_hip.h"

namespace hb::fakehip {
namespace {

std::string read_devices(const char* value) {
  if (value == nullptr || *value == '\0') return default_devices();
  if (std::string_view(value).find('=') != std::string_view::npos) return value;
  std::ifstream file(value);
  std::stringstream all;
  all << file.rdbuf();
  if (!file) {
    std::fprintf(stderr, "fake_hip: FAKE_HIP_DEVICES: cannot read '%s'\n", value);
    std::abort();
  }
  return all.str();
}

std::string env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

[[noreturn]] void misused(const char* variable, const std::string& what) {
  std::fprintf(stderr, "fake_hip: %s: %s\n", variable, what.c_str());
  std::abort();
}

}  // namespace

int& current_device() {
  thread_local int ordinal = 0;
  return ordinal;
}

State& State::get() {
  static State* const state = new State;  // never destroyed, see the header
  return *state;
}

State::State() {
  if (!quirks.choose_version(env("FAKE_HIP_VERSION"), FAKE_HIP_DEFAULT_VERSION))
    misused("FAKE_HIP_VERSION", "'" + env("FAKE_HIP_VERSION") + "' is no version from 6.0 on");
  std::string error;
  devices = parse_devices(read_devices(std::getenv("FAKE_HIP_DEVICES")), error);
  if (!error.empty()) misused("FAKE_HIP_DEVICES", error);
  visible = visible_lines(devices, std::getenv("ROCR_VISIBLE_DEVICES"), std::getenv("HIP_VISIBLE_DEVICES"),
                          std::getenv("CUDA_VISIBLE_DEVICES"));
  agents = visible_lines(devices, std::getenv("ROCR_VISIBLE_DEVICES"), nullptr, nullptr);
  machine = machine_number(env("FAKE_HIP_STATE"));
  strict = env("FAKE_HIP_STRICT") != "0";
  tracer.open(std::getenv("FAKE_HIP_TRACE"));
  if (!injector.configure(env("FAKE_HIP_FAIL"))) misused("FAKE_HIP_FAIL", env("FAKE_HIP_FAIL"));
  if (!control(env("FAKE_HIP_SWITCHES"))) misused("FAKE_HIP_SWITCHES", env("FAKE_HIP_SWITCHES"));
}

int State::line_of(int ordinal) const {
  return ordinal < 0 || static_cast<std::size_t>(ordinal) >= visible.size()
             ? -1
             : visible[static_cast<std::size_t>(ordinal)];
}

int State::ordinal_of(int line) const {
  for (std::size_t i = 0; i < visible.size(); ++i)
    if (visible[i] == line) return static_cast<int>(i);
  return -1;
}

bool State::can_access(int from_line, int to_line) const {
  if (from_line == to_line || to_line == kHostLine) return true;
  return !on(Quirk::kNoPeers) && devices[static_cast<std::size_t>(from_line)].reaches(to_line);
}

Region* State::region_at(std::uintptr_t at) {
  auto next = regions.upper_bound(at);
  if (next == regions.begin()) return nullptr;
  Region& region = std::prev(next)->second;
  return region.contains(at) ? &region : nullptr;
}

std::map<std::uintptr_t, Reservation>::iterator State::reservation_at(std::uintptr_t at) {
  auto next = reservations.upper_bound(at);
  if (next == reservations.begin()) return reservations.end();
  --next;
  return at - next->first < next->second.size ? next : reservations.end();
}

std::shared_ptr<Handle> State::handle_at(const void* handle, const char* function) {
  const auto found = handles.find(handle);
  if (found != handles.end()) return found->second;
  if (handle != nullptr) violation(std::string(function) + ": handle is not alive (released, or never one)");
  return nullptr;
}

std::shared_ptr<BufferObject> State::allocate(int line, std::size_t size, UniqueFd* keep) {
  if (line != kHostLine) {
    const std::uint64_t vram = devices[static_cast<std::size_t>(line)].vram;
    if (vram != 0 && accounted_bytes(machine, line) + size > vram) return nullptr;
  }
  return BufferObject::create(vault, machine, line, size, keep);
}

void State::violation(std::string text) {
  std::fprintf(stderr, "fake_hip: violation: %s\n", text.c_str());
  violations.push_back(std::move(text));
}

void State::crash(const std::string& why) {
  std::fprintf(stderr, "fake_hip: the real runtime crashes here: %s\n", why.c_str());
  std::abort();
}

}  // namespace hb::fakehip
