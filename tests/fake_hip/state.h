// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Everything one process's fake runtime knows, behind one mutex. It is never destroyed: calls may come from
// other libraries' static destructors, as with the real one.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "abi.h"
#include "devices.h"
#include "fd_vault.h"
#include "inject.h"
#include "object.h"
#include "quirks.h"
#include "stream.h"
#include "trace.h"

namespace hb::fakehip {

struct ExternalMemory {
  std::shared_ptr<BufferObject> object;
  std::size_t size = 0;
  int line = -1;
  int ordinal = -1;
  std::vector<std::uintptr_t> buffers;
  UniqueFd owned;
};

// A 2 MiB block from which small hipMalloc requests are cut, as ROCr's SimpleHeap does.
struct FragmentBlock {
  std::shared_ptr<BufferObject> object;
  void* va = nullptr;
  std::map<std::size_t, std::size_t> taken;  // offset -> size
};

struct State {
  static State& get();

  std::mutex mutex;
  std::condition_variable streams_changed;
  Quirks quirks;
  Injector injector;
  Tracer tracer;
  FdVault vault;
  std::vector<Device> devices;
  std::vector<int> visible;  // HIP ordinal -> line
  std::vector<int> agents;   // lines that ROCr sees: HIP's own variables hide nothing from it
  std::uint32_t machine = 0;
  bool strict = true;
  pid_t started_in = 0;  // 0: no HIP call yet

  std::map<const void*, std::shared_ptr<Handle>> handles;
  std::vector<std::shared_ptr<Handle>> dead_handles;  // their addresses must not come again
  std::map<std::uintptr_t, Reservation> reservations;
  std::map<std::uintptr_t, Reservation> free_reservations;  // reuse_addresses
  std::map<std::uintptr_t, Region> regions;
  std::map<int, std::vector<FragmentBlock>> fragments;  // by line
  std::map<const void*, std::unique_ptr<ExternalMemory>> externals;
  struct LeftFd {
    int fd;
    std::uint64_t inode;
  };
  std::vector<LeftFd> export_fds;  // shared export numbers whose handle is gone: the caller's to close
  std::set<std::pair<int, int>> peers_enabled;
  StreamTable streams;
  std::vector<std::string> violations;
  long long faults = 0;
  long long null_stream_uses = 0;
  int grants_to_fail = 0;
  int waiting = 0;   // calls that wait for a stream, or hang
  std::string hang;  // the function whose calls do not go on

  [[nodiscard]] bool on(Quirk quirk) const { return quirks.on(quirk); }
  // HIP ordinal -> line, -1 when there is no such device.
  [[nodiscard]] int line_of(int ordinal) const;
  [[nodiscard]] int ordinal_of(int line) const;  // -1: hidden
  [[nodiscard]] bool can_access(int from_line, int to_line) const;
  [[nodiscard]] Region* region_at(std::uintptr_t address);
  // The reservation an address lies in, or end().
  [[nodiscard]] std::map<std::uintptr_t, Reservation>::iterator reservation_at(std::uintptr_t address);
  // nullptr and a violation when the handle is not alive.
  [[nodiscard]] std::shared_ptr<Handle> handle_at(const void* handle, const char* function);
  // New memory on a device, after a look at what is free there. nullptr: out of memory or descriptors.
  [[nodiscard]] std::shared_ptr<BufferObject> allocate(int line, std::size_t size, UniqueFd* keep = nullptr);
  void violation(std::string text);
  // Where the real runtime crashes.
  [[noreturn]] void crash(const std::string& why);
  bool control(std::string_view text);
  [[nodiscard]] int report(bool streams_too);
  [[nodiscard]] long long count(std::string_view what) const;

 private:
  State();
  bool control_one(std::string_view name, std::string_view value);
};

// The calling thread's HIP device (an ordinal).
int& current_device();

inline std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }
inline void* pointer(std::uintptr_t a) { return reinterpret_cast<void*>(a); }

}  // namespace hb::fakehip
