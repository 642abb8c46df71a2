// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/harness/answer_rounds.h"
#include "bench/product/cases.h"

namespace hb::bench {

void run_acquire(const Rig& rig, FindBy by) {
  const Exporter exporter(rig, {});
  const Client client = open_client(rig);
  hb_import_options options = HB_IMPORT_OPTIONS_INIT;
  if (by == FindBy::kKey) options.key = exporter.keys().data();
  if (by == FindBy::kName) options.name = exporter.name(0).c_str();
  options.access = HB_ACCESS_READ_WRITE;
  pin_to_cpu(client_cpu(rig.placement));
  answer_rounds([&](int samples) {
    return time_steps(samples, [&] {
      hb_import* imported = nullptr;
      hb_error error = HB_ERROR_INIT;
      require(hb_import_open(client.get(), &options, &imported, &error), error, "hb_import_open");
      hb_import_close(imported);
    });
  });
}

void run_handles(const Rig& rig, std::size_t chunks) {
  const Exporter exporter(rig, {.chunks = chunks});
  const Client client = open_client(rig);
  hb_import_options options = HB_IMPORT_OPTIONS_INIT;
  options.key = exporter.keys().data();
  options.access = HB_ACCESS_READ_WRITE;
  pin_to_cpu(client_cpu(rig.placement));
  answer_rounds([&](int samples) {
    return time_steps(samples, [&] {
      hb_handles* handles = nullptr;
      hb_error error = HB_ERROR_INIT;
      require(hb_handles_acquire(client.get(), &options, &handles, &error), error, "hb_handles_acquire");
      hb_handles_release(handles);
    });
  });
}

}  // namespace hb::bench
