// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Export of foreign memory by where it lies. Two kinds: mappings of hipMemMap, each a whole allocation, and
// hipMalloc memory, which may be a fragment of a larger buffer.
#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "fd_room.h"
#include "hipbroker/hipbroker.h"
#include "providers/hip/driver.h"
#include "providers/hip/foreign.h"
#include "wire/limits.h"

namespace hb::client::hip {
namespace {

Result<Shareability*> shareability() {
  auto mark = ProcessMark::take();
  if (!mark) return tl::unexpected(std::move(mark.error()));
  return &Shareability::get(*mark);
}

// An answer about this memory is kept; one about the process or the device may be another next time.
void remember_refusal(const PointerFacts& facts, const Error& error) {
  if (error.status != HB_NOT_SHAREABLE || facts.base == 0) return;
  if (const auto known = shareability())
    (*known)->remember(facts.identity(), {std::make_shared<const Error>(error)});
}

Result<void> check_remembered(const PointerFacts& facts) {
  const auto known = shareability();
  if (!known) return tl::unexpected(known.error());
  const auto answer = (*known)->find(facts.identity());
  if (answer && answer->refusal) return fail(*answer->refusal);
  return {};
}

// What this runtime can do at all for the kind of memory, before anything is tried.
Result<void> check_way(const Known& known, const PointerFacts& facts, const void* ptr) {
  const Context& context = *known.context;
  if (auto able = demand(*context.runtime, known.report, Ability::kExport); !able) return able;
  if (facts.base == 0)
    return fail(HB_NOT_SHAREABLE, std::string(kind_name(facts.kind)) +
                                      ": the runtime does not tell where it begins; export by handles");
  if (facts.kind == MemoryKind::kVmm) {
    const bool retains = context.quirks.on(Quirk::kRetainTakesReference) &&
                         context.hip().hipMemRetainAllocationHandle != nullptr;
    if (retains) return {};
    return fail(HB_NOT_SHAREABLE, context.runtime->name() +
                                      " gives no handle to mapped memory without taking it from its maker "
                                      "(HIP 7.12 and newer do): export by handles");
  }
  if (context.runtime->hsa().hsa_amd_portable_export_dmabuf != nullptr) return {};
  if (!exports_address_ranges(context))
    return fail(HB_UNSUPPORTED, context.runtime->name() +
                                    " exports no hipMalloc memory: neither libhsa-runtime64 with "
                                    "hsa_amd_portable_export_dmabuf is loaded nor is it HIP 7.0 or newer");
  if (reinterpret_cast<std::uintptr_t>(ptr) == facts.base) return {};
  return fail(HB_NOT_SHAREABLE,
              "ptr lies " + std::to_string(reinterpret_cast<std::uintptr_t>(ptr) - facts.base) +
                  " bytes inside hipMalloc memory, and without libhsa-runtime64 the runtime does not tell "
                  "where in its buffer that is: export the whole allocation and make a key to the part");
}

// ---- mappings -----------------------------------------------------------------------------------

class ForeignMappings final : public ForeignAllocation {
 public:
  ForeignMappings(Known known, std::vector<PointerFacts> mappings, std::vector<Piece> pieces)
      : ForeignAllocation(std::move(known), reinterpret_cast<void*>(mappings[0].base), std::move(pieces)),
        mappings_(std::move(mappings)) {}

  Result<UniqueFd> export_chunk(std::size_t index) const override {
    auto made = ForeignAllocation::export_chunk(index);
    if (!made) remember_refusal(mappings_[index], made.error());
    return made;
  }

 protected:
  Result<UniqueFd> make(std::size_t index, const std::string& doing) const override {
    const Context& context = *known().context;
    auto* const base = reinterpret_cast<void*>(mappings_[index].base);
    const std::uint64_t bytes = mappings_[index].bytes;
    // Where all exports of a handle answer one number, that would stay open: see ForeignHandles.
    if (context.quirks.on(Quirk::kSharedExportDescriptor) && exports_address_ranges(context))
      return export_address_range(context, base, bytes, doing);
    MemHandle handle = nullptr;
    const HipError code = context.hip().hipMemRetainAllocationHandle(&handle, base);
    if (code != kSuccess) {
      Error error = driver_error(context.hip(), "hipMemRetainAllocationHandle", code, doing);
      if (code == kInvalidValue) error.status = HB_NOT_SHAREABLE;
      return fail(std::move(error));
    }
    auto made = export_retained(context, handle, base, bytes, doing);
    const HipError released = context.hip().hipMemRelease(handle);
    if (made && released != kSuccess)
      return fail(driver_error(context.hip(), "hipMemRelease", released, doing));
    return made;
  }

