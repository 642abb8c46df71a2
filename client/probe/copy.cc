// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "probe/copy.h"

#include "providers/hip/driver.h"

namespace hb::probe {

using namespace client::hip;  // NOLINT: this file is about nothing else

std::string copy(const HipTable& hip, int device, void* to, const void* from, std::size_t bytes,
                 CopyKind kind) {
  constexpr unsigned kNonBlocking = 1;
  if (hip.hipStreamCreateWithFlags == nullptr || hip.hipMemcpyAsync == nullptr ||
      hip.hipStreamSynchronize == nullptr || hip.hipStreamDestroy == nullptr)
    return "the runtime has no hipMemcpyAsync";
  Stream stream = nullptr;
  const DriverScope scope(hip, device);
  if (const HipError code = hip.hipStreamCreateWithFlags(&stream, kNonBlocking); code != kSuccess)
    return "hipStreamCreateWithFlags: " + error_text(hip, code);
  HipError code = hip.hipMemcpyAsync(to, from, bytes, kind, stream);
  if (code == kSuccess) code = hip.hipStreamSynchronize(stream);
  static_cast<void>(hip.hipStreamDestroy(stream));
  return code == kSuccess ? "" : "hipMemcpyAsync: " + error_text(hip, code);
}

}  // namespace hb::probe
