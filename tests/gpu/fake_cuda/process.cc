// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "gpu/fake_cuda/process.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace hb::fakecuda {
namespace {

pid_t g_started = 0;

cuda::Result from_errno() { return errno == ENOMEM ? cuda::kOutOfMemory : cuda::kOperatingSystem; }

}  // namespace

Process& process() {
  static auto* made = new Process;
  return *made;
}
bool usable() { return g_started == ::getpid(); }
void start() {
  if (g_started == 0) g_started = ::getpid();
}
int& current() {
  thread_local int device = -1;
  return device;
}

// ---- handles --------------------------------------------------------------------------------------

cuda::Result Process::keep(Object object, Handle handle, cuda::MemHandle& out) {
  const cuda::MemHandle number = next_++;
  const bool has_token = static_cast<bool>(object.token);
  if (!vault_.put(2 * number, std::move(object.memory))) return cuda::kOperatingSystem;
  if (has_token && !vault_.put(2 * number + 1, std::move(object.token))) {
    vault_.drop(2 * number);
    return cuda::kOperatingSystem;
  }
  handles_[number] = handle;
  out = number;
  return cuda::kSuccess;
}

cuda::Result Process::create(int device, std::size_t bytes, bool exportable, cuda::MemHandle& out) {
  auto object = make_object(device, bytes);
  if (!object) return from_errno();
  return keep(std::move(*object), {bytes, device, false, exportable, 1}, out);
}

void Process::drop(cuda::MemHandle number) {
  const auto found = handles_.find(number);
  if (--found->second.references > 0) return;
  vault_.drop(2 * number);
  vault_.drop(2 * number + 1);
  handles_.erase(found);
}

cuda::Result Process::release(cuda::MemHandle number) {
  if (!handles_.contains(number)) return cuda::kInvalidValue;
  drop(number);
  return cuda::kSuccess;
}

cuda::Result Process::share(cuda::MemHandle number, int& out) {
  const Handle* handle = find(number);
  // Only the creator exports.
  if (handle == nullptr || handle->imported || !handle->exportable) return cuda::kInvalidValue;
  UniqueFd shared = vault_.get(2 * number + 1);
  if (!shared) shared = vault_.get(2 * number);
  if (!shared) return cuda::kOperatingSystem;
  out = shared.release();
  return cuda::kSuccess;
}

cuda::Result Process::import(BorrowedFd shared, cuda::MemHandle& out) {
  auto object = open_object(shared);
  if (!object) return cuda::kUnknown;
  const Handle handle{object->bytes, object->device, true, false, 1};
  return keep(std::move(*object), handle, out);
}

const Handle* Process::find(cuda::MemHandle handle) const {
  const auto found = handles_.find(handle);
  return found == handles_.end() ? nullptr : &found->second;
}

// ---- addresses ------------------------------------------------------------------------------------

cuda::Result Process::reserve(std::size_t bytes, std::uintptr_t wish, std::uintptr_t& out) {
  if (bytes == 0 || bytes % kGranularity != 0) return cuda::kInvalidValue;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (wish != 0 && wish % kGranularity == 0) {
    void* at = ::mmap(reinterpret_cast<void*>(wish), bytes, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == reinterpret_cast<void*>(wish)) {
      reserved_[wish] = bytes;
      out = wish;
      return cuda::kSuccess;
    }
    if (at != MAP_FAILED) ::munmap(at, bytes);
  }
  void* at = ::mmap(nullptr, bytes + kGranularity, PROT_NONE, kFlags, -1, 0);
  if (at == MAP_FAILED) return cuda::kOutOfMemory;
  const auto raw = reinterpret_cast<std::uintptr_t>(at);
  out = (raw + kGranularity - 1) / kGranularity * kGranularity;
  if (out != raw) ::munmap(at, out - raw);
  if (const std::size_t rest = raw + kGranularity - out; rest != 0)
    ::munmap(reinterpret_cast<void*>(out + bytes), rest);
  reserved_[out] = bytes;
  return cuda::kSuccess;
}

cuda::Result Process::unreserve(std::uintptr_t at, std::size_t bytes) {
  const auto found = reserved_.find(at);
  if (found == reserved_.end() || found->second != bytes) return cuda::kInvalidValue;
  const auto mapped = mappings_.lower_bound(at);
  if (mapped != mappings_.end() && mapped->first < at + bytes) return cuda::kInvalidValue;
  ::munmap(reinterpret_cast<void*>(at), bytes);
  reserved_.erase(found);
  return cuda::kSuccess;
}

