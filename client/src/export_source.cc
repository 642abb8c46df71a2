// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "export_source.h"

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "export_plan.h"
#include "exports.h"

namespace hb::client {
namespace {

struct Object {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

Object object_of(int number) {
  struct stat st {};
  if (::fstat(number, &st) != 0) return {};
  return {st.st_dev, st.st_ino};
}

Result<void> check_descriptors(const ExportSource& source) {
  std::unordered_map<int, Object> seen;
  for (const ExportSource::Descriptor& chunk : source.descriptors) {
    const auto [at, is_new] = seen.try_emplace(chunk.number);
    if (is_new) at->second = object_of(chunk.number);
    if (at->second.inode != 0 && at->second.device == chunk.device && at->second.inode == chunk.inode)
      continue;
    return fail(HB_BAD_HANDLE, "descriptor " + std::to_string(chunk.number) +
                                   (at->second.inode == 0 ? " was closed" : " is of another object by now") +
                                   " since it was exported; the library keeps none of its own");
  }
  return {};
}

// The part of it that lies in [low, high) of the export; of handles and descriptors those that lie in whole.
void add_part(const ExportSource& source, std::uint64_t low, std::uint64_t high, ExportSources& out) {
  low = std::max(low, source.offset);
  high = std::min(high, source.offset + source.bytes);
  if (low >= high) return;
  ExportSource part = source;
  part.offset = low;
  part.bytes = high - low;
  if (source.ptr != nullptr) part.ptr = static_cast<const char*>(source.ptr) + (low - source.offset);
  const auto keep = [&](auto& pieces) {
    std::uint64_t at = source.offset;
    std::erase_if(pieces, [&](const auto& piece) {
      const std::uint64_t begin = at;
      at += piece.bytes;
      return begin < low || at > high;
    });
  };
  keep(part.handles);
  keep(part.descriptors);
  out.push_back(std::move(part));
}

}  // namespace

ExportSource source_of(const ExportRequest& request, const ExportPlan& plan, std::uint64_t offset) {
  ExportSource source;
  source.offset = offset;
  source.bytes = plan.bytes;
  source.ptr = request.ptr;
  source.memory = request.memory;
  source.own = plan.memory;
  source.is_own = plan.memory != nullptr;
  source.device = request.device;
  source.handles.assign(request.handles.begin(), request.handles.end());
  std::unordered_map<int, Object> seen;
  source.descriptors.reserve(request.chunks.size());
  for (const hb_chunk& chunk : request.chunks) {
    const auto [at, is_new] = seen.try_emplace(chunk.fd);
    if (is_new) at->second = object_of(chunk.fd);
    source.descriptors.push_back({chunk.fd, at->second.device, at->second.inode, chunk.offset, chunk.bytes});
  }
  return source;
}

ExportSources without(const ExportSources& sources, std::uint64_t offset, std::uint64_t bytes) {
  ExportSources out;
  for (const ExportSource& source : sources) {
    add_part(source, 0, offset, out);
    add_part(source, offset + bytes, UINT64_MAX, out);
  }
  return out;
}

Result<ExportPlan> plan_again(const ExportSource& source) {
  ExportRequest request;
  request.ptr = source.ptr;
  request.bytes = source.bytes;
  request.memory = source.memory;
  request.handles = source.handles;
  request.device = source.ptr != nullptr ? DeviceId() : source.device;
  // Held while it is planned: another memory at its addresses would be exported in its place.
  const std::shared_ptr<Memory> own = source.own.lock();
  if (source.is_own && own == nullptr) return fail(HB_GONE, "its memory was freed");
  std::vector<hb_chunk> chunks;
  if (!source.descriptors.empty()) {
    if (auto same = check_descriptors(source); !same) return tl::unexpected(std::move(same.error()));
    for (const ExportSource::Descriptor& chunk : source.descriptors)
      chunks.push_back({chunk.number, chunk.offset, chunk.bytes});
    request.chunks = chunks;
  }
  auto plan = plan_export(request);
  if (!plan) return plan;
  if (!source.descriptors.empty() && plan->handle_kind == HB_KIND_DRIVER)
    return fail(HB_UNSUPPORTED,
                "its chunks are a driver's own descriptors, and nothing tells whether they are still what "
                "they were");
  return plan;
}

}  // namespace hb::client