 private:
  static Result<UniqueFd> export_retained(const Context& context, MemHandle handle, const void* base,
                                          std::uint64_t bytes, const std::string& doing) {
    MemAllocationProp prop{};
    const bool told = context.hip().hipMemGetAllocationPropertiesFromHandle != nullptr &&
                      context.hip().hipMemGetAllocationPropertiesFromHandle(&prop, handle) == kSuccess;
    if (!told || (prop.requested_handle_type & kHandleFd) != 0) return export_handle(context, handle, doing);
    if (!exports_address_ranges(context))
      return fail(not_exportable(doing, "it was created without the descriptor type"));
    return export_address_range(context, base, bytes, doing);
  }

  std::vector<PointerFacts> mappings_;
};

tl::unexpected<Error> fail_chunk(hb_status status, std::string message, std::size_t index) {
  Error error;
  error.status = status;
  error.message = "chunk " + std::to_string(index) + ": " + std::move(message);
  error.chunk = static_cast<std::int64_t>(index);
  return fail(std::move(error));
}

Result<std::unique_ptr<Allocation>> adopt_mappings(const Known& known, PointerFacts facts, const void* ptr,
                                                   std::uint64_t bytes) {
  const auto start = reinterpret_cast<std::uintptr_t>(ptr);
  const std::uint64_t end = bytes > UINT64_MAX - start ? UINT64_MAX : start + bytes;
  std::vector<PointerFacts> mappings;
  std::vector<ForeignAllocation::Piece> pieces;
  for (;;) {
    if (auto shareable = check_remembered(facts); !shareable) return tl::unexpected(shareable.error());
    pieces.push_back({facts.bytes, facts.bytes});
    const std::uintptr_t next = facts.base + facts.bytes;
    mappings.push_back(std::move(facts));
    if (next >= end) break;
    if (mappings.size() == limits::kExportChunks) break;  // refused by the plan, with both numbers
    facts = ask_driver(*known.context->runtime, reinterpret_cast<const void*>(next));
    if (facts.failure) return fail(std::move(*facts.failure));
    if (facts.kind == MemoryKind::kUnknown || facts.base != next)
      return fail(limit_error(HB_RANGE, "bytes", bytes, next - start,
                              std::to_string(bytes) + " bytes asked for; what is mapped ends " +
                                  std::to_string(next - start) + " bytes after ptr"));
    if (facts.kind != MemoryKind::kVmm)
      return fail_chunk(HB_NOT_SHAREABLE,
                        std::string(kind_name(facts.kind)) + " behind memory mapped by hipMemMap",
                        mappings.size());
    if (facts.ordinal != known.device.ordinal)
      return fail_chunk(HB_MIXED,
                        "it is on device " + std::to_string(facts.ordinal) + ", the chunks before it on " +
                            std::to_string(known.device.ordinal) + "; an export has one device",
                        mappings.size());
  }
  return std::make_unique<ForeignMappings>(known, std::move(mappings), std::move(pieces));
}

// ---- hipMalloc ----------------------------------------------------------------------------------

class ForeignMalloc final : public ForeignAllocation {
 public:
  ForeignMalloc(Known known, const PointerFacts& facts, UniqueFd descriptor, std::uint64_t object_bytes)
      : ForeignAllocation(std::move(known), reinterpret_cast<void*>(facts.base),
                          {{facts.bytes, object_bytes}}),
        descriptor_(std::move(descriptor)) {}
  void forget_descriptors() noexcept override { static_cast<void>(descriptor_.release()); }

 protected:
  Result<UniqueFd> make(std::size_t, const std::string& doing) const override {
    UniqueFd out = descriptor_.duplicate();
    if (out) return out;
    return fail(duplicate_error(SysError::last("fcntl(F_DUPFD_CLOEXEC)"), doing));
  }

