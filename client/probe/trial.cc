// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "probe/trial.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fd_room.h"
#include "hipbroker/hipbroker.h"
#include "probe/copy.h"
#include "probe/report.h"
#include "providers/hip/driver.h"
#include "providers/hip/verdict.h"
#include "providers/hip/vmm.h"

namespace hb::probe {
namespace {

using namespace hb::client::hip;  // NOLINT: this file is about nothing else
using client::Error;
using client::Result;

constexpr std::size_t kBytes = kLargePage;

// As error_text() shows them.
constexpr int kOfTheMoment[] = {
    2,    // hipErrorOutOfMemory
    3,    // hipErrorNotInitialized
    100,  // hipErrorNoDevice
    214,  // hipErrorECCNotCorrectable
    304,  // hipErrorOperatingSystem
    600,  // hipErrorNotReady
    700,  // hipErrorIllegalAddress: of another program's work, too
    701,  // hipErrorLaunchOutOfResources
    702,  // hipErrorLaunchTimeOut
    709,  // hipErrorContextIsDestroyed
    719,  // hipErrorLaunchFailure
    999,  // hipErrorUnknown
};

void begin(Ability ability, const std::string& what) {
  say(std::string("begin ") + ability_name(ability) + " " + what);
}
void yes(Ability ability) { say(std::string("yes ") + ability_name(ability)); }
void no(Ability ability, const std::string& reason) {
  say(std::string("no ") + ability_name(ability) + " " + reason);
}
// A call that failed says something of this moment where it is about what the machine has left, or a GPU that
// is lost, or where it does not say what it is about.
bool may_pass(const Error& error) {
  if (error.status == HB_NO_MEMORY || error.status == HB_NO_FDS || error.status == HB_DEVICE ||
      error.status == HB_BUSY || error.sys_errno != 0)
    return true;
  for (const int code : kOfTheMoment)
    if (error.message.find("(" + std::to_string(code) + ")") != std::string::npos) return true;
  return false;
}
void no(Ability ability, const Error& error) {
  if (may_pass(error)) say("transient");
  no(ability, error.message);
}
void fact(Quirk quirk, bool value) {
  for (const QuirkRow& row : quirk_rows())
    if (row.quirk == quirk) say(std::string("fact ") + row.name + (value ? " 1" : " 0"));
}

std::uint64_t open_descriptors() { return client::fd_room().open; }

// The CPU's view, asked in a way that answers EFAULT instead of dying.
bool cpu_reads(const void* at) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  const UniqueFd in(ends[0]);
  const UniqueFd out(ends[1]);
  return ::write(out.get(), at, 1) == 1;
}

class Trial {
 public:
  Trial(ContextPtr context, int ordinal) : context_(std::move(context)), ordinal_(ordinal) {
    alone_.owner = ordinal;
  }

  void run() {
    // First of all: how its descriptors are to be treated decides whether the rest can work.
    two_exports();
    if (!make_and_export() || !import_and_compare()) return;
    grant_order();
    tail_grant();
    host_access();
    queries();
    clean();
  }

 private:
  void learn(Quirk quirk, bool value) {
    fact(quirk, value);
    auto better = std::make_shared<Context>(*context_);
    better->quirks.overrule(quirk, value);
    context_ = std::move(better);
  }

  const HipTable& hip() const { return context_->hip(); }
  DeviceId id() const { return context_->devices.at(ordinal_)->id; }

  Result<std::unique_ptr<MappedRange>> make(const ContextPtr& context, const Access& access) {
    AllocateSpec spec;
    spec.bytes = kBytes;
    spec.access = access;
    return allocate(context, spec);
  }

  Result<std::unique_ptr<Import>> bring_in(const ContextPtr& context, HostAccess host) {
    auto descriptor = export_chunk(*context_, *own_, 0);
    if (!descriptor) return tl::unexpected(descriptor.error());
    std::vector<ImportChunk> chunks(1);
    chunks[0] = {std::move(*descriptor), kBytes, handle_kind_, 0};
    ImportSpec spec;
    spec.access = alone_;
    spec.access.imported = true;
    spec.access.host = host;
    spec.owner = id();
    spec.bytes = kBytes;
    spec.chunks = 1;
    auto import = Import::begin(context, spec);
    if (!import) return tl::unexpected(import.error());
    auto out = std::make_unique<Import>(std::move(*import));
    if (auto added = out->add(chunks); !added) return tl::unexpected(added.error());
    return out;
  }

