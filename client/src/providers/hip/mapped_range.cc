// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/mapped_range.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "fork_guard.h"
#include "hipbroker/hipbroker.h"
#include "providers/hip/driver.h"

namespace hb::client::hip {
namespace {

std::atomic<bool> g_exiting{false};

std::string chunk_name(std::int64_t chunk) { return "chunk " + std::to_string(chunk); }

std::string address_text(const void* at) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", at);
  return text;
}

}  // namespace

void watch_for_exit() {
  // Handlers run in the reverse order of their registration: after the runtime was loaded, this one comes
  // before any of its own.
  static const bool armed = std::atexit([] { g_exiting = true; }) == 0;
  static_cast<void>(armed);
}

bool is_exiting() { return g_exiting.load(std::memory_order_relaxed); }

MappedRange::MappedRange(ContextPtr context, Access access)
    : context_(std::move(context)), access_(std::move(access)), process_(::getpid()) {}

Result<std::unique_ptr<MappedRange>> MappedRange::reserve(ContextPtr context, const Access& access,
                                                          const Wish& wish) {
  watch_for_exit();
  std::unique_ptr<MappedRange> range(new MappedRange(std::move(context), access));
  const HipTable& hip = range->context_->hip();
  const std::string doing = "reserving " + std::to_string(wish.bytes) + " bytes of addresses";
  const std::size_t alignment = wish.alignment < kLargePage ? kLargePage : wish.alignment;
  const auto misaligned = [alignment](const void* at) {
    return (reinterpret_cast<std::uintptr_t>(at) & (alignment - 1)) != 0;
  };
  // First the plain size: most runtimes align well enough, and what is not reserved needs no page tables.
  for (const std::size_t spare : {std::size_t{0}, alignment}) {
    void* at = nullptr;
    const HipError code = hip.hipMemAddressReserve(&at, wish.bytes + spare, alignment, wish.address, 0);
    if (code != kSuccess) {
      Error error = driver_error(hip, "hipMemAddressReserve", code, doing, HB_NO_MEMORY);
      if (wish.address != nullptr && error.status == HB_NO_MEMORY) error.status = HB_ADDRESS;
      return fail(std::move(error));
    }
    const bool elsewhere = wish.address != nullptr && at != wish.address;
    if (elsewhere || (wish.address == nullptr && spare == 0 && misaligned(at))) {
      note_teardown(hip.hipMemAddressFree(at, wish.bytes + spare));
      if (elsewhere)
        return fail(HB_ADDRESS,
                    doing + ": the wished address is taken or impossible: the runtime gave another");
      continue;
    }
    range->reserved_ = at;
    range->reserved_size_ = wish.bytes + spare;
    range->held_ = true;
    const auto start = (reinterpret_cast<std::uintptr_t>(at) + alignment - 1) & ~(alignment - 1);
    range->base_ = wish.address != nullptr ? static_cast<char*>(at) : reinterpret_cast<char*>(start);
    range->usable_ = wish.bytes;
    range->alignment_ = alignment;
    return range;
  }
  return fail(HB_INTERNAL, doing + ": no aligned place in a larger one");
}

bool MappedRange::is_here() const { return ::getpid() == process_; }

bool MappedRange::untouchable() const { return !is_here() || is_exiting(); }

void MappedRange::set_count(std::size_t count) {
  count_ = count;
  mapped_ = 0;
  bool host = count != 0;
  for (std::size_t i = 0; i < count; ++i) {
    mapped_ += chunks_[i].bytes;
    host = host && chunks_[i].host;
  }
  host_granted_.store(host, std::memory_order_relaxed);
}

// ---- one allocation -----------------------------------------------------------------------------

Result<void> MappedRange::map_chunk(Chunk& chunk, const Access& access, const std::string& doing) {
  // Never believed alone: before 7.14 it answers success for what fails. The grant tells.
  const HipError code = context_->hip().hipMemMap(chunk.at, chunk.bytes, 0, chunk.handle.get(), 0);
  if (code != kSuccess) return fail(driver_error(context_->hip(), "hipMemMap", code, doing));
  chunk.mapped = true;
  return grant(*context_, access, base_, chunk.at, chunk.bytes, doing, chunk.host);
}

