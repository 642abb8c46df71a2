// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Plain memory, copies, questions about pointers.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "gpu/fake_cuda/process.h"

using namespace hb::cuda;  // NOLINT: the C ABI over this namespace
namespace fc = hb::fakecuda;

namespace {

constexpr std::size_t kPiece = 1u << 20;

Result move(fc::Process& p, DevicePtr to, DevicePtr from, std::size_t bytes) {
  std::vector<char> piece(std::min(bytes, kPiece));
  for (std::size_t done = 0; done < bytes; done += kPiece) {
    const std::size_t n = std::min(kPiece, bytes - done);
    if (const Result result = p.read(from + done, piece.data(), n, fc::current()); result != kSuccess)
      return result;
    if (const Result result = p.write(to + done, piece.data(), n, fc::current()); result != kSuccess)
      return result;
  }
  return kSuccess;
}

char* cpu(DevicePtr at) { return reinterpret_cast<char*>(static_cast<std::uintptr_t>(at)); }

}  // namespace

FAKE_CUDA_API Result cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total) {
  if (fc::current() < 0) return kInvalidContext;
  *total = fc::device_bytes();
  *free_bytes = *total - std::min(*total, fc::used_bytes(fc::current()));
  return kSuccess;
}

FAKE_CUDA_API Result cuMemAlloc_v2(DevicePtr* out, std::size_t bytes) {
  FAKE_CUDA_ENTER();
  if (fc::current() < 0) return kInvalidContext;
  if (out == nullptr || bytes == 0) return kInvalidValue;
  const std::size_t whole = (bytes + fc::kGranularity - 1) / fc::kGranularity * fc::kGranularity;
  MemHandle handle = 0;
  if (const Result result = p.create(fc::current(), whole, false, handle); result != kSuccess) return result;
  std::uintptr_t at = 0;
  Result result = p.reserve(whole, 0, at);
  if (result == kSuccess) result = p.map(at, whole, handle);
  if (result == kSuccess) result = p.grant(at, whole, fc::current(), kProtReadWrite);
  static_cast<void>(p.release(handle));
  if (result != kSuccess) return result;
  p.mallocs.insert(at);
  *out = at;
  return kSuccess;
}

FAKE_CUDA_API Result cuMemFree_v2(DevicePtr at) {
  FAKE_CUDA_ENTER();
  std::uintptr_t start = 0;
  const fc::Mapping* mapping = p.around(at, start);
  if (mapping == nullptr || p.mallocs.erase(at) == 0) return kInvalidValue;
  const std::size_t bytes = mapping->bytes;
  static_cast<void>(p.unmap(at, bytes));
  return p.unreserve(at, bytes);
}

FAKE_CUDA_API Result cuMemHostAlloc(void** out, std::size_t bytes, unsigned) {
  *out = std::malloc(bytes);
  return *out == nullptr ? kOutOfMemory : kSuccess;
}
FAKE_CUDA_API Result cuMemFreeHost(void* ptr) {
  std::free(ptr);
  return kSuccess;
}

FAKE_CUDA_API Result cuMemcpyHtoD_v2(DevicePtr to, const void* from, std::size_t bytes) {
  FAKE_CUDA_ENTER();
  return p.write(to, static_cast<const char*>(from), bytes, fc::current());
}
FAKE_CUDA_API Result cuMemcpyDtoH_v2(void* to, DevicePtr from, std::size_t bytes) {
  FAKE_CUDA_ENTER();
  return p.read(from, static_cast<char*>(to), bytes, fc::current());
}
FAKE_CUDA_API Result cuMemcpyDtoD_v2(DevicePtr to, DevicePtr from, std::size_t bytes) {
  FAKE_CUDA_ENTER();
  return move(p, to, from, bytes);
}
FAKE_CUDA_API Result cuMemcpy(DevicePtr to, DevicePtr from, std::size_t bytes) {
  FAKE_CUDA_ENTER();
  const bool to_device = p.is_reserved(to);
  const bool from_device = p.is_reserved(from);
  if (to_device && from_device) return move(p, to, from, bytes);
  if (to_device) return p.write(to, cpu(from), bytes, fc::current());
  if (from_device) return p.read(from, cpu(to), bytes, fc::current());
  std::memcpy(cpu(to), cpu(from), bytes);
  return kSuccess;
}
FAKE_CUDA_API Result cuMemcpyAsync(DevicePtr to, DevicePtr from, std::size_t bytes, Stream) {
  return cuMemcpy(to, from, bytes);
}
FAKE_CUDA_API Result cuMemcpyHtoDAsync_v2(DevicePtr to, const void* from, std::size_t bytes, Stream) {
  return cuMemcpyHtoD_v2(to, from, bytes);
}
FAKE_CUDA_API Result cuMemcpyDtoHAsync_v2(void* to, DevicePtr from, std::size_t bytes, Stream) {
  return cuMemcpyDtoH_v2(to, from, bytes);
}
FAKE_CUDA_API Result cuMemcpyDtoDAsync_v2(DevicePtr to, DevicePtr from, std::size_t bytes, Stream) {
  return cuMemcpyDtoD_v2(to, from, bytes);
}

FAKE_CUDA_API Result cuMemsetD8_v2(DevicePtr to, unsigned char value, std::size_t bytes) {
  FAKE_CUDA_ENTER();
  const std::vector<char> piece(std::min(bytes, kPiece), static_cast<char>(value));
  for (std::size_t done = 0; done < bytes; done += kPiece)
    if (const Result result = p.write(to + done, piece.data(), std::min(kPiece, bytes - done), fc::current());
        result != kSuccess)
      return result;
  return kSuccess;
}

FAKE_CUDA_API Result cuMemGetAddressRange_v2(DevicePtr* base, std::size_t* bytes, DevicePtr at) {
  FAKE_CUDA_ENTER();
  std::uintptr_t start = 0;
  const fc::Mapping* mapping = p.around(at, start);
  if (mapping == nullptr) return kNotFound;
  if (base != nullptr) *base = start;
  if (bytes != nullptr) *bytes = mapping->bytes;
  return kSuccess;
}

FAKE_CUDA_API Result cuPointerGetAttribute(void* out, PointerAttribute attribute, DevicePtr at) {
  FAKE_CUDA_ENTER();
  std::uintptr_t start = 0;
  const fc::Mapping* mapping = p.around(at, start);
  if (out == nullptr || mapping == nullptr) return kInvalidValue;
  const auto put = [out](auto value) {
    std::memcpy(out, &value, sizeof value);
    return kSuccess;
  };
  const auto& seen = fc::visible();
  const int device = p.find(mapping->handle)->device;
  const auto ordinal = std::find(seen.begin(), seen.end(), device);
  switch (attribute) {
    case kPointerMemoryType:
      return put(static_cast<unsigned>(kMemoryDevice));
    case kPointerDevicePointer:
      return put(at);
    case kPointerBufferId:
      return put(mapping->handle);
    case kPointerIsManaged:
      return put(0u);
    case kPointerOrdinal:  // of an owner that is hidden: -2
      return put(ordinal == seen.end() ? -2 : static_cast<int>(ordinal - seen.begin()));
    case kPointerRangeStart:
      return put(start);
    case kPointerRangeSize:
      return put(mapping->bytes);
    case kPointerHostPointer:
      return kInvalidValue;
  }
  return kInvalidValue;
}
