// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/external.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "fd_room.h"
#include "hipbroker/hipbroker.h"
#include "providers/hip/access.h"
#include "providers/hip/driver.h"
#include "providers/hip/mapped_range.h"

namespace hb::client::hip {
namespace {

tl::unexpected<Error> refuse(Error error, const ImportedRange::Part& part) {
  error.chunk = static_cast<std::int64_t>(part.chunk);
  return fail(std::move(error));
}

class ExternalRange final : public ImportedRange {
 public:
  ExternalRange(std::shared_ptr<const Runtime> runtime, const Quirks& quirks, DeviceTable devices,
                const RangeRequest& request)
      : runtime_(std::move(runtime)),
        takes_descriptor_(quirks.on(Quirk::kExternalTakesDescriptor)),
        devices_(std::move(devices)),
        owner_(request.owner),
        exporter_peers_(request.exporter_peers),
        process_(::getpid()) {}
  ExternalRange(const ExternalRange&) = delete;
  ExternalRange& operator=(const ExternalRange&) = delete;

  ~ExternalRange() override { destroy(); }

  Result<void> map(const Part& part) override {
    const std::string doing = "chunk " + std::to_string(part.chunk);
    if (slept_) return refuse(cannot(doing + ": mapping it again after it slept").value(), part);
    if (memory_ != nullptr) return refuse(cannot(doing + ": growth in place").value(), part);
    auto size = checked_size(part, doing);
    if (!size) return refuse(std::move(size.error()), part);
    UniqueFd descriptor(::fcntl(part.object.fd.get(), F_DUPFD_CLOEXEC, 3));
    if (!descriptor) return refuse(no_fds(fd_room(), 1, doing), part);
    watch_for_exit();
    const HipTable& hip = runtime_->hip();
    const DriverScope scope(hip, DriverScope::kAnyDevice);
    const char* call = scope.failed_call();
    HipError code = scope.code();
    if (call == nullptr) {
      call = "hipGetDevice";
      code = hip.hipGetDevice(&device_);
    }
    if (code == kSuccess) {
      ExternalMemoryHandleDesc what{};
      what.type = kExternalOpaqueFd;
      what.handle.descriptor = descriptor.get();
      what.size = *size;
      call = "hipImportExternalMemory";
      code = hip.hipImportExternalMemory(&memory_, &what);
      if (code != kSuccess) memory_ = nullptr;
    }
    // With the memory, where the runtime owns what it was given.
    if (code == kSuccess && takes_descriptor_) static_cast<void>(descriptor.release());
    if (code == kSuccess) {
      ExternalMemoryBufferDesc where{};
      where.offset = part.object.offset;
      where.size = part.object.bytes;
      call = "hipExternalMemoryGetMappedBuffer";
      code = hip.hipExternalMemoryGetMappedBuffer(&ptr_, memory_, &where);
      if (code != kSuccess) note_teardown(hip.hipDestroyExternalMemory(std::exchange(memory_, nullptr)));
    }
    if (code != kSuccess) {
      Error error = driver_error(hip, call, code, doing);
      if (error.status == HB_SYSTEM) {
        error.status = HB_BAD_HANDLE;
        error.message += "; either the descriptor is no dma-buf that this runtime takes, or its owner " +
                         owner_.text() + " is not reached by device " + std::to_string(device_);
      }
      return refuse(std::move(error), part);
    }
    bytes_ = part.object.bytes;
    return {};
  }

