// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "abi.h"

namespace hb::fakehip {
namespace {

struct Name {
  HipError code;
  const char* name;
  const char* text;
};

constexpr Name kNames[] = {
    {kSuccess, "hipSuccess", "no error"},
    {kInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {kOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {kNotInitialized, "hipErrorNotInitialized", "initialization error"},
    {kInvalidDevicePointer, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {kInvalidMemcpyDirection, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {kNoDevice, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {kInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {kInvalidContext, "hipErrorInvalidContext", "invalid device context"},
    {kInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {kNotFound, "hipErrorNotFound", "named symbol not found"},
    {kNotReady, "hipErrorNotReady", "device not ready"},
    {kIllegalAddress, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {kPeerAccessAlreadyEnabled, "hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {kPeerAccessNotEnabled, "hipErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {kHostMemoryAlreadyRegistered, "hipErrorHostMemoryAlreadyRegistered", "memory is already registered"},
    {kHostMemoryNotRegistered, "hipErrorHostMemoryNotRegistered", "memory is not registered"},
    {kLaunchFailure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {kNotSupported, "hipErrorNotSupported", "operation not supported"},
    {kStreamCaptureUnsupported, "hipErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {kCapturedEvent, "hipErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {kStreamCaptureInvalidated, "hipErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
};

constexpr Name kOther = {kUnknown, "hipErrorUnknown", "unknown error"};

const Name& find(HipError code) {
  for (const Name& name : kNames)
    if (name.code == code) return name;
  return kOther;
}

}  // namespace
}  // namespace hb::fakehip

FAKE_API const char* hipGetErrorName(hb::fakehip::HipError code) { return hb::fakehip::find(code).name; }
FAKE_API const char* hipGetErrorString(hb::fakehip::HipError code) { return hb::fakehip::find(code).text; }
