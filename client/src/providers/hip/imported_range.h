// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// GPU memory of another process, taking shape in this one.
#pragma once

#include <memory>

#include "providers/hip/vmm.h"
#include "providers/provider.h"

namespace hb::client::hip {

[[nodiscard]] Result<std::unique_ptr<ImportedRange>> begin_import_of(const ContextPtr& context,
                                                                     const ImportSpec& spec,
                                                                     const RangeRequest& request);

}  // namespace hb::client::hip
