// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// GPU memory that the program made and keeps: descriptors of it for an export. Nothing of it is ever
// released, unmapped or closed here but what was opened here.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "providers/hip/classify.h"
#include "providers/hip/provider.h"

namespace hb::client::hip {

// foreign.cc: by handles; right on every version.
[[nodiscard]] Result<std::unique_ptr<Allocation>> adopt_handles(const AdoptRequest& request);
// foreign_pointer.cc: by address, where that is safe.
[[nodiscard]] Result<std::unique_ptr<Allocation>> adopt_pointer(const AdoptRequest& request);

// known_of() without running the probe.
[[nodiscard]] Known known_already(const Here& here, const Device& device);
// HB_NOT_SHAREABLE for kinds that are refused by name.
[[nodiscard]] Result<void> refuse_kind(const PointerFacts& facts);
// Whether an export of this allocation works, by making one that goes nowhere; remembered.
[[nodiscard]] Result<void> try_export(const Known& known, const PointerFacts& facts, const void* ptr);

// What all of it has in common: whole allocations side by side, a new descriptor for every sending, each
// checked against the size.
class ForeignAllocation : public Allocation {
 public:
  struct Piece {
    std::uint64_t bytes = 0;
    std::uint64_t object_bytes = 0;
  };
  ForeignAllocation(Known known, const void* first, std::vector<Piece> pieces);

  [[nodiscard]] void* ptr() const override { return const_cast<void*>(first_); }
  [[nodiscard]] std::uint64_t bytes() const override { return bytes_; }
  [[nodiscard]] std::uint64_t chunk_bytes() const override { return 0; }
  [[nodiscard]] std::size_t chunk_count() const override { return pieces_.size(); }
  [[nodiscard]] ChunkRef chunk(std::size_t index) const override {
    return {{}, 0, pieces_[index].bytes, pieces_[index].object_bytes, index};
  }
  [[nodiscard]] Result<UniqueFd> export_chunk(std::size_t index) const override;
  [[nodiscard]] std::uint32_t handle_kind() const override { return kind_.load(std::memory_order_relaxed); }
  [[nodiscard]] const DeviceId& device() const override { return known_.device.id; }
  [[nodiscard]] bool host_granted() const override { return false; }
  void forget_descriptors() noexcept override {}

 protected:
  [[nodiscard]] virtual Result<UniqueFd> make(std::size_t index, const std::string& doing) const = 0;
  [[nodiscard]] const Known& known() const { return known_; }

 private:
  Known known_;
  const void* first_;
  std::vector<Piece> pieces_;
  std::uint64_t bytes_ = 0;
  mutable std::atomic<std::uint32_t> kind_{0};
};

// Calls of the driver, inside a DriverScope of the memory's device. A refusal that is about this memory is
// HB_NOT_SHAREABLE.
[[nodiscard]] Result<UniqueFd> export_handle(const Context& context, MemHandle handle,
                                             const std::string& doing);
// A dma-buf of the whole buffer behind [base, base + bytes).
[[nodiscard]] Result<UniqueFd> export_address_range(const Context& context, const void* base,
                                                    std::uint64_t bytes, const std::string& doing);
[[nodiscard]] bool exports_address_ranges(const Context& context);
// The number becomes ours: at least 3 and close-on-exec.
[[nodiscard]] Result<UniqueFd> take_number(UniqueFd made, const std::string& doing);
// "created without a type"
[[nodiscard]] Error not_exportable(const std::string& doing, const std::string& why);

}  // namespace hb::client::hip
