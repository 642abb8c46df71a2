// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One look at the GPUs of this node and at what this process's runtime makes of them: for a person, so what
// does not work is part of the answer.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "error.h"
#include "providers/hip/device.h"
#include "providers/hip/issues.h"
#include "providers/hip/peers.h"
#include "providers/hip/probe.h"
#include "providers/hip/runtime.h"

namespace hb::client::hip {

class Look {
 public:
  Look();

  // What is wrong with the runtime or its GPUs; nullptr: nothing.
  [[nodiscard]] const Error* refusal() const { return refusal_ ? &*refusal_ : nullptr; }
  // nullptr: none that can be used.
  [[nodiscard]] const Runtime* runtime() const { return runtime_.get(); }
  // Of a refused one, too: path empty and version 0 where none was read.
  [[nodiscard]] const Runtime::Seen& seen() const { return seen_; }
  [[nodiscard]] const std::string& kernel() const { return kernel_; }
  [[nodiscard]] const std::string& amdgpu() const { return amdgpu_; }  // empty: not loaded
  [[nodiscard]] const std::string& variables() const { return variables_; }
  // Those the runtime shows, then those only the kernel has (ordinal -1).
  [[nodiscard]] const std::vector<Device>& devices() const { return devices_; }

  // Tries the runtime out on one device; `again`: whatever is remembered.
  [[nodiscard]] Result<ProbeReport> probe(int ordinal, bool again);
  // With what every probe() so far has shown.
  [[nodiscard]] std::vector<Issue> issues() const;
  // Every other GPU against memory of this one.
  [[nodiscard]] Result<std::vector<Pair>> peers(int owner) const;

 private:
  [[nodiscard]] Result<const Device*> at(int ordinal) const;

  std::shared_ptr<const Runtime> runtime_;
  std::unique_ptr<DeviceTable> table_;
  std::optional<Error> refusal_;
  Runtime::Seen seen_;
  std::string root_;
  std::string kernel_;
  std::string amdgpu_;
  std::string variables_;
  std::vector<Device> devices_;
  std::map<int, Findings> findings_;
};

}  // namespace hb::client::hip
