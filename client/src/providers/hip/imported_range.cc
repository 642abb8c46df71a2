// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/imported_range.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "fd_room.h"
#include "hipbroker/hipbroker.h"

namespace hb::client::hip {
namespace {

class HipRange final : public ImportedRange {
 public:
  HipRange(ContextPtr context, Import import, const RangeRequest& request)
      : context_(std::move(context)),
        import_(std::move(import)),
        kind_(request.handle_kind),
        exporter_peers_(request.exporter_peers) {}

  Result<void> map(const Part& part) override {
    auto chunk = chunk_of(part);
    if (!chunk) return tl::unexpected(std::move(chunk.error()));
    // Allocations are mapped whole, so only the first may begin and only the last may end inside of one.
    if (part.at != 0 && (part.object.offset != 0 || (!placed_.empty() && !placed_.back().to_its_end)))
      return fail(
          chunk_error(HB_UNSUPPORTED, part,
                      "does not follow the chunk before it: GPU memory is mapped in whole allocations, and a "
                      "part of one lies between them; acquire the descriptors instead"));
    const Placed placed{part.at, part.object.offset, part.object.bytes,
                        part.object.offset + part.object.bytes == chunk->bytes};
    // Before anything is mapped, and not one by one: there may be 65,536.
    if (placed_.size() == placed_.capacity()) placed_.reserve(2 * placed_.size() + 1);
    if (auto added = import_.add({&*chunk, 1}); !added) return added;
    placed_.push_back(placed);
    return {};
  }

  Result<void> replace(const Part& part) override {
    const auto found =
        std::find_if(placed_.begin(), placed_.end(), [&](const Placed& p) { return p.at == part.at; });
    if (found == placed_.end())
      return fail(chunk_error(HB_INVALID, part,
                              "is to replace what is mapped " + std::to_string(part.at) +
                                  " bytes from the start; no chunk that is mapped begins there"));
    const auto index = static_cast<std::size_t>(found - placed_.begin());
    auto chunk = chunk_of(part);
    if (!chunk) return tl::unexpected(std::move(chunk.error()));
    if (part.object.bytes != found->bytes || part.object.offset != found->offset ||
        chunk->bytes != import_.range().chunk_bytes(index)) {
      Error error = chunk_error(
          HB_UNSUPPORTED, part,
          "is to replace " + extent(found->bytes, found->offset, import_.range().chunk_bytes(index)) +
              " and has " + extent(part.object.bytes, part.object.offset, chunk->bytes) +
              ": only the same fits in its place; import it anew");
      error.what = "bytes";
      error.used = part.object.bytes;
      error.limit = found->bytes;
      return fail(std::move(error));
    }
    return import_.replace(index, std::move(*chunk));
  }

  void undo_replaced() noexcept override { import_.range().undo_replaced(); }
  void keep_replaced() noexcept override { import_.range().keep_replaced(); }
  [[nodiscard]] std::uint64_t part_at(std::size_t index) const override { return placed_[index].at; }

  void cut(std::uint64_t bytes) noexcept override {
    while (!placed_.empty() && placed_.back().at >= bytes) placed_.pop_back();
    import_.range().cut(placed_.size());
  }

  void sleep() noexcept override {
    placed_.clear();
    import_.range().sleep();
  }

  Result<void> wake() override {
    if (!import_.range().is_here())
      return fail(HB_FORKED, "this import is of the parent process, which alone wakes it");
    return import_.range().wake();
  }

  [[nodiscard]] void* ptr() const override { return import_.ptr(); }
  [[nodiscard]] Span mapped() const override {
    return {import_.range().base(), import_.range().reserved_bytes()};
  }
  [[nodiscard]] bool host_granted() const override { return import_.range().host_granted(); }
  [[nodiscard]] int ordinal() const override { return import_.range().access().owner; }
  [[nodiscard]] std::vector<PeerGrant> peers() const override {
    return peer_grants(context_->devices, exporter_peers_, import_.range().access());
  }

 private:
  struct Placed {
    std::uint64_t at;
    std::uint64_t offset;
    std::uint64_t bytes;
    bool to_its_end;
  };

  static Error chunk_error(hb_status status, const Part& part, const std::string& reason) {
    Error error;
    error.status = status;
    error.chunk = static_cast<std::int64_t>(part.chunk);
    error.message = "chunk " + std::to_string(part.chunk) + " " + reason;
    return error;
  }

  static std::string extent(std::uint64_t bytes, std::uint64_t offset, std::uint64_t whole) {
    return std::to_string(bytes) + " bytes at " + std::to_string(offset) + " of an object of " +
           std::to_string(whole);
  }

  // What the driver gets of it: a descriptor of its own.
  Result<ImportChunk> chunk_of(const Part& part) const {
    if (!import_.range().is_here())
      return fail(
          chunk_error(HB_FORKED, part, "is for an import of the parent process, which alone maps it"));
    auto bytes = object_bytes(part);
    if (!bytes) return tl::unexpected(std::move(bytes.error()));
    ImportChunk chunk;
    chunk.descriptor = UniqueFd(::fcntl(part.object.fd.get(), F_DUPFD_CLOEXEC, 3));
    if (!chunk.descriptor) {
      Error error = no_fds(fd_room(), 1, "chunk " + std::to_string(part.chunk));
      error.chunk = static_cast<std::int64_t>(part.chunk);
      return fail(std::move(error));
    }
    chunk.bytes = *bytes;
    chunk.handle_kind = kind_;
    chunk.number = static_cast<std::int64_t>(part.chunk);
    return chunk;
  }

  // The kernel's word where it has one; what the exporter declared for descriptors of a driver's own kind,
  // of which lseek means nothing.
  Result<std::uint64_t> object_bytes(const Part& part) const {
    if (kind_ == HB_KIND_DRIVER) {
      if (part.whole_bytes != 0) return part.whole_bytes;
      return fail(chunk_error(HB_UNSUPPORTED, part,
                              "is a descriptor of the driver's own, whose size only its exporter knows, and "
                              "the daemon is too old to pass that on: update hipbrokerd"));
    }
    const off_t size = ::lseek(part.object.fd.get(), 0, SEEK_END);
    if (size < 0) {
      Error error = system_error(SysError::last("lseek"),
                                 "chunk " + std::to_string(part.chunk) + ": its size", HB_BAD_HANDLE);
      error.chunk = static_cast<std::int64_t>(part.chunk);
      return fail(std::move(error));
    }
    const auto bytes = static_cast<std::uint64_t>(size);
    const std::uint64_t wanted = part.whole_bytes != 0 ? part.whole_bytes : part.object_bytes;
    if (bytes == wanted || (part.whole_bytes == 0 && bytes > wanted)) return bytes;
    Error error = chunk_error(
        HB_RANGE, part,
        "needs an object of " + std::to_string(wanted) + " bytes and got one of " + std::to_string(bytes));
    error.what = "bytes";
    error.used = wanted;
    error.limit = bytes;
    return fail(std::move(error));
  }

  ContextPtr context_;
  Import import_;
  std::uint32_t kind_;
  std::vector<DeviceId> exporter_peers_;
  std::vector<Placed> placed_;  // in address order, one for each allocation mapped
};

}  // namespace

Result<std::unique_ptr<ImportedRange>> begin_import_of(const ContextPtr& context, const ImportSpec& spec,
                                                       const RangeRequest& request) {
  auto import = Import::begin(context, spec);
  if (!import) return tl::unexpected(std::move(import.error()));
  return std::make_unique<HipRange>(context, std::move(*import), request);
}

}  // namespace hb::client::hip
