// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <algorithm>
#include <fstream>

#include "bench/floor/channel.h"
#include "bench/harness/answer_rounds.h"
#include "bench/harness/check.h"
#include "bench/product/cases.h"

namespace hb::bench {
namespace {

constexpr std::size_t kNameBytes = 40;  // goals.cc counts with the same two
constexpr std::size_t kMetadataBytes = 220;
constexpr std::size_t kRangeBytes = 4096;

// Resident anonymous memory: heap and stacks, not the program's file nor pages shared with sessions.
std::uint64_t anonymous_bytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/smaps_rollup");
  for (std::string word; file >> word;) {
    std::uint64_t kib = 0;
    if (word == "Anonymous:" && file >> kib) return kib * 1024;
  }
  die("no Anonymous: in smaps_rollup of process %d", static_cast<int>(process));
}

std::string name_of(std::size_t index) {
  std::string name = "bench/memory/" + std::to_string(index);
  name.resize(kNameBytes, 'x');
  return name;
}

}  // namespace

void run_memory(const Rig& rig, const std::vector<std::size_t>& counts) {
  const Client client = open_client(rig);
  // The first tenth is not counted: it pays for what the daemon sets up once.
  const std::size_t base = counts.front() / 10;
  const UniqueFd memory = make_memory((counts.back() + base) * kRangeBytes);
  const std::string metadata(kMetadataBytes, 'm');
  std::size_t existing = 0;
  const auto grow_to = [&](std::size_t count) {
    for (; existing < count; ++existing) {
      const std::string name = name_of(existing);
      const hb_chunk chunk{memory.get(), existing * kRangeBytes, kRangeBytes};
      hb_export_options options = HB_EXPORT_OPTIONS_INIT;
      options.name = name.c_str();
      options.metadata = metadata.data();
      options.metadata_bytes = metadata.size();
      options.chunks = &chunk;
      options.chunk_count = 1;
      hb_export* exported = nullptr;
      hb_error error = HB_ERROR_INIT;
      require(hb_export_create(client.get(), &options, &exported, &error), error, "hb_export_create");
      hb_export_destroy(exported);
    }
  };
  answer_rounds([&](int) {
    RoundAnswer answer;
    grow_to(base);
    const std::uint64_t before = anonymous_bytes(rig.server);
    for (const std::size_t count : counts) {
      grow_to(base + count);
      const std::uint64_t bytes = anonymous_bytes(rig.server) - before;
      answer.metrics.emplace_back("bytes_" + std::to_string(count),
                                  static_cast<double>(bytes) / static_cast<double>(count));
    }
    return answer;
  });
}

}  // namespace hb::bench
