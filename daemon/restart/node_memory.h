// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One page that outlives the process: who this broker is. Written once; besides that a count of starts and a
// few bytes of the caller's that may change at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "os/memory_region.h"
#include "wire/key.h"

namespace hb::restart {

struct NodeIdentity {
  BrokerId broker{};
  Secret master{};
  bool operator==(const NodeIdentity&) const = default;
};

class NodeMemory {
 public:
  static constexpr std::size_t kBytes = 4096;
  static constexpr std::size_t kKeptBytes = 512;
  static constexpr std::uint32_t kFormat = 1;
  enum class Origin : std::uint8_t {
    kMade,     // the memory was empty
    kAdopted,  // it holds the identity of an earlier start
    kBroken,   // it held something else, see why(); made anew
  };

  // Takes the identity that is there, else writes `fresh`. The epoch rises by one. The region has kBytes at
  // least (else the error of MemoryRegion::adopt came first; a smaller one is refused here too).
  [[nodiscard]] static tl::expected<NodeMemory, std::string> open(os::MemoryRegion region,
                                                                  const NodeIdentity& fresh);

  NodeMemory() = default;

  [[nodiscard]] const NodeIdentity& identity() const { return identity_; }
  [[nodiscard]] Origin origin() const { return origin_; }
  [[nodiscard]] const std::string& why() const { return why_; }
  // How often this memory was opened: 1 when it was made.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

  // At most kKeptBytes, else false and nothing changes. Whenever the process ends, kept() of the next is
  // these bytes or those before. Makes no system call.
  [[nodiscard]] bool keep(std::span<const std::byte> bytes);
  [[nodiscard]] std::span<const std::byte> kept() const { return kept_; }  // empty until something was kept

  [[nodiscard]] BorrowedFd descriptor() const { return region_.descriptor(); }
  [[nodiscard]] std::span<const std::byte> memory() const { return region_.bytes(); }

  // For tests: called between every two stores to the memory.
  void set_step(std::function<void()> called) { step_ = std::move(called); }

 private:
  void make_anew(const NodeIdentity& fresh);
  // Why there is no identity; empty where there is one, which is then in identity_.
  [[nodiscard]] std::string read_identity();
  void read_kept();
  void step() const {
    if (step_) step_();
  }

  os::MemoryRegion region_;
  NodeIdentity identity_;
  Origin origin_ = Origin::kMade;
  std::string why_;
  std::uint64_t epoch_ = 0;
  std::uint64_t sequence_ = 0;  // of what is kept
  std::vector<std::byte> kept_;
  std::function<void()> step_;
};

}  // namespace hb::restart
