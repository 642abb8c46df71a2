// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "export_plan.h"

#include <fcntl.h>

#include <algorithm>
#include <unordered_map>

#include "fd_room.h"
#include "handle_kind.h"
#include "interval_map.h"
#include "wire/limits.h"

namespace hb::client {
namespace {

Error imported_error(const std::string& what) {
  Error error;
  error.status = HB_NOT_SHAREABLE;
  error.message =
      what +
      " was imported from another process: forward the key instead, it is valid for others too; or "
      "let the owner export it for the new reader, or copy it into memory of your own";
  return error;
}

// The chunks that [start, start + bytes) touches, the first and the last cut to it.
void cut_chunks(const Allocation& allocation, std::uint64_t start, std::uint64_t bytes, ExportPlan& plan) {
  const std::uint64_t end = start + bytes;
  const std::uint64_t step = allocation.chunk_bytes();
  std::size_t i = step == 0 ? 0 : static_cast<std::size_t>(start / step);
  std::uint64_t at = i * step;
  for (; at < end && i < allocation.chunk_count(); ++i) {
    ChunkRef chunk = allocation.chunk(i);
    const std::uint64_t next = at + chunk.bytes;
    const std::uint64_t low = std::max(start, at);
    const std::uint64_t high = std::min(end, next);
    if (low < high) {
      chunk.offset += low - at;
      chunk.bytes = high - low;
      plan.chunks.push_back(chunk);
    }
    at = next;
  }
  plan.bytes = bytes;
  plan.handle_kind = allocation.handle_kind();
  plan.device = allocation.device();
  for (const PeerGrant& peer : allocation.peers()) plan.peers.push_back(peer.device);
}

Error beyond_error(const ExportRequest& request, std::uint64_t left) {
  return limit_error(HB_RANGE, "bytes", request.bytes, left,
                     std::to_string(request.bytes) + " bytes asked for; the memory ends " +
                         std::to_string(left) + " bytes after ptr");
}

Result<void> plan_foreign(const ExportRequest& request, ExportPlan& plan) {
  // Whatever the driver would say of it: what lies further on may be an import.
  if (const auto other = IntervalMap::get().find_in(request.ptr, request.bytes)) {
    if (other->origin == Origin::kImported) return fail(imported_error("memory in this range"));
    return fail(beyond_error(request, other->start - reinterpret_cast<std::uintptr_t>(request.ptr)));
  }
  AdoptRequest adopt;
  adopt.ptr = request.ptr;
  adopt.bytes = request.bytes;
  adopt.claim = request.memory;
  auto adopted = provider(HB_PROVIDER_HIP)->adopt(adopt);
  if (!adopted) return tl::unexpected(std::move(adopted.error()));
  plan.source = std::move(*adopted);
  const auto start = static_cast<std::uint64_t>(static_cast<const char*>(request.ptr) -
                                                static_cast<const char*>(plan.source->ptr()));
  if (request.bytes > plan.source->bytes() - start)
    return fail(beyond_error(request, plan.source->bytes() - start));
  cut_chunks(*plan.source, start, request.bytes, plan);
  return {};
}

Result<void> plan_pointer(const ExportRequest& request, ExportPlan& plan) {
  if (request.bytes == 0) return fail(HB_INVALID, "bytes is 0; at least 1 byte is exported");
  const auto interval = IntervalMap::get().find(request.ptr);
  if (!interval) return plan_foreign(request, plan);
  if (interval->origin == Origin::kImported) return fail(imported_error("ptr"));
  plan.memory = interval->memory.lock();
  if (plan.memory == nullptr) return fail(HB_NOT_SHAREABLE, "ptr lies in memory that is being freed");
  plan.source = {plan.memory, &plan.memory->allocation()};
  if (plan.memory->is_asleep())
    return fail(HB_SUSPENDED, "this memory is asleep: hb_memory_wake it before it is exported");
  const std::uint64_t start = reinterpret_cast<std::uintptr_t>(request.ptr) - interval->start;
  // What is there now, without the addresses that are held for growth.
  const std::uint64_t bytes = plan.memory->allocation().bytes();
  const std::uint64_t left = start < bytes ? bytes - start : 0;
  if (request.bytes > left) return fail(beyond_error(request, left));
  cut_chunks(*plan.source, start, request.bytes, plan);
  return {};
}

Result<void> plan_handles(const ExportRequest& request, ExportPlan& plan) {
  std::vector<ForeignHandle> handles;
  handles.reserve(request.handles.size());
  for (const hb_hip_handle& handle : request.handles) {
    const auto refuse = [&](Error error) {
      error.chunk = static_cast<std::int64_t>(handles.size());
      return fail(std::move(error));
    };
    const std::string name = "chunk " + std::to_string(handles.size());
    if (handle.bytes == 0) return refuse(fail(HB_INVALID, name + " has 0 bytes").value());
    if (handle.bytes > limits::kExportBytes - plan.bytes)
      return refuse(limit_error(HB_RANGE, "bytes", handle.bytes, limits::kExportBytes - plan.bytes,
                                name + " has " + std::to_string(handle.bytes) +
                                    " bytes; an export holds at most " +
                                    std::to_string(limits::kExportBytes)));
    if (handle.base != nullptr) {
      const auto interval = IntervalMap::get().find_in(handle.base, handle.bytes);
      if (interval && interval->origin == Origin::kImported) return refuse(imported_error(name));
      if (interval)
        return refuse(
            fail(HB_INVALID, name + " lies in memory of hb_memory_alloc: export it by ptr").value());
    }
    handles.push_back({handle.handle, handle.bytes, handle.base});
    plan.bytes += handle.bytes;
  }
  AdoptRequest adopt;
  adopt.handles = handles;
  adopt.device = request.device;
  auto adopted = provider(HB_PROVIDER_HIP)->adopt(adopt);
  if (!adopted) return tl::unexpected(std::move(adopted.error()));
  plan.source = std::move(*adopted);
  cut_chunks(*plan.source, 0, plan.bytes, plan);
  return {};
}

Result<void> plan_descriptors(const ExportRequest& request, ExportPlan& plan) {
  if (request.chunks.empty()) return fail(HB_INVALID, "none of ptr, chunks and handles is given");
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
  plan.handle_kind = kind_of(plan.chunks[0].fd);
  // Nobody can ask a driver's own how large its memory is: it is taken to end where the chunk does.
  if (plan.handle_kind == HB_KIND_DRIVER)
    for (ChunkRef& chunk : plan.chunks) chunk.object_bytes = chunk.offset + chunk.bytes;
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
  auto planned = request.ptr != nullptr    ? plan_pointer(request, plan)
                 : request.handles.empty() ? plan_descriptors(request, plan)
                                           : plan_handles(request, plan);
  if (!planned) return tl::unexpected(std::move(planned.error()));
  if (plan.chunks.size() > limits::kExportChunks)
    return fail(limit_error(HB_QUOTA, "chunks", plan.chunks.size(), limits::kExportChunks,
                            std::to_string(plan.chunks.size()) + " chunks; an export holds at most " +
                                std::to_string(limits::kExportChunks)));
  split_pages(plan);
  return plan;
}

}  // namespace hb::client
