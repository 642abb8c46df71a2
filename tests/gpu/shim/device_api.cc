// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Runtime, devices, errors.
#include <cstdio>
#include <cstring>

#include "gpu/shim/driver.h"

using namespace hb::shim;     // NOLINT: the C ABI over this namespace
using namespace hb::fakehip;  // NOLINT: HIP's numbers
namespace cuda = hb::cuda;

SHIM_API HipError hipInit(unsigned) { SHIM_DONE(start()); }

SHIM_API HipError hipRuntimeGetVersion(int* out) {
  if (out == nullptr) SHIM_DONE(kInvalidValue);
  *out = version();
  return kSuccess;
}
SHIM_API HipError hipDriverGetVersion(int* out) { return hipRuntimeGetVersion(out); }

SHIM_API HipError hipGetDeviceCount(int* out) {
  if (out == nullptr) SHIM_DONE(kInvalidValue);
  const HipError code = start();
  *out = code == kSuccess ? device_count() : 0;
  SHIM_DONE(code);
}

SHIM_API HipError hipSetDevice(int ordinal) {
  if (const HipError code = start(); code != kSuccess) SHIM_DONE(code);
  if (ordinal < 0 || ordinal >= device_count()) SHIM_DONE(kInvalidDevice);
  set_current_device(ordinal);
  SHIM_ENTER();
  return kSuccess;
}

SHIM_API HipError hipGetDevice(int* out) {
  if (out == nullptr) SHIM_DONE(kInvalidValue);
  *out = current_device();
  SHIM_DONE(start());
}

SHIM_API HipError hipDeviceGet(int* out, int ordinal) {
  if (const HipError code = start(); code != kSuccess) SHIM_DONE(code);
  if (out == nullptr || ordinal < 0 || ordinal >= device_count()) SHIM_DONE(kInvalidDevice);
  *out = ordinal;
  return kSuccess;
}

SHIM_API HipError hipDeviceGetName(char* text, int bytes, int device) {
  if (const HipError code = start(); code != kSuccess) SHIM_DONE(code);
  SHIM_DONE(convert(cu().cuDeviceGetName(text, bytes, device)));
}

SHIM_API HipError hipDeviceTotalMem(std::size_t* out, int device) {
  if (const HipError code = start(); code != kSuccess) SHIM_DONE(code);
  SHIM_DONE(convert(cu().cuDeviceTotalMem_v2(out, device)));
}

SHIM_API HipError hipDeviceGetPCIBusId(char* text, int bytes, int device) {
  if (text == nullptr || bytes < 13) SHIM_DONE(kInvalidValue);
  if (const HipError code = start(); code != kSuccess) SHIM_DONE(code);
  SHIM_DONE(convert(cu().cuDeviceGetPCIBusId(text, bytes, device)));
}

// AMD: 16 characters, no end mark. CUDA's are 16 binary bytes, of which the first half is written out.
SHIM_API HipError hipDeviceGetUuid(hb::fakehip::Uuid* out, int device) {
  if (out == nullptr) SHIM_DONE(kInvalidValue);
  if (const HipError code = start(); code != kSuccess) SHIM_DONE(code);
  cuda::Uuid binary{};
  if (const auto result = cu().cuDeviceGetUuid_v2(&binary, device); result != cuda::kSuccess)
    SHIM_DONE(convert(result));
  char text[17];
  for (int i = 0; i < 8; ++i)
    std::snprintf(text + 2 * i, 3, "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(binary.bytes[i])));
  std::memcpy(out->bytes, text, sizeof out->bytes);
  return kSuccess;
}

SHIM_API HipError hipDeviceGetAttribute(int* out, int attribute, int device) {
  if (const HipError code = start(); code != kSuccess) SHIM_DONE(code);
  if (out == nullptr || device < 0 || device >= device_count()) SHIM_DONE(kInvalidValue);
  switch (attribute) {  // numbers of AMD's enum; the NVIDIA platform's differ
    case 67:
      SHIM_DONE(convert(cu().cuDeviceGetAttribute(out, cuda::kAttributePciBus, device)));
    case 68:
      SHIM_DONE(convert(cu().cuDeviceGetAttribute(out, cuda::kAttributePciDevice, device)));
    case 69:
      SHIM_DONE(convert(cu().cuDeviceGetAttribute(out, cuda::kAttributePciDomain, device)));
    case 89:
      SHIM_DONE(convert(cu().cuDeviceGetAttribute(out, cuda::kAttributeVmm, device)));
    case 93:
      SHIM_DONE(convert(cu().cuDeviceGetAttribute(out, cuda::kAttributeDmaBuf, device)));
    case 10011:  // large BAR: the CPU does not reach device memory here
      *out = 0;
      return kSuccess;
    default:
      SHIM_DONE(kInvalidValue);
  }
}

SHIM_API HipError hipDeviceCanAccessPeer(int* out, int device, int peer) {
  if (const HipError code = start(); code != kSuccess) SHIM_DONE(code);
  if (out == nullptr) SHIM_DONE(kInvalidValue);
  if (device == peer) {
    *out = 0;
    return kSuccess;
  }
  SHIM_DONE(convert(cu().cuDeviceCanAccessPeer(out, device, peer)));
}

SHIM_API HipError hipDeviceSynchronize() {
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuCtxSynchronize()));
}

// The numbers of the three modes are the same.
SHIM_API HipError hipThreadExchangeStreamCaptureMode(int* mode) {
  if (mode == nullptr || *mode < kCaptureGlobal || *mode > kCaptureRelaxed) SHIM_DONE(kInvalidValue);
  SHIM_ENTER();
  SHIM_DONE(convert(cu().cuThreadExchangeStreamCaptureMode(mode)));
}

SHIM_API HipError hipGetLastError() { return take_last_error(); }
SHIM_API HipError hipPeekAtLastError() { return last_error(); }