  Result<void> copy(void* to, const void* from, CopyKind kind) {
    return probe::copy(hip(), ordinal_, to, from, kBytes, kind);
  }

  // Bytes written through one mapping, read through the other; the text says how they differ.
  Result<std::string> compare(void* writer, const void* reader, unsigned char seed) {
    std::vector<unsigned char> out(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) out[i] = static_cast<unsigned char>(i * 31 + (i >> 12) + seed);
    std::vector<unsigned char> back(kBytes);
    if (auto copied = copy(writer, out.data(), kCopyHostToDevice); !copied)
      return tl::unexpected(copied.error());
    if (auto copied = copy(back.data(), reader, kCopyDeviceToHost); !copied)
      return tl::unexpected(copied.error());
    for (std::size_t i = 0; i < kBytes; ++i)
      if (out[i] != back[i]) return "other bytes than were written, first at " + std::to_string(i);
    return std::string();
  }

  bool make_and_export() {
    begin(Ability::kExport, "creating and mapping memory");
    auto own = make(context_, alone_);
    if (!own) return give_up(own.error());
    own_ = std::move(*own);
    // The first one opens much more than its own descriptors.
    const std::uint64_t before = open_descriptors();
    if (auto second = make(context_, alone_)) fact(Quirk::kDescriptorPerCreate, open_descriptors() > before);
    begin(Ability::kExport, "hipMemExportToShareableHandle");
    auto descriptor = export_chunk(*context_, *own_, 0);
    if (!descriptor) return give_up(descriptor.error());
    const off_t size = ::lseek(descriptor->get(), 0, SEEK_END);
    // What cannot be asked is a driver's own kind of descriptor.
    if (size < 0 && errno == ESPIPE) handle_kind_ = HB_KIND_DRIVER;
    if (size != static_cast<off_t>(kBytes) && handle_kind_ != HB_KIND_DRIVER) {
      const std::string reason =
          "the exported descriptor has " + std::to_string(size) + " bytes, not " + std::to_string(kBytes);
      no(Ability::kExport, reason);
      no(Ability::kImport, reason);
      return false;
    }
    yes(Ability::kExport);
    return true;
  }

  bool give_up(const Error& error) {
    no(Ability::kExport, error);
    no(Ability::kImport, error);
    return false;
  }

  bool import_and_compare() {
    begin(Ability::kImport, "importing, mapping, granting");
    auto import = bring_in(context_, HostAccess::kNone);
    if (!import) {
      no(Ability::kImport, import.error());
      return false;
    }
    import_ = std::move(*import);
    const std::uint64_t before = open_descriptors();
    if (auto second = bring_in(context_, HostAccess::kNone))
      fact(Quirk::kDescriptorPerImport, open_descriptors() > before);
    begin(Ability::kImport, "copying and comparing");
    auto wrong = compare(own_->base(), import_->ptr(), 1);
    if (wrong && wrong->empty()) wrong = compare(import_->ptr(), own_->base(), 2);
    if (!wrong) {
      Error error = wrong.error();
      error.message =
          "memory was imported, and it could not be seen whether it is the exporter's: " + error.message;
      no(Ability::kImport, error);
      return false;
    }
    if (!wrong->empty()) {
      no(Ability::kImport, "the mapping does not show the exporter's memory: " + *wrong);
      return false;
    }
    yes(Ability::kImport);
    baseline_ = open_descriptors();
    return true;
  }

