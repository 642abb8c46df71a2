// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/product/rig.h"

#include <unistd.h>

#include "bench/floor/channel.h"
#include "bench/harness/check.h"

namespace hb::bench {
namespace {

void create_exports(const Rig& rig, const ExportPlan& plan, const std::vector<std::string>& names,
                    int keys_out) {
  const Client client = open_client(rig);
  UniqueFd shared;
  if (plan.share_memory) shared = make_memory(plan.exports * plan.chunks * plan.chunk_bytes);
  std::vector<UniqueFd> own;
  for (std::size_t i = 0; i < plan.exports; ++i) {
    std::vector<hb_chunk> chunks(plan.chunks);
    for (std::size_t k = 0; k < plan.chunks; ++k) {
      chunks[k].bytes = plan.chunk_bytes;
      if (plan.share_memory) {
        chunks[k].fd = shared.get();
        chunks[k].offset = (i * plan.chunks + k) * plan.chunk_bytes;
      } else {
        own.push_back(make_memory(plan.chunk_bytes));
        chunks[k].fd = own.back().get();
        chunks[k].offset = 0;
      }
    }
    hb_export_options options = HB_EXPORT_OPTIONS_INIT;
    options.name = names[i].c_str();
    options.chunks = chunks.data();
    options.chunk_count = chunks.size();
    hb_export* exported = nullptr;
    hb_error error = HB_ERROR_INIT;
    require(hb_export_create(client.get(), &options, &exported, &error), error, "hb_export_create");
    hb_export_info info = HB_EXPORT_INFO_INIT;
    hb_export_get_info(exported, &info);
    HB_BENCH_CHECK(::write(keys_out, &info.key, sizeof info.key) == sizeof info.key);
    hb_export_destroy(exported);  // the export lives on with its session
  }
  for (;;) ::pause();
}

}  // namespace

void require(hb_status status, const hb_error& error, const char* what) {
  errno = 0;
  if (status != HB_OK) die("%s: %s: %s", what, hb_status_name(status), error.message);
}

Client open_client(const Rig& rig) {
  hb_client_options options = HB_CLIENT_OPTIONS_INIT;
  options.socket = rig.socket.c_str();
  hb_client* client = nullptr;
  hb_error error = HB_ERROR_INIT;
  require(hb_client_open(&options, &client, &error), error, "hb_client_open");
  return Client(client);
}

Exporter::Exporter(const Rig& rig, const ExportPlan& plan) {
  for (std::size_t i = 0; i < plan.exports; ++i) {
    names_.push_back("bench/" + std::to_string(::getpid()) + "/" + std::to_string(i));
  }
  int pair[2];
  HB_BENCH_CHECK(::pipe2(pair, O_CLOEXEC) == 0);
  const UniqueFd keys_in(pair[0]);
  UniqueFd keys_out(pair[1]);
  child_ = Child::fork_and_run([&] { create_exports(rig, plan, names_, keys_out.get()); });
  keys_out.reset();
  keys_.resize(plan.exports);
  auto* next = reinterpret_cast<char*>(keys_.data());
  for (std::size_t left = keys_.size() * sizeof(hb_key); left > 0;) {
    const ssize_t received = ::read(keys_in.get(), next, left);
    errno = 0;
    if (received <= 0) die("the exporting process has ended");
    next += received;
    left -= static_cast<std::size_t>(received);
  }
}

}  // namespace hb::bench
