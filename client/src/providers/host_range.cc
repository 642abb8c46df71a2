// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "hipbroker/hipbroker.h"
#include "providers/host.h"
#include "providers/host_dmabuf.h"
#include "providers/host_pages.h"

namespace hb::client {
namespace {

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

class HostRange final : public ImportedRange {
 public:
  explicit HostRange(const RangeRequest& request)
      : request_(request), lead_(request.first_offset & (page_bytes() - 1)) {
    span_ = page_up(lead_ + std::max(request.bytes, request.reserve_bytes));
  }
  ~HostRange() override {
    keep_replaced();
    if (base_ != nullptr) ::munmap(base_, span_);
  }

  [[nodiscard]] void* ptr() const override { return base_ == nullptr ? nullptr : base_ + lead_; }
  [[nodiscard]] Span mapped() const override { return {base_, span_}; }

  Result<void> map(const Part& part) override {
    auto place = place_of(part);
    if (!place) return tl::unexpected(std::move(place.error()));
    if (request_.handle_kind == HB_KIND_DMABUF)
      if (auto synced = sync_for_cpu(part.object.fd, request_.writable); !synced) {
        synced.error().chunk = static_cast<std::int64_t>(part.chunk);
        synced.error().message = name(part) + ": " + synced.error().message;
        return synced;
      }
    if (part.at != 0 && place->start < end_of_mapped())
      return fail(chunk_error(HB_UNSUPPORTED, part,
                              "shares a page of addresses with the chunk before it; acquire the "
                              "descriptors instead"));
    const bool whole = place->start == 0 && place->bytes == span_;
    // Before anything is mapped, and not one by one: there may be 65,536.
    if (placed_.size() == placed_.capacity()) placed_.reserve(2 * placed_.size() + 1);
    if (base_ == nullptr && !whole) {
      auto reserved = put(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0, nullptr);
      if (!reserved) return reserved;
    }
    const int fd = part.object.fd.get();
    if (base_ == nullptr) {
      auto mapped = put(protection(), MAP_SHARED, fd, place->offset, &part);
      if (mapped) placed_.push_back(*place);
      return mapped;
    }
    if (place->start + place->bytes > span_)
      return fail(limit_error(HB_RANGE, "reserve_bytes", place->start + place->bytes, span_,
                              name(part) + " ends at " + std::to_string(place->start + place->bytes) + "; " +
                                  std::to_string(span_) + " bytes of addresses are held"));
    if (::mmap(base_ + place->start, place->bytes, protection(), MAP_SHARED | MAP_FIXED, fd, place->offset) ==
        MAP_FAILED) {
      const SysError cause = SysError::last("mmap");
      // Kernels before 6.12 unmap first: what a file's own mmap refuses leaves a hole. ENOMEM comes before.
      if (cause.code != ENOMEM) hold_only(base_ + place->start, place->bytes);
      return refused(cause, part);
    }
    placed_.push_back(*place);
    return {};
  }

  Result<void> replace(const Part& part) override {
    const auto found =
        std::find_if(placed_.begin(), placed_.end(), [&](const Placed& p) { return p.at == part.at; });
    if (found == placed_.end())
      return fail(chunk_error(HB_INVALID, part,
                              "is to replace what is mapped " + std::to_string(part.at) +
                                  " bytes from the start; no chunk that is mapped begins there"));
    if (part.object.bytes != found->part_bytes) {
      Error error = chunk_error(HB_UNSUPPORTED, part,
                                "has " + std::to_string(part.object.bytes) + " bytes and is to replace " +
                                    std::to_string(found->part_bytes) +
                                    ": only as many fit in their place; import it anew");
      error.what = "bytes";
      error.used = part.object.bytes;
      error.limit = found->part_bytes;
      return fail(std::move(error));
    }
    // The kernel duplicates no mapping of a dma-buf, so that the old one could not be kept until all is done.
    if (request_.handle_kind == HB_KIND_DMABUF)
      return fail(chunk_error(HB_UNSUPPORTED, part,
                              "is a dma-buf of host memory, which is not replaced in place: import it anew"));
    const auto place = place_of(part);
    if (!place) return tl::unexpected(place.error());
    // First elsewhere: kernels before 6.12 unmap the old one before they ask the file, which may refuse.
    const int fd = part.object.fd.get();
    void* const trial = ::mmap(nullptr, place->bytes, protection(), MAP_SHARED, fd, place->offset);
    if (trial == MAP_FAILED) return refused(SysError::last("mmap"), part);
    ::munmap(trial, place->bytes);
    if (put_away_.size() == put_away_.capacity()) put_away_.reserve(2 * put_away_.size() + 1);
    // Of 0 bytes: a second mapping of the same pages, the first stays.
    void* const old = ::mremap(base_ + place->start, 0, place->bytes, MREMAP_MAYMOVE);
    if (old == MAP_FAILED) return refused(SysError::last("mremap"), part);
    put_away_.push_back({place->start, place->bytes, old});
    if (::mmap(base_ + place->start, place->bytes, protection(), MAP_SHARED | MAP_FIXED, fd, place->offset) ==
        MAP_FAILED)
      return refused(SysError::last("mmap"), part);
    return {};
  }