Result<void> MappedRange::add(OwnedHandle handle, std::size_t bytes, std::int64_t chunk) {
  const std::string doing = chunk_name(chunk);
  const auto failed = [chunk](Error error) {
    error.chunk = chunk;
    return fail(std::move(error));
  };
  if (asleep_) return failed(fail(HB_SUSPENDED, doing + ": this memory is asleep").value());
  if (bytes > usable_ - mapped_)
    return failed(limit_error(HB_RANGE, "bytes", mapped_ + bytes, usable_,
                              doing + " of " + std::to_string(bytes) + " bytes does not fit behind the " +
                                  std::to_string(mapped_) + " mapped of " + std::to_string(usable_)));
  // Where the CPU stayed out of a part of it the rest is of no use to it either.
  const bool host = access_.host != HostAccess::kNone && (count_ == 0 || host_granted());
  {
    const std::lock_guard guard(process_lock());
    chunks_.push_back({std::move(handle), base_ + mapped_, bytes, false, host});
  }
  if (auto mapped = map_chunk(chunks_.back(), access_, doing); !mapped)
    return failed(std::move(mapped.error()));
  // One by one: there may be 65,536.
  host_granted_.store(chunks_.back().host, std::memory_order_relaxed);
  mapped_ += bytes;
  ++count_;
  return {};
}

Result<void> MappedRange::unmap_one(Chunk& chunk, const std::string& doing) {
  const bool waits = context_->quirks.on(Quirk::kUnmapSynchronises);
  const DriverScope scope(context_->hip(), DriverScope::kAnyDevice, waits ? Lock::kNo : Lock::kYes);
  if (scope.failed_call() != nullptr)
    return fail(driver_error(context_->hip(), scope.failed_call(), scope.code(), doing, HB_DEVICE));
  chunk.mapped = false;
  const HipError code = context_->hip().hipMemUnmap(chunk.at, chunk.bytes);
  note_teardown(code);
  if (code != kSuccess) return fail(driver_error(context_->hip(), "hipMemUnmap", code, doing));
  return {};
}

// Whoever was told that the CPU may read there goes on doing so.
Access MappedRange::access_of(const Chunk& chunk) const {
  Access access = access_;
  if (chunk.host) access.host = HostAccess::kRequire;
  return access;
}

Result<void> MappedRange::put(Chunk& chunk, const Access& access, const std::string& doing) {
  const DriverScope scope(context_->hip(), access_.device());
  if (scope.failed_call() != nullptr)
    return fail(driver_error(context_->hip(), scope.failed_call(), scope.code(), doing, HB_DEVICE));
  return map_chunk(chunk, access, doing);
}

// The allocation that was there, after `error` kept another one from taking its place.
void MappedRange::restore(Chunk& chunk, const std::string& doing, Error& error) {
  const Access access = access_of(chunk);
  bool host = chunk.host;
  auto back = put(chunk, access, doing);
  if (!back) {
    // An unmap that failed may have left it where it was: then nothing can be mapped there, but let in.
    const DriverScope scope(context_->hip(), access_.device());
    if (grant(*context_, access, base_, chunk.at, chunk.bytes, doing, host)) back = {};
    if (back) chunk.mapped = true;
    chunk.host = host;
  }
  if (back) return;
  note_teardown(kUnknownError);
  error.message += "; and the allocation that was there could not be mapped again: " + back.error().message +
                   ". The " + std::to_string(chunk.bytes) + " bytes at " + address_text(chunk.at) +
                   " must not be used before another replacement";
}

// On success `fresh` has what was there.
Result<void> MappedRange::exchange(std::size_t index, Chunk& fresh, std::int64_t number) {
  const std::string doing = chunk_name(number);
  Chunk& chunk = chunks_[index];
  auto done = chunk.mapped ? unmap_one(chunk, doing) : Result<void>();
  const bool gap = !chunk.mapped;
  if (done) done = put(fresh, access_of(chunk), doing);
  if (!done) {
    if (fresh.mapped) static_cast<void>(unmap_one(fresh, doing));
    if (gap) restore(chunk, doing, done.error());
    done.error().chunk = number;
    return done;
  }
  const DriverScope scope(context_->hip(), DriverScope::kAnyDevice);
  fresh.handle.swap(chunk.handle);
  chunk.mapped = true;
  return done;
}

Result<void> MappedRange::replace(std::size_t index, OwnedHandle handle, std::int64_t number) {
  Chunk fresh{std::move(handle), chunks_[index].at, chunks_[index].bytes, false, chunks_[index].host};
  {
    const std::lock_guard guard(process_lock());
    if (replaced_.size() == replaced_.capacity()) replaced_.reserve(2 * replaced_.size() + 1);
  }
  auto done = exchange(index, fresh, number);
  if (done) {
    const std::lock_guard guard(process_lock());
    replaced_.push_back({index, number, std::move(fresh.handle)});
    return done;
  }
  const DriverScope scope(context_->hip(), DriverScope::kAnyDevice);
  fresh.handle.release();
  return done;
}

