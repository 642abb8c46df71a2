// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// GPU memory through HIP. The runtime is looked for, and tried out, when the first memory is asked for.
#pragma once

#include <string>

#include "providers/hip/access.h"
#include "providers/hip/probe.h"
#include "providers/provider.h"

namespace hb::client::hip {

class HipProvider final : public Provider {
 public:
  [[nodiscard]] Result<std::unique_ptr<Allocation>> allocate(const AllocateRequest& request) override;
  [[nodiscard]] Result<std::unique_ptr<ImportedRange>> begin_import(const RangeRequest& request) override;
  [[nodiscard]] Result<std::unique_ptr<Allocation>> adopt(const AdoptRequest& request) override;
  [[nodiscard]] Result<std::unique_ptr<BlockRange>> reserve(const AllocateRequest& request) override;
};

// This process's runtime and what it shows of GPUs.
struct Here {
  std::shared_ptr<const Runtime> runtime;
  DeviceTable devices;
};
// kLoaded: only a runtime that the process has already, else HB_NOT_FOUND.
enum class Which { kAny, kLoaded };
[[nodiscard]] Result<Here> here(Which which = Which::kAny);
// By identity, in what here() has read before: no driver call. -1: not visible, or not read.
[[nodiscard]] int ordinal_of(const DeviceId& id);

// What is known of this process's runtime and of sharing memory of one of its GPUs.
struct Known {
  ContextPtr context;
  Device device;
  ProbeReport report;
};
// By ordinal; AllocateRequest::kCurrentDevice is the calling thread's. Runs the probe where nothing is known.
[[nodiscard]] Result<Known> known_of(int ordinal);
[[nodiscard]] Known known_of(const Here& here, const Device& device);
[[nodiscard]] Known known_by(const Here& here, const Device& device, ProbeReport report);

// Where memory of this process is to be made, and who reaches it: checked, nothing made yet.
struct Placed {
  Known known;
  Access access;
};
[[nodiscard]] Result<Placed> place(const AllocateRequest& request);

}  // namespace hb::client::hip
