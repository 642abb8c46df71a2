// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "probe/peers.h"

#include <memory>
#include <string>
#include <vector>

#include "hipbroker/hipbroker.h"
#include "probe/copy.h"
#include "probe/report.h"
#include "providers/hip/peers.h"
#include "providers/hip/vmm.h"

namespace hb::probe {
namespace {

using namespace hb::client::hip;  // NOLINT: this file is about nothing else
using client::Result;

constexpr std::size_t kBytes = 2 * kLargePage;  // two mappings' worth: a wrong page further on is seen, too

using Bytes = std::vector<unsigned char>;

class PeerTrial {
 public:
  PeerTrial(ContextPtr context, int owner, int other)
      : context_(std::move(context)), owner_(owner), other_(other) {}

  void run() {
    begin("asking hipDeviceCanAccessPeer");
    const auto reaches = context_->devices.can_access(*context_->runtime, other_, owner_);
    if (!reaches) return end(PairEnd::kFailed, reaches.error().message);
    if (!*reaches)
      return end(PairEnd::kNoAccess, "the runtime says that device " + std::to_string(other_) +
                                         " does not reach device " + std::to_string(owner_));
    begin("making memory that both reach");
    AllocateSpec shared;
    shared.bytes = kBytes;
    shared.chunk_bytes = kLargePage;
    shared.access.owner = owner_;
    shared.access.peers = {other_};
    auto memory = allocate(context_, shared);
    if (!memory) return end(PairEnd::kFailed, memory.error().message);
    AllocateSpec own;
    own.bytes = kBytes;
    own.access.owner = other_;
    auto local = allocate(context_, own);
    if (!local) return end(PairEnd::kFailed, local.error().message);
    if (!both_ways((*memory)->base(), (*local)->base(), "memory of this process", 1)) return;
    begin("importing that memory for both");
    auto import = bring_in(**memory);
    if (!import) return end(PairEnd::kFailed, import.error().message);
    if (!both_ways(static_cast<char*>((*import)->ptr()), (*local)->base(), "imported memory", 2)) return;
    end(PairEnd::kOk, "");
  }

 private:
  void begin(const std::string& what) { say("begin " + std::to_string(other_) + " " + what); }
  void end(PairEnd how, const std::string& reason) {
    say("pair " + std::to_string(other_) + " " + pair_end_name(how) + " " + reason);
  }

  Result<std::unique_ptr<Import>> bring_in(MappedRange& memory) {
    std::vector<ImportChunk> chunks;
    for (std::size_t i = 0; i < memory.size(); ++i) {
      auto descriptor = export_chunk(*context_, memory, i);
      if (!descriptor) return tl::unexpected(descriptor.error());
      ImportChunk chunk;
      chunk.descriptor = std::move(*descriptor);
      chunk.bytes = memory.chunk_bytes(i);
      chunk.handle_kind = HB_KIND_DMABUF;
      chunk.number = static_cast<std::int64_t>(i);
      chunks.push_back(std::move(chunk));
    }
    ImportSpec spec;
    spec.access = memory.access();
    spec.access.imported = true;
    spec.owner = context_->devices.at(owner_)->id;
    spec.bytes = memory.mapped_bytes();
    spec.chunks = chunks.size();
    auto import = Import::begin(context_, spec);
    if (!import) return tl::unexpected(import.error());
    auto out = std::make_unique<Import>(std::move(*import));
    if (auto added = out->add(chunks); !added) return tl::unexpected(added.error());
    return out;
  }

  // The owner writes and the other reads, then the other writes and the owner reads. Each side passes through
  // memory of its own GPU: a copy straight to the CPU may be done by another engine.
  bool both_ways(char* memory, char* local, const std::string& which, unsigned char seed) {
    const std::string reads =
        "device " + std::to_string(other_) + " reading " + which + " of device " + std::to_string(owner_);
    const std::string writes =
        "device " + std::to_string(other_) + " writing " + which + " of device " + std::to_string(owner_);
    const Bytes first = pattern(seed);
    const Bytes second = pattern(static_cast<unsigned char>(seed + 100));
    Bytes back(kBytes);
    begin(reads);
    if (!moved(owner_, memory, first.data(), kCopyHostToDevice, reads) ||
        !moved(other_, local, memory, kCopyDeviceToDevice, reads) ||
        !moved(other_, back.data(), local, kCopyDeviceToHost, reads) || !same(first, back, reads))
      return false;
    begin(writes);
    return moved(other_, local, second.data(), kCopyHostToDevice, writes) &&
           moved(other_, memory, local, kCopyDeviceToDevice, writes) &&
           moved(owner_, back.data(), memory, kCopyDeviceToHost, writes) && same(second, back, writes);
  }

  bool moved(int device, void* to, const void* from, CopyKind kind, const std::string& doing) {
    const auto copied = copy(context_->hip(), device, to, from, kBytes, kind);
    if (!copied) end(PairEnd::kFailed, doing + ": " + copied.error().message);
    return copied.has_value();
  }

  bool same(const Bytes& wanted, const Bytes& got, const std::string& doing) {
    for (std::size_t i = 0; i < kBytes; ++i) {
      if (wanted[i] == got[i]) continue;
      end(PairEnd::kWrongBytes, doing + ": other bytes than were written, first at " + std::to_string(i));
      return false;
    }
    return true;
  }

  static Bytes pattern(unsigned char seed) {
    Bytes out(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) out[i] = static_cast<unsigned char>(i * 31 + (i >> 12) + seed);
    return out;
  }

  ContextPtr context_;
  int owner_;
  int other_;
};

}  // namespace

void run_peers(int owner, int first) {
  const auto runtime = Runtime::get();
  if (!runtime) return say("refused " + runtime.error().message);
  auto devices = DeviceTable::read(**runtime, sysfs_root());
  if (!devices) return say("refused " + devices.error().message);
  if (devices->at(owner) == nullptr) return say("refused there is no device " + std::to_string(owner));
  const auto context =
      std::make_shared<Context>(Context{*runtime, Quirks((*runtime)->version()), std::move(*devices)});
  for (const Device& device : context->devices.devices())
    if (device.ordinal != owner && device.ordinal >= first) PeerTrial(context, owner, device.ordinal).run();
  say("end");
}

}  // namespace hb::probe
