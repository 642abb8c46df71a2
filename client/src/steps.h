// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Steps: a number that the owner of an export publishes and its holders acknowledge.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "client.h"
#include "hipbroker/hipbroker.h"
#include "looking.h"

struct hb_import;

struct hb_acks {
  hb::client::Texts texts;
  std::uint64_t acked = 0;
  std::vector<hb_held> missing;
  std::vector<hb_held> left;
  bool more_missing = false;
  bool more_left = false;
};

namespace hb::client {

[[nodiscard]] Result<void> publish_step(Client& client, ExportRecord& record, std::uint64_t step,
                                        std::uint64_t deadline_ns);
// The step that is published then.
[[nodiscard]] Result<std::uint64_t> wait_step(const hb_import& imported, std::uint64_t step,
                                              std::uint64_t deadline_ns);
[[nodiscard]] Result<void> ack_step(const hb_import& imported, std::uint64_t step);
[[nodiscard]] Result<std::unique_ptr<hb_acks>> wait_acks(Client& client, ExportRecord& record,
                                                         std::uint64_t step, std::uint64_t deadline_ns);

}  // namespace hb::client