  void two_exports() {
    begin(Ability::kExport, "exporting one handle twice");
    MemAllocationProp prop{};
    prop.type = kAllocationPinned;
    prop.requested_handle_type = kHandleFd;
    prop.location = {kLocationDevice, ordinal_};
    const DriverScope scope(hip(), ordinal_);
    MemHandle handle = nullptr;
    if (hip().hipMemCreate(&handle, kBytes, &prop, 0) != kSuccess) return;
    int first = -1;
    int second = -1;
    const bool ok = hip().hipMemExportToShareableHandle(&first, handle, kHandleFd, 0) == kSuccess &&
                    hip().hipMemExportToShareableHandle(&second, handle, kHandleFd, 0) == kSuccess;
    static_cast<void>(hip().hipMemRelease(handle));
    const bool shared = ok && first == second;
    if (ok) learn(Quirk::kSharedExportDescriptor, shared);
    // Nothing else runs here that could have taken the number meanwhile.
    const bool open = first >= 0 && ::fcntl(first, F_GETFD) >= 0;
    if (shared) learn(Quirk::kRuntimeClosesExportDescriptor, !open);
    if (open) ::close(first);
    if (second >= 0 && second != first) ::close(second);
  }

  // Maps the own allocation a second time; raw, since the orders tried are wrong on purpose.
  struct Second {
    char* base = nullptr;
    int count = 0;
  };
  Second map_again(int count) {
    Second out;
    void* at = nullptr;
    if (hip().hipMemAddressReserve(&at, kBytes * static_cast<std::size_t>(count), 0, nullptr, 0) != kSuccess)
      return out;
    out.base = static_cast<char*>(at);
    while (out.count < count && hip().hipMemMap(out.base + kBytes * static_cast<std::size_t>(out.count),
                                                kBytes, 0, own_->handle(0).get(), 0) == kSuccess)
      ++out.count;
    return out;
  }
  void unmap(const Second& second, int count) {
    if (second.base == nullptr) return;
    for (int i = 0; i < second.count; ++i)
      static_cast<void>(hip().hipMemUnmap(second.base + kBytes * static_cast<std::size_t>(i), kBytes));
    static_cast<void>(hip().hipMemAddressFree(second.base, kBytes * static_cast<std::size_t>(count)));
  }
  bool let_in(char* at, int ordinal) {
    const MemAccessDesc desc{{kLocationDevice, ordinal}, kProtReadWrite};
    return hip().hipMemSetAccess(at, kBytes, &desc, 1) == kSuccess;
  }

  void grant_order() {
    int peer = -1;
    for (const Device& device : context_->devices.devices())
      if (device.ordinal != ordinal_ &&
          context_->devices.can_access(*context_->runtime, device.ordinal, ordinal_).value_or(false))
        peer = device.ordinal;
    if (peer < 0) return;
    begin(Ability::kClean, "granting the owner before a peer");
    Second second;
    bool granted = false;
    {
      const DriverScope scope(hip(), ordinal_);
      second = map_again(1);
      granted = second.count == 1 && let_in(second.base, ordinal_) && let_in(second.base, peer);
    }
    // A copy that failed has shown nothing.
    if (const auto wrong = granted ? compare(own_->base(), second.base, 3) : std::string(); granted && wrong)
      fact(Quirk::kOwnerGrantedFirstReadsWrongPages, !wrong->empty());
    const DriverScope scope(hip(), ordinal_);
    unmap(second, 1);
  }

  void tail_grant() {
    begin(Ability::kClean, "granting the tail of a range");
    const DriverScope scope(hip(), ordinal_);
    const Second second = map_again(2);
    if (second.count == 2 && let_in(second.base, ordinal_))
      fact(Quirk::kTailGrantIsInvalid, !let_in(second.base + kBytes, ordinal_));
    unmap(second, 2);
  }

  void host_access() {
    // What the table says is not believed here.
    auto bold = std::make_shared<Context>(*context_);
    bold->quirks.overrule(Quirk::kGrantsHost, true);
    bold->quirks.overrule(Quirk::kGrantsHostOnImport, true);
    begin(Ability::kHostOnOwn, "letting the CPU in to own memory");
    Access access = alone_;
    access.host = HostAccess::kRequire;
    auto own = make(bold, access);
    if (!own)
      no(Ability::kHostOnOwn, own.error());
    else if (!cpu_reads((*own)->base()))
      no(Ability::kHostOnOwn, "hipMemSetAccess for the CPU succeeds, and yet reading faults");
    else
      yes(Ability::kHostOnOwn);
    begin(Ability::kHostOnImport, "letting the CPU in to imported memory");
    auto import = bring_in(bold, HostAccess::kRequire);
    if (!import)
      no(Ability::kHostOnImport, import.error());
    else if (!cpu_reads((*import)->ptr()))
      no(Ability::kHostOnImport, "hipMemSetAccess for the CPU succeeds, and yet reading faults");
    else
      yes(Ability::kHostOnImport);
  }

