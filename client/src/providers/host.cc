// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/host.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "fd_room.h"
#include "hipbroker/hipbroker.h"
#include "wire/limits.h"
#include "wire/unique_fd.h"

namespace hb::client {
namespace {

constexpr unsigned kMfdNoexecSeal = 0x0008;  // since Linux 6.3; Debian 12's headers do not have it
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}
std::uint64_t page_down(std::uint64_t value) { return value & ~(page_bytes() - 1); }
std::uint64_t page_up(std::uint64_t value) { return page_down(value + page_bytes() - 1); }

std::uint64_t max_map_count() {
  unsigned long long count = 0;
  if (std::FILE* file = std::fopen("/proc/sys/vm/max_map_count", "re")) {
    if (std::fscanf(file, "%llu", &count) != 1) count = 0;
    std::fclose(file);
  }
  return count;
}

// mmap() answers ENOMEM for address space and for the number of mappings alike; both are named.
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

class HostAllocation final : public Allocation {
 public:
  ~HostAllocation() override {
    if (base_ != nullptr) ::munmap(base_, bytes_);
  }

  Result<void> create(const AllocateRequest& request) {
    bytes_ = page_up(request.bytes);
    chunk_bytes_ = request.chunk_bytes == 0 ? bytes_ : request.chunk_bytes;
    const std::uint64_t count = (bytes_ + chunk_bytes_ - 1) / chunk_bytes_;
    const FdRoom room = fd_room();
    if (count > room.free())
      return fail(no_fds(
          room, count,
          "allocating " + std::to_string(bytes_) + " bytes in chunks of " + std::to_string(chunk_bytes_)));
    void* base = ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
      return fail(system_error(SysError::last("mmap"),
                               "reserving " + std::to_string(bytes_) + " bytes of addresses", HB_NO_MEMORY));
    base_ = base;
    fds_.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i)
      if (auto made = add_chunk(i, request.sealed); !made) return made;
    return {};
  }

  [[nodiscard]] void* ptr() const override { return base_; }
  [[nodiscard]] std::uint64_t bytes() const override { return bytes_; }
  [[nodiscard]] std::uint64_t chunk_bytes() const override { return chunk_bytes_; }
  [[nodiscard]] std::size_t chunk_count() const override { return fds_.size(); }
  [[nodiscard]] ChunkRef chunk(std::size_t index) const override {
    return {fds_[index], 0, bytes_of(index), bytes_of(index), index};
  }
  [[nodiscard]] std::uint32_t handle_kind() const override { return HB_KIND_MEMFD; }
  void forget_descriptors() noexcept override {
    for (UniqueFd& fd : fds_) static_cast<void>(fd.release());
  }

 private:
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t index) const {
    const std::uint64_t start = index * chunk_bytes_;
    return bytes_ - start < chunk_bytes_ ? bytes_ - start : chunk_bytes_;
  }

  Result<void> failed(const char* operation, std::uint64_t index) {
    const SysError cause = SysError::last(operation);
    const hb_status status = cause.code == EMFILE || cause.code == ENFILE   ? HB_NO_FDS
                             : cause.code == ENOMEM || cause.code == ENOSPC ? HB_NO_MEMORY
                                                                            : HB_SYSTEM;
    Error error = system_error(cause, "chunk " + std::to_string(index), status);
    error.chunk = static_cast<std::int64_t>(index);
    return fail(std::move(error));
  }

  Result<void> add_chunk(std::uint64_t index, bool sealed) {
    constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    UniqueFd fd(::memfd_create("hipbroker", kFlags | kMfdNoexecSeal));
    if (!fd && errno == EINVAL) fd = UniqueFd(::memfd_create("hipbroker", kFlags));
    if (fd && fd.get() < 3) fd = fd.duplicate();
    if (!fd) return failed("memfd_create", index);
    const std::uint64_t bytes = bytes_of(index);
    if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return failed("ftruncate", index);
    // Mode 0444 is what makes a reader's read-only descriptor hold: memfds are made 0777, and anyone
    // could open theirs again for writing through /proc.
    if (::fchmod(fd.get(), 0444) != 0) return failed("fchmod", index);
    void* at = static_cast<char*>(base_) + index * chunk_bytes_;
    if (::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd.get(), 0) == MAP_FAILED)
      return fail(map_error(SysError::last("mmap"), "chunk " + std::to_string(index),
                            static_cast<std::int64_t>(index)));
    // After the mapping: F_SEAL_FUTURE_WRITE lets exactly the mappings that exist go on writing.
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (sealed ? F_SEAL_FUTURE_WRITE : 0);
    if (::fcntl(fd.get(), F_ADD_SEALS, seals) != 0) return failed("fcntl(F_ADD_SEALS)", index);
    fds_.push_back(std::move(fd));
    return {};
  }

  void* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t chunk_bytes_ = 0;
  std::vector<UniqueFd> fds_;
};

class HostRange final : public ImportedRange {
 public:
  explicit HostRange(const RangeRequest& request)
      : request_(request), lead_(request.first_offset & (page_bytes() - 1)) {
    span_ = page_up(lead_ + request.bytes);
  }
  ~HostRange() override {
    if (base_ != nullptr) ::munmap(base_, span_);
  }

  [[nodiscard]] void* ptr() const override { return base_ == nullptr ? nullptr : base_ + lead_; }
  [[nodiscard]] Span mapped() const override { return {base_, span_}; }

