// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The table of what is tried. A new path of the library gets a line in one of these lists: its name, and what
// is done in two processes. A step passes by returning, fails by throwing Failed, and says by NotHere that
// this machine cannot show it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lab.h"

namespace hb::selftest {

struct Step {
  std::string name;
  std::function<void(Lab&)> run;
};

[[nodiscard]] std::vector<Step> host_steps();
// The runtime tried out in the helper process.
[[nodiscard]] std::vector<Step> probe_steps();
[[nodiscard]] std::vector<Step> gpu_steps();
// Memory that the library did not make, and what else a program asks of it.
[[nodiscard]] std::vector<Step> foreign_steps();
// One for each visible GPU.
[[nodiscard]] std::vector<Step> peer_steps(const Lab& lab);

// Of this run: other users of the daemon may have exports, too.
[[nodiscard]] std::string fresh_name();

// Shared by host and GPU: `kind` holds what "alloc" and "import" get besides.
struct Kind {
  Message alloc;
  Message import;
  std::uint64_t chunk_bytes;
};
void share_and_compare(Lab& lab, const Kind& kind, std::uint64_t chunks);
void import_a_part(Lab& lab, const Kind& kind);
void exporter_is_killed(Lab& lab, const Kind& kind);
void exporter_withdraws(Lab& lab, const Kind& kind);

}  // namespace hb::selftest