  void queries() {
    char* const base = static_cast<char*>(import_->ptr());
    std::string wrong;
    for (char* at : {base, base + kBytes / 2}) {
      const std::string where = at == base ? " of an imported address" : " of an address inside an import";
      if (hip().hipPointerGetAttributes != nullptr) {
        begin(Ability::kQuerySafe, "hipPointerGetAttributes" + where);
        const DriverScope scope(hip(), ordinal_);
        PointerAttributes attributes{};
        const HipError code = hip().hipPointerGetAttributes(&attributes, at);
        if (code != kSuccess || attributes.type != kMemoryDevice)
          wrong =
              "hipPointerGetAttributes" + where + " does not say device memory: " + error_text(hip(), code);
      }
      if (hip().hipMemGetAddressRange != nullptr) {
        begin(Ability::kQuerySafe, "hipMemGetAddressRange" + where);
        const DriverScope scope(hip(), ordinal_);
        void* start = nullptr;
        std::size_t bytes = 0;
        const HipError code = hip().hipMemGetAddressRange(&start, &bytes, at);
        if (code != kSuccess || start != base || bytes != kBytes)
          wrong = "hipMemGetAddressRange" + where + " tells another range: " + error_text(hip(), code);
      }
      if (context_->runtime->hsa().hsa_amd_pointer_info != nullptr) {
        begin(Ability::kQuerySafe, "hsa_amd_pointer_info" + where);
        HsaPointerInfo info{};
        info.size = sizeof info;
        const HsaStatus status =
            context_->runtime->hsa().hsa_amd_pointer_info(at, &info, nullptr, nullptr, nullptr);
        if (status == kHsaSuccess && at != base)
          fact(Quirk::kHsaTellsQueriedAddressAsBase, info.agent_base_address == at);
      }
    }
    if (wrong.empty())
      yes(Ability::kQuerySafe);
    else
      no(Ability::kQuerySafe, wrong);
  }

  void clean() {
    begin(Ability::kClean, "giving everything back");
    const std::uint64_t before = open_descriptors();
    import_.reset();
    own_.reset();
    if (teardown_failures() != 0)
      no(Ability::kClean, "a call that gives memory back failed");
    else if (before > baseline_)
      no(Ability::kClean, std::to_string(before - baseline_) + " descriptors were left open by the runtime");
    else
      yes(Ability::kClean);
  }

  ContextPtr context_;
  int ordinal_;
  Access alone_;
  std::uint32_t handle_kind_ = HB_KIND_DMABUF;
  std::unique_ptr<MappedRange> own_;
  std::unique_ptr<Import> import_;
  std::uint64_t baseline_ = 0;
};

}  // namespace

void start() {
  if (const auto runtime = Runtime::get()) static_cast<void>(DeviceTable::read(**runtime, sysfs_root()));
}

void run(int ordinal) {
  begin(Ability::kExport, "starting HIP");
  const auto refuse = [](const Error& error) {
    no(Ability::kExport, error);
    no(Ability::kImport, error);
    say("end");
  };
  const auto runtime = Runtime::get();
  if (!runtime) return refuse(runtime.error());
  auto devices = DeviceTable::read(**runtime, sysfs_root());
  if (!devices) return refuse(devices.error());
  const Device* device = devices->at(ordinal);
  Error unusable;
  unusable.status = HB_UNSUPPORTED;
  unusable.message = "there is no device " + std::to_string(ordinal);
  if (device != nullptr)
    unusable.message =
        device->id.text() +
        ": the runtime says that this GPU has no virtual memory management (attribute 89 is 0)";
  if (device == nullptr || !device->vmm) return refuse(unusable);
  const auto context =
      std::make_shared<Context>(Context{*runtime, Quirks((*runtime)->version()), std::move(*devices)});
  Trial(context, ordinal).run();
  say("end");
}

}  // namespace hb::probe
