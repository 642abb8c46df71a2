// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Devices, contexts, streams, events.
#include <cstdio>
#include <cstring>

#include "gpu/fake_cuda/process.h"

using namespace hb::cuda;  // NOLINT: the C ABI over this namespace
namespace fc = hb::fakecuda;

namespace {

bool is_device(int device) { return device >= 0 && device < static_cast<int>(fc::visible().size()); }
int place_of(Device device) { return fc::visible()[static_cast<std::size_t>(device)]; }
int bus_of(Device device) { return 0x1b + 0x28 * place_of(device); }

}  // namespace

FAKE_CUDA_API Result cuInit(unsigned) {
  if (fc::visible().empty()) return kNoDevice;
  fc::start();
  return fc::usable() ? kSuccess : kNotInitialized;
}

FAKE_CUDA_API Result cuDeviceGetCount(int* out) {
  *out = static_cast<int>(fc::visible().size());
  return kSuccess;
}

FAKE_CUDA_API Result cuDeviceGet(Device* out, int ordinal) {
  if (!is_device(ordinal)) return kInvalidDevice;
  *out = ordinal;
  return kSuccess;
}

FAKE_CUDA_API Result cuDeviceGetName(char* out, int bytes, Device device) {
  if (!is_device(device) || bytes <= 0) return kInvalidDevice;
  std::snprintf(out, static_cast<std::size_t>(bytes), "fake GPU %d", place_of(device));
  return kSuccess;
}

FAKE_CUDA_API Result cuDeviceGetAttribute(int* out, DeviceAttribute attribute, Device device) {
  if (!is_device(device)) return kInvalidDevice;
  switch (attribute) {
    case kAttributePciBus:
      *out = bus_of(device);
      return kSuccess;
    case kAttributePciDevice:
    case kAttributePciDomain:
    case kAttributeDmaBuf:
      *out = 0;
      return kSuccess;
    case kAttributeVmm:
      *out = 1;
      return kSuccess;
  }
  return kInvalidValue;
}

FAKE_CUDA_API Result cuDeviceGetPCIBusId(char* out, int bytes, Device device) {
  if (!is_device(device) || bytes <= 0) return kInvalidDevice;
  std::snprintf(out, static_cast<std::size_t>(bytes), "0000:%02X:00.0",
                static_cast<unsigned>(bus_of(device)));
  return kSuccess;
}

FAKE_CUDA_API Result cuDeviceGetUuid_v2(Uuid* out, Device device) {
  if (!is_device(device)) return kInvalidDevice;
  for (int i = 0; i < 16; ++i) out->bytes[i] = static_cast<char>(0xa0 + 16 * place_of(device) + i);
  return kSuccess;
}

FAKE_CUDA_API Result cuDeviceTotalMem_v2(std::size_t* out, Device device) {
  if (!is_device(device)) return kInvalidDevice;
  *out = fc::device_bytes();
  return kSuccess;
}

FAKE_CUDA_API Result cuDeviceCanAccessPeer(int* out, Device device, Device peer) {
  if (!is_device(device) || !is_device(peer)) return kInvalidDevice;
  *out = device != peer;
  return kSuccess;
}

// A context is its device: there is only the primary one.
FAKE_CUDA_API Result cuDevicePrimaryCtxRetain(Context* out, Device device) {
  if (!fc::usable()) return kNotInitialized;
  if (!is_device(device)) return kInvalidDevice;
  *out = reinterpret_cast<Context>(static_cast<std::uintptr_t>(place_of(device)) + 1);
  return kSuccess;
}

FAKE_CUDA_API Result cuCtxSetCurrent(Context context) {
  if (!fc::usable()) return kNotInitialized;
  fc::current() = static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1;
  return kSuccess;
}
FAKE_CUDA_API Result cuCtxSynchronize() { return fc::usable() ? kSuccess : kNotInitialized; }

FAKE_CUDA_API Result cuThreadExchangeStreamCaptureMode(int* mode) {
  thread_local int now = 0;
  if (!fc::usable()) return kNotInitialized;
  const int before = now;
  now = *mode;
  *mode = before;
  return kSuccess;
}

// Everything is done when it is asked for: streams and events are only counted apart.
FAKE_CUDA_API Result cuStreamCreate(Stream* out, unsigned) {
  if (!fc::usable()) return kNotInitialized;
  *out = reinterpret_cast<Stream>(new int(0));
  return kSuccess;
}
FAKE_CUDA_API Result cuStreamDestroy_v2(Stream stream) {
  delete reinterpret_cast<int*>(stream);
  return kSuccess;
}
FAKE_CUDA_API Result cuStreamSynchronize(Stream) { return fc::usable() ? kSuccess : kNotInitialized; }
FAKE_CUDA_API Result cuStreamQuery(Stream) { return fc::usable() ? kSuccess : kNotInitialized; }

FAKE_CUDA_API Result cuEventCreate(Event* out, unsigned) {
  if (!fc::usable()) return kNotInitialized;
  *out = reinterpret_cast<Event>(new int(0));
  return kSuccess;
}
FAKE_CUDA_API Result cuEventDestroy_v2(Event event) {
  delete reinterpret_cast<int*>(event);
  return kSuccess;
}
FAKE_CUDA_API Result cuEventRecord(Event, Stream) { return kSuccess; }
FAKE_CUDA_API Result cuEventQuery(Event) { return kSuccess; }
FAKE_CUDA_API Result cuEventSynchronize(Event) { return kSuccess; }
