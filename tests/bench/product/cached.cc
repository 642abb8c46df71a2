// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <random>

#include "bench/harness/answer_rounds.h"
#include "bench/product/cases.h"

namespace hb::bench {

void run_cached(const Rig& rig, std::size_t entries) {
  constexpr std::size_t kHits = 1000;
  const Exporter exporter(rig, {.exports = entries, .chunk_bytes = 4096, .share_memory = true});
  const Client client = open_client(rig);
  hb_import_options options = HB_IMPORT_OPTIONS_INIT;
  options.access = HB_ACCESS_READ_WRITE;
  const auto open = [&](const hb_key& key) {
    options.key = &key;
    hb_import* imported = nullptr;
    hb_error error = HB_ERROR_INIT;
    require(hb_import_open(client.get(), &options, &imported, &error), error, "hb_import_open");
    return imported;
  };
  std::vector<hb_import*> held;
  for (const hb_key& key : exporter.keys()) held.push_back(open(key));
  // Picked beforehand: the figure is that of a hit, not of a random number.
  std::vector<std::size_t> picks(kHits);
  std::minstd_rand random(777);
  for (std::size_t& pick : picks) pick = random() % entries;
  pin_to_cpu(client_cpu(rig.placement));
  answer_rounds([&](int samples) {
    return time_steps(samples, [&] {
      for (const std::size_t pick : picks) {
        options.key = &exporter.keys()[pick];
        hb_import* imported = nullptr;
        if (const hb_status status = hb_import_open(client.get(), &options, &imported, nullptr);
            status != HB_OK) {
          require(status, HB_ERROR_INIT, "hb_import_open of what is imported already");
        }
        hb_import_close(imported);
      }
    });
  });
  for (hb_import* imported : held) hb_import_close(imported);
}

}  // namespace hb::bench
