// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/blocks.h"

#include <unistd.h>

#include <utility>

#include "handle_kind.h"
#include "hipbroker/hipbroker.h"
#include "providers/hip/driver.h"
#include "providers/hip/provider.h"
#include "providers/hip/vmm.h"

namespace hb::client::hip {
namespace {

// Between finding the addresses and reserving them block by block, another thread of the process may map
// something there.
constexpr int kTries = 8;

bool each_its_own(const Quirks& quirks) {
  return quirks.on(Quirk::kTailGrantIsInvalid) || quirks.on(Quirk::kReservationPinsMemory);
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

Error entry_error(const Context& context, const DriverScope& scope, const std::string& doing) {
  return driver_error(context.hip(), scope.failed_call(), scope.code(), doing, HB_DEVICE);
}

std::string name_of(std::size_t index) { return "block " + std::to_string(index); }

tl::unexpected<Error> of_block(Error error, std::size_t index) {
  error.chunk = static_cast<std::int64_t>(index);
  return fail(std::move(error));
}

}  // namespace

Blocks::Blocks(ContextPtr context, Access access, std::uint64_t block_bytes, std::size_t count)
    : context_(std::move(context)),
      access_(std::move(access)),
      block_bytes_(block_bytes),
      blocks_(count),
      process_(::getpid()) {}

Result<std::unique_ptr<Blocks>> Blocks::reserve(const ContextPtr& context, const BlockSpec& spec) {
  if (auto able = check_host_access(*context, spec.access); !able) return tl::unexpected(able.error());
  const auto unit = granularity(*context, spec.access.owner);
  if (!unit) return tl::unexpected(unit.error());
  const std::uint64_t block = spec.block_bytes == 0 ? *unit : round_up(spec.block_bytes, *unit);
  const auto count = static_cast<std::size_t>((spec.bytes + block - 1) / block);
  std::unique_ptr<Blocks> out(new Blocks(context, spec.access, block, count));
  const auto alignment = static_cast<std::size_t>(block & -block);
  const DriverScope scope(context->hip(), spec.access.owner);
  if (scope.failed_call() != nullptr) return fail(entry_error(*context, scope, "reserving an arena"));
  if (each_its_own(context->quirks)) {
    if (auto reserved = out->reserve_each(alignment); !reserved) return tl::unexpected(reserved.error());
    return out;
  }
  auto whole = MappedRange::reserve(context, spec.access,
                                    {static_cast<std::size_t>(count * block), alignment, nullptr});
  if (!whole) return tl::unexpected(std::move(whole.error()));
  out->whole_ = std::move(*whole);
  out->base_ = out->whole_->base();
  return out;
}

Result<void> Blocks::reserve_each(std::size_t alignment) {
  watch_for_exit();
  const HipTable& hip = context_->hip();
  const std::size_t bytes = static_cast<std::size_t>(block_bytes_) * blocks_.size() + alignment;
  Result<void> reserved;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    void* found = nullptr;
    if (const HipError code = hip.hipMemAddressReserve(&found, bytes, alignment, nullptr, 0);
        code != kSuccess)
      return fail(driver_error(hip, "hipMemAddressReserve", code,
                               "reserving " + std::to_string(bytes) + " bytes of addresses", HB_NO_MEMORY));
    note_teardown(hip.hipMemAddressFree(found, bytes));
    base_ =
        reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(found) + alignment - 1) & ~(alignment - 1));
    std::size_t done = 0;
    do reserved = reserve_one(done);
    while (reserved && ++done < blocks_.size());
    if (reserved) return reserved;
    while (done-- > 0) {
      note_teardown(hip.hipMemAddressFree(at(done), block_bytes_));
      blocks_[done].reserved = false;
    }
    if (reserved.error().status != HB_ADDRESS) return reserved;
  }
  return reserved;
}

Result<void> Blocks::reserve_one(std::size_t index) {
  const HipTable& hip = context_->hip();
  const std::string doing = "reserving the addresses of " + name_of(index);
  void* got = nullptr;
  const HipError code = hip.hipMemAddressReserve(&got, block_bytes_, kLargePage, at(index), 0);
  if (code != kSuccess)
    return of_block(driver_error(hip, "hipMemAddressReserve", code, doing, HB_ADDRESS), index);
  if (got == at(index)) {
    blocks_[index].reserved = true;
    return {};
  }
  note_teardown(hip.hipMemAddressFree(got, block_bytes_));
  Error error;
  error.status = HB_ADDRESS;
  error.message = doing + ": another mapping of this process has taken them: the runtime gave others";
  return of_block(std::move(error), index);
}

Blocks::~Blocks() {
  if (base_ == nullptr) return;  // never came to be
  if (::getpid() != process_ || is_exiting()) {
    Blocks::forget();
    return;
  }
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    if (blocks_[i].handle) static_cast<void>(take_down(i, true));
  if (whole_ != nullptr) return;
  const DriverScope scope(context_->hip(), DriverScope::kAnyDevice);
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    if (blocks_[i].reserved) note_teardown(context_->hip().hipMemAddressFree(at(i), block_bytes_));
}