  Result<void> replace(const Part& part) override {
    return refuse(cannot("chunk " + std::to_string(part.chunk) + ": replacement in place").value(), part);
  }
  void undo_replaced() noexcept override {}
  void keep_replaced() noexcept override {}
  [[nodiscard]] std::uint64_t part_at(std::size_t) const override { return 0; }
  void cut(std::uint64_t bytes) noexcept override {
    if (bytes == 0) destroy();
  }
  void sleep() noexcept override {
    destroy();
    slept_ = true;
  }
  Result<void> wake() override {
    if (!slept_) return {};
    return cannot("waking");
  }
  [[nodiscard]] void* ptr() const override { return ptr_; }
  [[nodiscard]] Span mapped() const override { return {ptr_, bytes_}; }
  [[nodiscard]] bool host_granted() const override { return false; }
  [[nodiscard]] int ordinal() const override {
    const Device* owner = devices_.find(owner_);
    return owner != nullptr ? owner->ordinal : -1;
  }
  [[nodiscard]] std::vector<PeerGrant> peers() const override {
    Access access;
    if (ordinal() == device_)
      access.owner = device_;
    else
      access.peers = {device_};
    return peer_grants(devices_, exporter_peers_, access);
  }

 private:
  static tl::unexpected<Error> cannot(const std::string& doing) {
    return fail(HB_UNSUPPORTED, doing +
                                    ": the runtime chooses the addresses of HB_MAP_EXTERNAL and keeps none; "
                                    "close this import and open it anew, or map with HB_MAP_VMM");
  }

  void destroy() noexcept {
    const ExternalMemory memory = std::exchange(memory_, nullptr);
    if (memory == nullptr || ::getpid() != process_ || is_exiting()) return;
    const DriverScope scope(runtime_->hip(), device_, Lock::kNo);
    note_teardown(runtime_->hip().hipDestroyExternalMemory(memory));
  }

  // The runtime compares nothing.
  static Result<std::uint64_t> checked_size(const Part& part, const std::string& doing) {
    const off_t end = ::lseek(part.object.fd.get(), 0, SEEK_END);
    if (end < 0) return fail(system_error(SysError::last("lseek"), doing + ": its size", HB_BAD_HANDLE));
    const auto size = static_cast<std::uint64_t>(end);
    const std::uint64_t wanted = part.whole_bytes != 0 ? part.whole_bytes : part.object_bytes;
    if (size == wanted || (part.whole_bytes == 0 && size > wanted)) return size;
    return fail(limit_error(HB_RANGE, "bytes", wanted, size,
                            doing + " needs an object of " + std::to_string(wanted) +
                                " bytes and got one of " + std::to_string(size)));
  }

  std::shared_ptr<const Runtime> runtime_;
  bool takes_descriptor_;
  DeviceTable devices_;
  DeviceId owner_;
  std::vector<DeviceId> exporter_peers_;
  pid_t process_;
  ExternalMemory memory_ = nullptr;
  bool slept_ = false;
  int device_ = -1;
  void* ptr_ = nullptr;
  std::uint64_t bytes_ = 0;
};

bool has_functions(const Runtime& runtime) {
  const HipTable& hip = runtime.hip();
  return hip.hipImportExternalMemory != nullptr && hip.hipExternalMemoryGetMappedBuffer != nullptr &&
         hip.hipDestroyExternalMemory != nullptr;
}

}  // namespace

bool external_is_possible(const Runtime& runtime, std::uint32_t handle_kind) {
  return handle_kind != HB_KIND_DRIVER && has_functions(runtime);
}

Result<std::unique_ptr<ImportedRange>> begin_external(const std::shared_ptr<const Runtime>& runtime,
                                                      const Quirks& quirks, const DeviceTable& devices,
                                                      const RangeRequest& request) {
  if (!has_functions(*runtime))
    return fail(HB_UNSUPPORTED, runtime->name() + " has no hipImportExternalMemory");
  if (request.handle_kind == HB_KIND_DRIVER)
    return fail(HB_UNSUPPORTED,
                "HB_MAP_EXTERNAL takes dma-bufs; this memory has descriptors of the driver's own");
  if (request.chunks != 1)
    return fail(limit_error(HB_UNSUPPORTED, "chunks", request.chunks, 1,
                            "HB_MAP_EXTERNAL maps one chunk; this touches " + std::to_string(request.chunks) +
                                ": import each by offset and bytes, or map with HB_MAP_VMM"));
  return std::make_unique<ExternalRange>(runtime, quirks, devices, request);
}

}  // namespace hb::client::hip