  Result<void> map(const Part& part) override {
    if (auto sound = check(part); !sound) return sound;
    const std::uint64_t lead = part.object.offset & (page_bytes() - 1);
    const std::uint64_t at = lead_ + part.at;  // from the start of the mapping
    if ((at & (page_bytes() - 1)) != lead)
      return fail(chunk_error(HB_UNSUPPORTED, part,
                              "does not begin at a page boundary of its object, so it cannot be mapped "
                              "next to the chunk before it; acquire the descriptors instead"));
    const std::uint64_t bytes = page_up(lead + part.object.bytes);
    const std::uint64_t start = at - lead;
    if (part.at != 0 && start < mapped_)
      return fail(chunk_error(HB_UNSUPPORTED, part,
                              "shares a page of addresses with the chunk before it; acquire the "
                              "descriptors instead"));
    mapped_ = start + bytes;
    const bool whole = start == 0 && bytes == span_;
    if (base_ == nullptr && !whole) {
      auto reserved = place(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0, nullptr);
      if (!reserved) return reserved;
    }
    const int protection = request_.writable ? PROT_READ | PROT_WRITE : PROT_READ;
    const auto offset = static_cast<off_t>(part.object.offset - lead);
    if (base_ == nullptr) return place(protection, MAP_SHARED, part.object.fd.get(), offset, &part);
    if (::mmap(base_ + start, bytes, protection, MAP_SHARED | MAP_FIXED, part.object.fd.get(), offset) ==
        MAP_FAILED)
      return refused(SysError::last("mmap"), part);
    return {};
  }

 private:
  static std::string name(const Part& part) { return "chunk " + std::to_string(part.chunk); }

  static Error chunk_error(hb_status status, const Part& part, const std::string& reason) {
    Error error;
    error.status = status;
    error.chunk = static_cast<std::int64_t>(part.chunk);
    error.message = name(part) + " " + reason;
    return error;
  }

  // Nothing is believed because the daemon said so: a memfd that could shrink, or that is shorter than
  // announced, would turn a later read into SIGBUS.
  Result<void> check(const Part& part) const {
    if (request_.handle_kind == HB_KIND_MEMFD) {
      const int seals = ::fcntl(part.object.fd.get(), F_GET_SEALS);
      if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
        return fail(chunk_error(HB_BAD_HANDLE, part, "is not a memfd sealed against shrinking"));
    }
    struct stat st {};
    if (::fstat(part.object.fd.get(), &st) != 0) {
      Error error = system_error(SysError::last("fstat"), name(part));
      error.chunk = static_cast<std::int64_t>(part.chunk);
      return fail(std::move(error));
    }
    if (static_cast<std::uint64_t>(st.st_size) >= part.object_bytes) return {};
    Error error = chunk_error(HB_RANGE, part,
                              "needs an object of " + std::to_string(part.object_bytes) +
                                  " bytes and got one of " + std::to_string(st.st_size));
    error.used = part.object_bytes;
    error.limit = static_cast<std::uint64_t>(st.st_size);
    return fail(std::move(error));
  }

  Result<void> refused(const SysError& cause, const Part& part) const {
    if (cause.code == EACCES || cause.code == EPERM) {
      Error error = system_error(cause, name(part), HB_READ_ONLY);
      error.chunk = static_cast<std::int64_t>(part.chunk);
      error.message += request_.writable ? "; its descriptor gives read access only" : "";
      return fail(std::move(error));
    }
    return fail(map_error(cause, name(part), static_cast<std::int64_t>(part.chunk)));
  }

  Result<void> place(int protection, int flags, int fd, off_t offset, const Part* part) {
    char* wished = nullptr;
    if (request_.address != nullptr) {
      wished = static_cast<char*>(request_.address) - lead_;
      flags |= MAP_FIXED_NOREPLACE;
    }
    void* got = ::mmap(wished, span_, protection, flags, fd, offset);
    if (got == MAP_FAILED) {
      const SysError cause = SysError::last("mmap");
      if (wished != nullptr && (cause.code == EEXIST || cause.code == EINVAL || cause.code == EPERM ||
                                (cause.code == ENOMEM && part == nullptr)))
        return fail(system_error(cause, "the wished address cannot be used", HB_ADDRESS));
      if (part != nullptr) return refused(cause, *part);
      return fail(map_error(cause, "reserving " + std::to_string(span_) + " bytes of addresses", -1));
    }
    // A kernel before 4.17 takes the flag for a hint.
    if (wished != nullptr && got != wished) {
      ::munmap(got, span_);
      return fail(HB_ADDRESS, "the wished address is taken");
    }
    base_ = static_cast<char*>(got);
    return {};
  }

  RangeRequest request_;
  std::uint64_t lead_;  // of the first byte inside its page
  std::uint64_t span_ = 0;
  std::uint64_t mapped_ = 0;
  char* base_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Allocation>> HostProvider::allocate(const AllocateRequest& request) {
  if (!request.device_id.empty() || request.peers != DeviceSet())
    return fail(HB_INVALID, "device and peers are for HB_PROVIDER_HIP; host memory is on no GPU");
  if (request.bytes == 0) return fail(HB_INVALID, "bytes is 0; at least 1 byte is allocated");
  if (request.bytes > limits::kExportBytes)
    return fail(limit_error(HB_RANGE, "bytes", request.bytes, limits::kExportBytes,
                            std::to_string(request.bytes) + " bytes asked for; an export holds at most " +
                                std::to_string(limits::kExportBytes)));
  if (request.chunk_bytes % page_bytes() != 0)
    return fail(HB_INVALID, "chunk_bytes is " + std::to_string(request.chunk_bytes) +
                                ", not a multiple of the page size " + std::to_string(page_bytes()));
  auto allocation = std::make_unique<HostAllocation>();
  if (auto created = allocation->create(request); !created) return tl::unexpected(created.error());
  return allocation;
}

Result<std::unique_ptr<ImportedRange>> HostProvider::begin_import(const RangeRequest& request) {
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
  return std::make_unique<HostRange>(request);
}

}  // namespace hb::client
