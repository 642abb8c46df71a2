// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include "core/core.h"
#include "core/recorder.h"

namespace hb::core {

struct Broker::State {
  explicit State(const BrokerConfig& config) : core(config) {
    if (config.records) recorder.watch(core);
  }
  Core core;
  Recorder recorder;
};

}  // namespace hb::core