 private:
  UniqueFd descriptor_;
};

struct Exported {
  UniqueFd descriptor;
  std::uint64_t offset = 0;  // of the allocation in the buffer
};

Result<Exported> export_by_hsa(const Context& context, const PointerFacts& facts, const std::string& doing) {
  constexpr HsaStatus kOutOfResources = 0x1008;
  const HsaTable& hsa = context.runtime->hsa();
  int number = -1;
  Exported out;
  const HsaStatus status = hsa.hsa_amd_portable_export_dmabuf(
      reinterpret_cast<const void*>(facts.base), static_cast<std::size_t>(facts.bytes), &number, &out.offset);
  if (status != kHsaSuccess) {
    Error error;
    error.status = status == kOutOfResources ? HB_NO_MEMORY : HB_NOT_SHAREABLE;
    error.operation = "hsa_amd_portable_export_dmabuf";
    error.message = doing + ": hsa_amd_portable_export_dmabuf: HSA status " + std::to_string(status);
    if (status == kOutOfResources && fd_room().free() == 0) return fail(no_fds(fd_room(), 1, error.message));
    return fail(std::move(error));
  }
  // The number goes back by the call that HSA has for it; what is kept is a duplicate.
  out.descriptor = UniqueFd(::fcntl(number, F_DUPFD_CLOEXEC, 3));
  const SysError cause = SysError::last("fcntl(F_DUPFD_CLOEXEC)");
  if (hsa.hsa_amd_portable_close_dmabuf != nullptr)
    static_cast<void>(hsa.hsa_amd_portable_close_dmabuf(number));
  else
    ::close(number);
  if (out.descriptor) return out;
  return fail(duplicate_error(cause, doing));
}

Result<Exported> export_malloc(const Known& known, const PointerFacts& facts) {
  const Context& context = *known.context;
  const std::string doing = "exporting hipMalloc memory";
  const DriverScope scope(context.hip(), known.device.ordinal);
  if (scope.failed_call() != nullptr)
    return fail(driver_error(context.hip(), scope.failed_call(), scope.code(), doing, HB_DEVICE));
  if (context.runtime->hsa().hsa_amd_portable_export_dmabuf != nullptr)
    return export_by_hsa(context, facts, doing);
  auto made = export_address_range(context, reinterpret_cast<const void*>(facts.base), facts.bytes, doing);
  if (!made) return tl::unexpected(std::move(made.error()));
  return Exported{std::move(*made), 0};
}

Result<std::unique_ptr<Allocation>> adopt_malloc(const Known& known, const PointerFacts& facts) {
  if (auto shareable = check_remembered(facts); !shareable) return tl::unexpected(shareable.error());
  auto exported = export_malloc(known, facts);
  if (!exported) {
    remember_refusal(facts, exported.error());
    return tl::unexpected(std::move(exported.error()));
  }
  const off_t size = ::lseek(exported->descriptor.get(), 0, SEEK_END);
  if (size < 0)
    return fail(system_error(SysError::last("lseek"), "the size of hipMalloc memory", HB_BAD_HANDLE));
  const auto object = static_cast<std::uint64_t>(size);
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t rounded = (facts.bytes + page - 1) / page * page;
  if (exported->offset != 0 || object != rounded) {
    Error error = limit_error(
        HB_NOT_SHAREABLE, "buffer", object, rounded,
        "hipMalloc memory of " + std::to_string(facts.bytes) + " bytes lies " +
            std::to_string(exported->offset) + " bytes into a buffer of " + std::to_string(object) +
            " that other allocations share: a reader would reach them, too. Allocate 2 MiB or more, use "
            "hipMemCreate, or start the program with HSA_DISABLE_FRAGMENT_ALLOCATOR=1");
    remember_refusal(facts, error);
    return fail(std::move(error));
  }
  return std::make_unique<ForeignMalloc>(known, facts, std::move(exported->descriptor), object);
}

Result<std::unique_ptr<Allocation>> adopt_facts(const Known& known, const PointerFacts& facts,
                                                const void* ptr, std::uint64_t bytes) {
  if (auto able = check_way(known, facts, ptr); !able) return tl::unexpected(std::move(able.error()));
  return facts.kind == MemoryKind::kVmm ? adopt_mappings(known, facts, ptr, bytes)
                                        : adopt_malloc(known, facts);
}

}  // namespace

Result<void> refuse_kind(const PointerFacts& facts) {
  switch (facts.kind) {
    case MemoryKind::kVmm:
    case MemoryKind::kMalloc:
      return {};
    case MemoryKind::kPool:
      return fail(
          HB_NOT_SHAREABLE,
          "pool memory (hipMallocAsync) is the pool's: it gives addresses back to others while a reader "
          "still maps them. Use hipMalloc or hipMemCreate for what is shared");
    case MemoryKind::kHost:
      return fail(HB_NOT_SHAREABLE,
                  "memory of the CPU (hipHostMalloc, hipHostRegister, Host and HostNuma locations) is not "
                  "exported through HIP: use HB_PROVIDER_HOST, or descriptors of your own");
    default:
      return fail(HB_NOT_SHAREABLE, "this memory cannot be exported: " + facts.reason);
  }
}

Result<void> try_export(const Known& known, const PointerFacts& facts, const void* ptr) {
  if (auto able = check_way(known, facts, ptr); !able) return able;
  const auto remembered = shareability();
  if (!remembered) return tl::unexpected(remembered.error());
  if (const auto answer = (*remembered)->find(facts.identity())) {
    if (answer->refusal) return fail(*answer->refusal);
    return {};
  }
  const auto adopted = adopt_facts(known, facts, ptr, 1);
  if (!adopted) return tl::unexpected(adopted.error());
  if (const auto made = (*adopted)->export_chunk(0); !made) return tl::unexpected(made.error());
  (*remembered)->remember(facts.identity(), {});
  return {};
}

Result<std::unique_ptr<Allocation>> adopt_pointer(const AdoptRequest& request) {
  if (request.claim == MemoryKind::kPool || request.claim == MemoryKind::kHost) {
    PointerFacts claimed;
    claimed.kind = request.claim;
    return tl::unexpected(refuse_kind(claimed).error());
  }
  const auto now = here(Which::kLoaded);
  if (!now && now.error().status == HB_NOT_FOUND)
    return fail(HB_NOT_SHAREABLE, "ptr is not in memory of hb_memory_alloc, and " + now.error().message +
                                      ": export other memory by its descriptors (chunks)");
  if (!now) return tl::unexpected(now.error());
  // Before its GPU is known, by the first: where asking crashes, it does so whichever GPU it is.
  const Known first = known_of(*now, now->devices.devices()[0]);
  if (auto able = demand(*now->runtime, first.report, Ability::kExport); !able)
    return tl::unexpected(std::move(able.error()));
  if (request.claim == MemoryKind::kUnknown)
    if (const std::string unsafe = unsafe_to_ask(*now->runtime, first.context->quirks); !unsafe.empty())
      return fail(HB_NOT_SHAREABLE, "ptr is not in memory of hb_memory_alloc, and " + unsafe +
                                        ": export by handles, or say which kind of memory it is in "
                                        "hb_export_options.memory (HB_MEMORY_VMM, HB_MEMORY_MALLOC)");
  const PointerFacts facts = ask_driver(*now->runtime, request.ptr);
  if (facts.failure) return fail(*facts.failure);
  if (request.claim != MemoryKind::kUnknown && facts.kind != request.claim &&
      facts.kind != MemoryKind::kUnknown)
    return fail(HB_NOT_SHAREABLE, std::string("ptr was said to be ") + kind_name(request.claim) + "; it is " +
                                      kind_name(facts.kind));
  PointerFacts taken = facts;
  if (facts.maker_untold) taken.kind = request.claim;
  if (auto able = refuse_kind(taken); !able) return tl::unexpected(std::move(able.error()));
  const Device* const device = now->devices.at(taken.ordinal);
  if (device == nullptr)
    return fail(HB_DEVICE, "the memory at ptr is on device " + std::to_string(taken.ordinal) +
                               ", which this process does not see");
  return adopt_facts(known_of(*now, *device), taken, request.ptr, request.bytes);
}

}  // namespace hb::client::hip