  void undo_replaced() noexcept override {
    for (auto old = put_away_.rbegin(); old != put_away_.rend(); ++old)
      if (::mremap(old->pages, old->bytes, old->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, base_ + old->start) ==
          MAP_FAILED)
        note_host_teardown_failure();
    put_away_.clear();
  }

  void keep_replaced() noexcept override {
    for (const PutAway& old : put_away_) ::munmap(old.pages, old.bytes);
    put_away_.clear();
  }

  [[nodiscard]] std::uint64_t part_at(std::size_t index) const override { return placed_[index].at; }

  void cut(std::uint64_t bytes) noexcept override {
    const std::uint64_t end = end_of_mapped();
    while (!placed_.empty() && placed_.back().at >= bytes) placed_.pop_back();
    const std::uint64_t left = end_of_mapped();
    if (base_ != nullptr && left < end) hold_only(base_ + left, end - left);
  }

  void sleep() noexcept override {
    placed_.clear();
    asleep_ = true;
    if (base_ != nullptr) hold_only(base_, span_);
  }

  Result<void> wake() override {
    asleep_ = false;
    return {};
  }

 private:
  // A part as pages, from the start of the mapping.
  struct Placed {
    std::uint64_t at;  // of the part, from the first byte asked for
    std::uint64_t part_bytes;
    std::uint64_t start;
    std::uint64_t bytes;
    off_t offset;  // in its object
  };

  struct PutAway {
    std::uint64_t start;
    std::uint64_t bytes;
    void* pages;
  };

  [[nodiscard]] int protection() const { return request_.writable ? PROT_READ | PROT_WRITE : PROT_READ; }
  [[nodiscard]] std::uint64_t end_of_mapped() const {
    return placed_.empty() ? 0 : placed_.back().start + placed_.back().bytes;
  }

  Result<Placed> place_of(const Part& part) const {
    if (asleep_) return fail(chunk_error(HB_SUSPENDED, part, "is for an import that sleeps; wake it first"));
    if (auto sound = check(part); !sound) return tl::unexpected(std::move(sound.error()));
    const std::uint64_t lead = part.object.offset & (page_bytes() - 1);
    const std::uint64_t at = lead_ + part.at;
    if ((at & (page_bytes() - 1)) != lead)
      return fail(chunk_error(HB_UNSUPPORTED, part,
                              "does not begin at a page boundary of its object, so it cannot be mapped "
                              "next to the chunk before it; acquire the descriptors instead"));
    return Placed{part.at, part.object.bytes, at - lead, page_up(lead + part.object.bytes),
                  static_cast<off_t>(part.object.offset - lead)};
  }

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

  // The whole span, at the wished address.
  Result<void> put(int protection, int flags, int fd, off_t offset, const Part* part) {
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
  char* base_ = nullptr;
  bool asleep_ = false;
  std::vector<Placed> placed_;  // in address order
  std::vector<PutAway> put_away_;
};

}  // namespace

std::unique_ptr<ImportedRange> begin_host_import(const RangeRequest& request) {
  return std::make_unique<HostRange>(request);
}

}  // namespace hb::client
