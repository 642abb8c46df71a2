// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/host.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "hipbroker/hipbroker.h"
#include "providers/host_pages.h"
#include "wire/limits.h"

namespace hb::client {
namespace {

std::atomic<std::uint64_t> g_teardown_failures{0};

std::uint64_t max_map_count() {
  unsigned long long count = 0;
  if (std::FILE* file = std::fopen("/proc/sys/vm/max_map_count", "re")) {
    if (std::fscanf(file, "%llu", &count) != 1) count = 0;
    std::fclose(file);
  }
  return count;
}

}  // namespace

std::uint64_t host_teardown_failures() { return g_teardown_failures.load(std::memory_order_relaxed); }

void note_host_teardown_failure() { g_teardown_failures.fetch_add(1, std::memory_order_relaxed); }

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

Error map_error(const SysError& cause, const std::string& doing, std::int64_t chunk) {
  Error error = system_error(cause, doing, cause.code == ENOMEM ? HB_NO_MEMORY : HB_SYSTEM);
  error.chunk = chunk;
  if (cause.code == ENOMEM) {
    error.what = "vm.max_map_count";
    error.limit = max_map_count();
    error.message += "; every chunk is a mapping of its own and vm.max_map_count is " +
                     std::to_string(error.limit) + ": raise it or use larger chunks";
  }
  return error;
}

char* hold_addresses(std::uint64_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
}

void hold_only(char* at, std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  // In one step: between an munmap() and an mmap() another thread could get the addresses.
  if (::mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
      MAP_FAILED)
    g_teardown_failures.fetch_add(1, std::memory_order_relaxed);
}

Result<std::unique_ptr<Allocation>> HostProvider::allocate(const AllocateRequest& request) {
  if (!request.device_id.empty() || request.peers != DeviceSet())
    return fail(HB_INVALID, "device and peers are for HB_PROVIDER_HIP; host memory is on no GPU");
  if (request.bytes == 0) return fail(HB_INVALID, "bytes is 0; at least 1 byte is allocated");
  if (request.sealed && request.dmabuf)
    return fail(
        HB_INVALID,
        "sealed and dmabuf are both given; the kernel makes no dma-buf of memory that is sealed against "
        "writing");
  if (request.bytes > limits::kExportBytes)
    return fail(limit_error(HB_RANGE, "bytes", request.bytes, limits::kExportBytes,
                            std::to_string(request.bytes) + " bytes asked for; an export holds at most " +
                                std::to_string(limits::kExportBytes)));
  if (request.chunk_bytes % page_bytes() != 0)
    return fail(HB_INVALID, "chunk_bytes is " + std::to_string(request.chunk_bytes) +
                                ", not a multiple of the page size " + std::to_string(page_bytes()));
  if (request.reserve_bytes > limits::kExportBytes)
    return fail(limit_error(HB_RANGE, "reserve_bytes", request.reserve_bytes, limits::kExportBytes,
                            "reserve_bytes is " + std::to_string(request.reserve_bytes) +
                                "; an export holds at most " + std::to_string(limits::kExportBytes)));
  return allocate_host(request);
}

Result<std::unique_ptr<ImportedRange>> HostProvider::begin_import(const RangeRequest& request) {
  if (auto sound = check_reserve(request); !sound) return tl::unexpected(std::move(sound.error()));
  if (request.address != nullptr) {
    const std::uint64_t page = page_bytes();
    const std::uint64_t have = reinterpret_cast<std::uintptr_t>(request.address) % page;
    const std::uint64_t need = request.first_offset % page;
    if (have != need)
      return fail(limit_error(HB_RANGE, "address", have, need,
                              "the wished address is " + std::to_string(have) +
                                  " bytes into a page, the first byte asked for " + std::to_string(need) +
                                  ": they must agree modulo the page size " + std::to_string(page)));
  }
  return begin_host_import(request);
}

}  // namespace hb::client