void Blocks::forget() noexcept {
  for (Block& block : blocks_) {
    if (block.handle) block.handle->forget();
    block.handle.reset();
  }
  base_ = nullptr;
}

Result<void> Blocks::check_room(std::uint64_t blocks, const std::string& doing) const {
  return check_create_room(*context_, blocks, doing);
}

Result<void> Blocks::map_block(std::size_t index) {
  bool is_mapped = false;
  Result<void> mapped;
  {
    const DriverScope scope(context_->hip(), access_.owner);
    mapped = scope.failed_call() == nullptr
                 ? map_inside(index, is_mapped)
                 : Result<void>(of_block(entry_error(*context_, scope, name_of(index)), index));
  }
  if (!mapped && blocks_[index].handle) static_cast<void>(take_down(index, is_mapped));
  return mapped;
}

Result<void> Blocks::map_inside(std::size_t index, bool& is_mapped) {
  Block& block = blocks_[index];
  // Its addresses were lost when it was given back before: perhaps they are free by now.
  if (whole_ == nullptr && !block.reserved)
    if (auto reserved = reserve_one(index); !reserved) return reserved;
  auto made = create_chunk(context_, access_.owner, static_cast<std::size_t>(block_bytes_),
                           static_cast<std::int64_t>(index));
  if (!made) return tl::unexpected(std::move(made.error()));
  block.handle.emplace(std::move(*made));
  // Not believed: before 7.14 it answers success for what fails. The grant tells.
  const HipError code = context_->hip().hipMemMap(at(index), block_bytes_, 0, block.handle->get(), 0);
  if (code != kSuccess)
    return of_block(driver_error(context_->hip(), "hipMemMap", code, name_of(index)), index);
  is_mapped = true;
  auto in = let_in(index, name_of(index));
  if (!in) return of_block(std::move(in.error()), index);
  return {};
}

Result<void> Blocks::let_in(std::size_t index, const std::string& doing) {
  // All blocks are alike: the first one decides whether the CPU may use them.
  const Host known = host_.load();
  Access access = access_;
  if (known == Host::kIn) access.host = HostAccess::kRequire;
  if (known == Host::kOut) access.host = HostAccess::kNone;
  bool host = access.host != HostAccess::kNone;
  if (auto granted = grant(*context_, access, at(index), at(index), block_bytes_, doing, host); !granted)
    return granted;
  host_.store(host ? Host::kIn : Host::kOut);  // every caller is under the lock of its DriverScope
  return {};
}

bool Blocks::take_down(std::size_t index, bool is_mapped) {
  const HipTable& hip = context_->hip();
  Block& block = blocks_[index];
  bool ok = true;
  const auto unmap = [&] {
    if (!std::exchange(is_mapped, false)) return;
    const HipError code = hip.hipMemUnmap(at(index), block_bytes_);
    note_teardown(code);
    ok = code == kSuccess;
  };
  if (is_mapped && context_->quirks.on(Quirk::kUnmapSynchronises)) {
    const DriverScope scope(hip, DriverScope::kAnyDevice, Lock::kNo);
    unmap();
  }
  const DriverScope scope(hip, DriverScope::kAnyDevice);
  unmap();
  if (block.reserved && context_->quirks.on(Quirk::kReservationPinsMemory)) {
    note_teardown(hip.hipMemAddressFree(at(index), block_bytes_));
    block.reserved = false;
    ok = reserve_one(index).has_value() && ok;
  }
  block.handle.reset();
  return ok;
}

bool Blocks::unmap_block(std::size_t index) noexcept { return take_down(index, true); }

Result<UniqueFd> Blocks::export_block(std::size_t index) {
  const DriverScope scope(context_->hip(), access_.owner);
  const std::string doing = "exporting " + name_of(index);
  if (scope.failed_call() != nullptr) return of_block(entry_error(*context_, scope, doing), index);
  auto made = blocks_[index].handle->export_descriptor(doing);
  if (!made) return of_block(std::move(made.error()), index);
  if (kind_.load(std::memory_order_relaxed) == 0) kind_.store(kind_of(*made), std::memory_order_relaxed);
  return made;
}

const DeviceId& Blocks::device() const { return context_->devices.at(access_.owner)->id; }

std::vector<PeerGrant> Blocks::peers() const { return peer_grants(context_->devices, {}, access_); }

bool Blocks::gives_back() const { return !context_->quirks.on(Quirk::kReleaseMayKeepMemory); }

Result<std::unique_ptr<BlockRange>> HipProvider::reserve(const AllocateRequest& request) {
  auto placed = place(request);
  if (!placed) return tl::unexpected(std::move(placed.error()));
  auto blocks =
      Blocks::reserve(placed->known.context, {request.bytes, request.chunk_bytes, std::move(placed->access)});
  if (!blocks) return tl::unexpected(std::move(blocks.error()));
  return std::unique_ptr<BlockRange>(std::move(*blocks));
}

}  // namespace hb::client::hip
