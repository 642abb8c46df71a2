// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/floor/channel.h"
#include "bench/harness/answer_rounds.h"
#include "bench/product/cases.h"

namespace hb::bench {

void run_register(const Rig& rig) {
  const Client client = open_client(rig);
  const UniqueFd memory = make_memory(kMappedBytes);
  const hb_chunk chunk{memory.get(), 0, kMappedBytes};
  hb_export_options options = HB_EXPORT_OPTIONS_INIT;
  options.chunks = &chunk;
  options.chunk_count = 1;
  hb_export* exported = nullptr;
  const auto create = [&] {
    hb_error error = HB_ERROR_INIT;
    require(hb_export_create(client.get(), &options, &exported, &error), error, "hb_export_create");
  };
  const auto withdraw = [&] {
    hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
    hb_error error = HB_ERROR_INIT;
    require(hb_export_withdraw(exported, HB_NO_DEADLINE, &withdrawn, &error), error, "hb_export_withdraw");
    hb_export_destroy(exported);
  };
  pin_to_cpu(client_cpu(rig.placement));
  answer_rounds([&](int samples) { return time_steps(samples, create, withdraw); });
}

}  // namespace hb::bench
