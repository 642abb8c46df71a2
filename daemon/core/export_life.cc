// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/export_life.h"

#include "wire/limits.h"

namespace hb::core {

void ChangeLog::add(std::uint64_t version, ChunkRun chunks) {
  entries_.push_back({version, chunks});
  if (entries_.size() <= limits::kChangesRemembered) return;
  forgotten_ = entries_.front().version;
  entries_.pop_front();
}

std::vector<ChunkRun> ChangeLog::since(std::uint64_t version, std::uint64_t count) const {
  if (count == 0) return {};
  if (version < forgotten_) return {{0, count}};
  std::vector<ChunkRun> runs;
  for (const Entry& entry : entries_)
    if (entry.version > version && entry.chunks.first < count)
      runs.push_back({entry.chunks.first, std::min(entry.chunks.count, count - entry.chunks.first)});
  std::sort(runs.begin(), runs.end(), [](const ChunkRun& a, const ChunkRun& b) { return a.first < b.first; });
  std::vector<ChunkRun> out;
  for (const ChunkRun& run : runs) {
    if (out.empty() || run.first > out.back().first + out.back().count) {
      out.push_back(run);
    } else {
      const std::uint64_t end = std::max(out.back().first + out.back().count, run.first + run.count);
      out.back().count = end - out.back().first;
    }
  }
  return out;
}

bool ChangeLog::touched_since(std::uint64_t version, ChunkRun range) const {
  if (version < forgotten_) return true;
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.version > version && entry.chunks.first < range.first + range.count &&
           range.first < entry.chunks.first + entry.chunks.count;
  });
}

}  // namespace hb::core