void MappedRange::undo_replaced() noexcept {
  if (replaced_.empty() || untouchable()) return;
  for (auto old = replaced_.rbegin(); old != replaced_.rend(); ++old) {
    Chunk fresh{std::move(old->handle), chunks_[old->index].at, chunks_[old->index].bytes, false,
                chunks_[old->index].host};
    if (!exchange(old->index, fresh, old->number)) note_teardown(kUnknownError);
    old->handle.swap(fresh.handle);
  }
  keep_replaced();
}

void MappedRange::keep_replaced() noexcept {
  if (replaced_.empty()) return;
  if (untouchable()) {
    for (Replaced& old : replaced_) old.handle.forget();
  } else {
    const DriverScope scope(context_->hip(), DriverScope::kAnyDevice);
    for (Replaced& old : replaced_) old.handle.release();
  }
  const std::lock_guard guard(process_lock());
  replaced_.clear();
}

// ---- several ------------------------------------------------------------------------------------

void MappedRange::unmap_from(std::size_t first) {
  // Each by itself and by its own size; one call for many leaks use counts in old runtimes. Not twice when
  // it fails: an unknown address crashes them.
  for (std::size_t i = first; i < chunks_.size(); ++i)
    if (std::exchange(chunks_[i].mapped, false))
      note_teardown(context_->hip().hipMemUnmap(chunks_[i].at, chunks_[i].bytes));
}

void MappedRange::drop(std::size_t first, bool addresses_too) noexcept {
  if (first == chunks_.size() && !(addresses_too && held_)) return;
  const auto forget_list = [&] {
    const std::lock_guard guard(process_lock());
    while (chunks_.size() > first) chunks_.pop_back();
  };
  if (untouchable()) {
    for (std::size_t i = first; i < chunks_.size(); ++i) chunks_[i].handle.forget();
    forget_list();
    return;
  }
  if (context_->quirks.on(Quirk::kUnmapSynchronises) && first != chunks_.size()) {
    const DriverScope scope(context_->hip(), DriverScope::kAnyDevice, Lock::kNo);
    unmap_from(first);
  }
  const DriverScope scope(context_->hip(), DriverScope::kAnyDevice);
  unmap_from(first);
  if (addresses_too && std::exchange(held_, false))
    note_teardown(context_->hip().hipMemAddressFree(reserved_, reserved_size_));
  for (std::size_t i = first; i < chunks_.size(); ++i) chunks_[i].handle.release();
  forget_list();
}

void MappedRange::settle() noexcept { drop(count_, false); }

void MappedRange::cut(std::size_t count) noexcept {
  if (count < count_) set_count(count);
  settle();
}

void MappedRange::sleep() noexcept {
  if (host_granted()) access_.host = HostAccess::kRequire;
  asleep_ = true;
  set_count(0);
  drop(0, context_->quirks.on(Quirk::kReservationPinsMemory));
}

Result<void> MappedRange::wake() {
  if (!asleep_ || held_) {
    asleep_ = false;
    return {};
  }
  const HipTable& hip = context_->hip();
  const std::string doing = "waking " + std::to_string(usable_) + " bytes at " + address_text(base_);
  const DriverScope scope(hip, access_.device());
  if (scope.failed_call() != nullptr)
    return fail(driver_error(hip, scope.failed_call(), scope.code(), doing, HB_DEVICE));
  void* at = nullptr;
  const HipError code = hip.hipMemAddressReserve(&at, reserved_size_, alignment_, reserved_, 0);
  if (code != kSuccess) return fail(driver_error(hip, "hipMemAddressReserve", code, doing, HB_ADDRESS));
  if (at != reserved_) {
    note_teardown(hip.hipMemAddressFree(at, reserved_size_));
    return fail(HB_ADDRESS,
                doing + ": something else is mapped there. While it slept the addresses were free, since " +
                    context_->runtime->name() +
                    " gives no memory back as long as they are reserved. Unmap what is there and wake it "
                    "again, or give it up and make it anew");
  }
  held_ = true;
  asleep_ = false;
  return {};
}

MappedRange::~MappedRange() {
  if (reserved_ == nullptr) return;  // never came to be; perhaps inside a DriverScope
  keep_replaced();
  count_ = 0;
  drop(0, true);
}

}  // namespace hb::client::hip
