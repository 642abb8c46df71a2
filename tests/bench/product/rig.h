// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What every product case needs: the daemon's address, a client, and another process that exports.
#pragma once

#include <hipbroker/hipbroker.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/child.h"
#include "bench/harness/placement.h"
#include "wire/unique_fd.h"

namespace hb::bench {

struct Rig {
  std::string socket;
  pid_t server = -1;
  Placement placement = Placement::kSame;
};

// Dies with the library's own sentence.
void require(hb_status status, const hb_error& error, const char* what);

struct CloseClient {
  void operator()(hb_client* client) const { hb_client_close(client); }
};
using Client = std::unique_ptr<hb_client, CloseClient>;
[[nodiscard]] Client open_client(const Rig& rig);

struct ExportPlan {
  std::size_t exports = 1;
  std::size_t chunks = 1;                // of each export
  std::uint64_t chunk_bytes = 2u << 20;  // every chunk of an export is an allocation of its own,
  bool share_memory = false;             // or all exports are ranges of one allocation
};

// A process that exports and then sleeps. To be made before this process opens a client of its own.
class Exporter {
 public:
  Exporter(const Rig& rig, const ExportPlan& plan);
  [[nodiscard]] const std::vector<hb_key>& keys() const { return keys_; }
  [[nodiscard]] const std::string& name(std::size_t index) const { return names_[index]; }

 private:
  Child child_;
  std::vector<hb_key> keys_;
  std::vector<std::string> names_;
};

}  // namespace hb::bench