bool Process::is_reserved(std::uintptr_t at) const {
  auto found = reserved_.upper_bound(at);
  return found != reserved_.begin() && at - (--found)->first < found->second;
}

cuda::Result Process::map(std::uintptr_t at, std::size_t bytes, cuda::MemHandle number) {
  const Handle* handle = find(number);
  if (handle == nullptr) return cuda::kInvalidValue;
  if (bytes != handle->bytes || at % kGranularity != 0) return cuda::kNotSupported;
  if (!is_reserved(at) || !is_reserved(at + bytes - 1)) return cuda::kInvalidValue;
  std::uintptr_t start = 0;
  const auto next = mappings_.lower_bound(at);
  if (around(at, start) != nullptr || (next != mappings_.end() && next->first < at + bytes))
    return cuda::kInvalidValue;
  ++handles_[number].references;
  mappings_[at] = {bytes, number, {}};
  return cuda::kSuccess;
}

std::vector<std::uintptr_t> Process::whole(std::uintptr_t at, std::size_t bytes) const {
  std::vector<std::uintptr_t> out;
  std::uintptr_t next = at;
  while (next < at + bytes) {
    const auto found = mappings_.find(next);
    if (found == mappings_.end()) return {};
    out.push_back(next);
    next += found->second.bytes;
  }
  return next == at + bytes ? out : std::vector<std::uintptr_t>();
}

cuda::Result Process::unmap(std::uintptr_t at, std::size_t bytes) {
  const auto range = whole(at, bytes);
  if (range.empty()) return cuda::kInvalidValue;
  for (const std::uintptr_t one : range) {
    drop(mappings_[one].handle);
    mappings_.erase(one);
  }
  return cuda::kSuccess;
}

cuda::Result Process::grant(std::uintptr_t at, std::size_t bytes, int device, int flags) {
  const auto range = whole(at, bytes);
  if (range.empty()) return cuda::kInvalidValue;
  for (const std::uintptr_t one : range) mappings_[one].granted[device] = flags;
  return cuda::kSuccess;
}

const Mapping* Process::around(std::uintptr_t at, std::uintptr_t& start) const {
  auto found = mappings_.upper_bound(at);
  if (found == mappings_.begin()) return nullptr;
  --found;
  start = found->first;
  return at - found->first < found->second.bytes ? &found->second : nullptr;
}

// ---- bytes ----------------------------------------------------------------------------------------

// `move(descriptor, offset in the object, offset in the range, bytes)` for each mapping that the range
// touches.
template <class Move>
cuda::Result Process::each(std::uintptr_t at, std::size_t bytes, int device, int wanted, Move move) {
  for (std::size_t done = 0; done < bytes;) {
    std::uintptr_t start = 0;
    const Mapping* mapping = around(at + done, start);
    if (mapping == nullptr) return cuda::kInvalidValue;
    const auto granted = mapping->granted.find(device);
    if (granted == mapping->granted.end() || (granted->second & wanted) != wanted) return cuda::kInvalidValue;
    const std::size_t offset = at + done - start;
    const std::size_t here = std::min(bytes - done, mapping->bytes - offset);
    const UniqueFd memory = vault_.get(2 * mapping->handle);
    if (!memory) return cuda::kOperatingSystem;
    for (std::size_t k = 0; k < here;) {
      const ssize_t n = move(memory.get(), offset + k, done + k, here - k);
      if (n <= 0) return cuda::kUnknown;
      k += static_cast<std::size_t>(n);
    }
    done += here;
  }
  return cuda::kSuccess;
}

cuda::Result Process::read(std::uintptr_t from, char* to, std::size_t bytes, int device) {
  return each(from, bytes, device, cuda::kProtRead,
              [to](int fd, std::size_t at, std::size_t done, std::size_t n) {
                return ::pread(fd, to + done, n, static_cast<off_t>(at));
              });
}

cuda::Result Process::write(std::uintptr_t to, const char* from, std::size_t bytes, int device) {
  return each(to, bytes, device, cuda::kProtReadWrite,
              [from](int fd, std::size_t at, std::size_t done, std::size_t n) {
                return ::pwrite(fd, from + done, n, static_cast<off_t>(at));
              });
}

}  // namespace hb::fakecuda
