// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "export_plan.h"

#include <fcntl.h>

#include <algorithm>
#include <unordered_map>

#include "fd_room.h"
#include "interval_map.h"
#include "wire/limits.h"

namespace hb::client {
namespace {

Result<void> plan_pointer(const ExportRequest& request, ExportPlan& plan) {
  const auto interval = IntervalMap::get().find(request.ptr);
  if (!interval)
    return fail(HB_NOT_SHAREABLE,
                "ptr is not in memory of hb_memory_alloc; export other memory by its descriptors (chunks)");
  if (interval->origin == Origin::kImported)
    return fail(HB_NOT_SHAREABLE,
                "ptr was imported from another process: forward the key instead, it is valid for others too");
  plan.memory = interval->memory.lock();
  if (plan.memory == nullptr) return fail(HB_NOT_SHAREABLE, "ptr lies in memory that is being freed");
  const Allocation& allocation = plan.memory->allocation();
  const std::uint64_t start = reinterpret_cast<std::uintptr_t>(request.ptr) - interval->start;
  if (request.bytes == 0) return fail(HB_INVALID, "bytes is 0; at least 1 byte is exported");
  if (request.bytes > interval->bytes - start)
    return fail(limit_error(HB_RANGE, "bytes", request.bytes, interval->bytes - start,
                            std::to_string(request.bytes) + " bytes asked for; the memory ends " +
                                std::to_string(interval->bytes - start) + " bytes after ptr"));
  const std::uint64_t end = start + request.bytes;
  const std::uint64_t step = allocation.chunk_bytes();
  for (std::uint64_t i = start / step; i * step < end; ++i) {
    ChunkRef chunk = allocation.chunk(i);
    const std::uint64_t low = std::max(start, i * step);
    const std::uint64_t high = std::min(end, i * step + chunk.bytes);
    chunk.offset += low - i * step;
    chunk.bytes = high - low;
    plan.chunks.push_back(chunk);
  }
  plan.bytes = request.bytes;
  plan.handle_kind = allocation.handle_kind();
  plan.device = allocation.device();
  for (const PeerGrant& peer : allocation.peers()) plan.peers.push_back(peer.device);
  return {};
}

Result<void> plan_descriptors(const ExportRequest& request, ExportPlan& plan) {
  if (request.chunks.empty()) return fail(HB_INVALID, "neither ptr nor chunks is given");
  plan.chunks.reserve(request.chunks.size());
  for (const hb_chunk& chunk : request.chunks) {
    const std::string name = "chunk " + std::to_string(plan.chunks.size());
    Error error;
    error.chunk = static_cast<std::int64_t>(plan.chunks.size());
    error.status = HB_INVALID;
    if (::fcntl(chunk.fd, F_GETFD) < 0) {
      error.status = HB_BAD_HANDLE;
      error.operation = "fcntl";
      error.sys_errno = errno;
      error.message = name + ": " + std::to_string(chunk.fd) + " is not an open descriptor";
      return fail(std::move(error));
    }
    if (chunk.bytes == 0) {
      error.message = name + " has 0 bytes";
      return fail(std::move(error));
    }
    if (chunk.bytes > limits::kExportBytes - plan.bytes || chunk.offset > UINT64_MAX - chunk.bytes) {
      error.status = HB_RANGE;
      error.what = "bytes";
      error.used = chunk.bytes;
      error.limit = limits::kExportBytes - plan.bytes;
      error.message = name + ": offset " + std::to_string(chunk.offset) + " and " +
                      std::to_string(chunk.bytes) + " bytes; an export holds at most " +
                      std::to_string(limits::kExportBytes) + " bytes";
      return fail(std::move(error));
    }
    plan.bytes += chunk.bytes;
    plan.chunks.push_back({BorrowedFd::of_caller(chunk.fd), chunk.offset, chunk.bytes, 0, 0});
  }
  // The daemon finds out for itself what they are; this only says what they are meant to be.
  plan.device = request.device;
  plan.handle_kind = ::fcntl(plan.chunks[0].fd.get(), F_GET_SEALS) >= 0 ? HB_KIND_MEMFD : HB_KIND_DMABUF;
  return {};
}

// Descriptors that are made for the sending: as many at once as this process has room for.
void split_made(ExportPlan& plan) {
  const std::size_t most = std::min<std::size_t>(fds_per_page(), limits::kFrameFds);
  for (std::size_t i = 0; i < plan.chunks.size(); ++i) {
    if (i % most == 0) plan.pages.emplace_back().first = i;
    ExportPage& page = plan.pages.back();
    page.handle_of.push_back(static_cast<std::uint32_t>(++page.count));
  }
  plan.handles = plan.chunks.size();
}

void split_pages(ExportPlan& plan) {
  if (plan.chunks[0].fd.get() < 0) return split_made(plan);
  std::unordered_map<int, std::uint32_t> seen;  // of the page being filled
  for (std::size_t i = 0; i < plan.chunks.size(); ++i) {
    const int fd = plan.chunks[i].fd.get();
    const bool full = plan.pages.empty() || plan.pages.back().count == limits::kPageChunks ||
                      (!seen.contains(fd) && seen.size() == limits::kFrameFds);
    if (full) {
      plan.pages.emplace_back().first = i;
      seen.clear();
    }
    ExportPage& page = plan.pages.back();
    const auto [at, is_new] = seen.emplace(fd, static_cast<std::uint32_t>(page.fds.size() + 1));
    if (is_new) {
      page.fds.push_back(fd);
      ++plan.handles;
    }
    page.handle_of.push_back(at->second);
    ++page.count;
  }
}

}  // namespace

Result<ExportPlan> plan_export(const ExportRequest& request) {
  ExportPlan plan;
  auto planned = request.ptr != nullptr ? plan_pointer(request, plan) : plan_descriptors(request, plan);
  if (!planned) return tl::unexpected(std::move(planned.error()));
  if (plan.chunks.size() > limits::kExportChunks)
    return fail(limit_error(HB_QUOTA, "chunks", plan.chunks.size(), limits::kExportChunks,
                            std::to_string(plan.chunks.size()) + " chunks; an export holds at most " +
                                std::to_string(limits::kExportChunks)));
  split_pages(plan);
  return plan;
}

}  // namespace hb::client
