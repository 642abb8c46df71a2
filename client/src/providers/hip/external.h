// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hipImportExternalMemory: one dma-buf for one device, where a runtime cannot import the other way. Only ever
// on request.
#pragma once

#include <memory>

#include "error.h"
#include "providers/hip/device.h"
#include "providers/hip/quirks.h"
#include "providers/hip/runtime.h"
#include "providers/provider.h"

namespace hb::client::hip {

// Whether memory of this handle kind may be tried this way, a chunk at a time.
[[nodiscard]] bool external_is_possible(const Runtime& runtime, std::uint32_t handle_kind);

// The range maps its one chunk for the device that is the thread's current one then.
[[nodiscard]] Result<std::unique_ptr<ImportedRange>> begin_external(
    const std::shared_ptr<const Runtime>& runtime, const Quirks& quirks, const DeviceTable& devices,
    const RangeRequest& request);

}  // namespace hb::client::hip
