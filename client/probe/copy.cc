// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "probe/copy.h"

#include "providers/hip/driver.h"

namespace hb::probe {

using namespace client::hip;  // NOLINT: this file is about nothing else

client::Result<void> copy(const HipTable& hip, int device, void* to, const void* from, std::size_t bytes,
                          CopyKind kind) {
  const std::string doing = "copying " + std::to_string(bytes) + " bytes";
  constexpr unsigned kNonBlocking = 1;
  if (hip.hipStreamCreateWithFlags == nullptr || hip.hipMemcpyAsync == nullptr ||
      hip.hipStreamSynchronize == nullptr || hip.hipStreamDestroy == nullptr)
    return client::fail(HB_UNSUPPORTED, doing + ": the runtime has no hipMemcpyAsync");
  Stream stream = nullptr;
  const DriverScope scope(hip, device);
  if (const HipError code = hip.hipStreamCreateWithFlags(&stream, kNonBlocking); code != kSuccess)
    return client::fail(driver_error(hip, "hipStreamCreateWithFlags", code, doing, HB_SYSTEM));
  HipError code = hip.hipMemcpyAsync(to, from, bytes, kind, stream);
  const char* call = "hipMemcpyAsync";
  if (code == kSuccess) {
    call = "hipStreamSynchronize";
    code = hip.hipStreamSynchronize(stream);
  }
  static_cast<void>(hip.hipStreamDestroy(stream));
  if (code != kSuccess) return client::fail(driver_error(hip, call, code, doing, HB_SYSTEM));
  return {};
}

}  // namespace hb::probe
