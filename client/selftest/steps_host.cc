// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "steps.h"

namespace hb::selftest {

std::vector<Step> host_steps() {
  static const Kind kind{{}, {}, std::uint64_t{1} << 20};
  return {
      {"host/one-chunk", [](Lab& lab) { share_and_compare(lab, kind, 1); }},
      {"host/three-chunks", [](Lab& lab) { share_and_compare(lab, kind, 3); }},
      {"host/part", [](Lab& lab) { import_a_part(lab, kind); }},
      {"host/exporter-killed", [](Lab& lab) { exporter_is_killed(lab, kind); }},
      {"host/withdraw", [](Lab& lab) { exporter_withdraws(lab, kind); }},
  };
}

}  // namespace hb::selftest
