// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/continuity.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "ipc/engine.h"
#include "restart/crash_point.h"

namespace hb::ipc {
namespace {

using restart::CrashPoint;
using restart::ParkedEntry;
using restart::ParkedKind;

constexpr std::uint64_t kTryAgainNs = 1'000'000'000;

const core::CloseHandles* closed_by(const core::Effect& effect) {
  return std::get_if<core::CloseHandles>(&effect);
}

}  // namespace

Continuity::Continuity(Kept kept) : kept_(std::move(kept)) {
  if (!kept_.store) kept_.store = std::make_unique<os::DescriptorStore>();
  if (kept_.heap && kept_.node) codec_.emplace(*kept_.heap, *kept_.node);
  restart::Parking::Options options;
  options.limit = kept_.park_limit;
  options.step = [](const char* /*call*/) { restart::crash_point(CrashPoint::kParking); };
  parking_ = std::make_unique<restart::Parking>(*kept_.store, std::move(options),
                                                [this](const ParkedEntry& entry) { return own(entry); });
}

void Continuity::attach(const HandleStore& handles, InFlight& in_flight) {
  handles_ = &handles;
  in_flight_ = &in_flight;
}

BorrowedFd Continuity::own(const ParkedEntry& entry) const {
  if (entry.kind == ParkedKind::kHandle) {
    const UniqueFd* fd = handles_ != nullptr ? handles_->get(core::HandleId{entry.id}) : nullptr;
    return fd != nullptr ? BorrowedFd(*fd) : BorrowedFd();
  }
  const auto found = own_.find(entry);
  return found != own_.end() ? found->second : BorrowedFd();
}

// --- around an event ------------------------------------------------------------------------------

void Continuity::settle(core::Broker& broker, const core::Effects& effects) {
  const bool parks = has_store();
  if (parks && !fresh_.empty()) {
    park_fresh(effects);
    restart::crash_point(CrashPoint::kParked);
  }
  fresh_.clear();
  record(broker);
  if (parks) {
    std::vector<ParkedEntry> gone;
    for (const core::Effect& effect : effects) {
      const core::CloseHandles* close = closed_by(effect);
      if (close == nullptr) continue;
      for (const core::HandleId handle : close->handles) gone.push_back(entry_of(handle));
    }
    unpark(gone);
    restart::crash_point(CrashPoint::kUnparked);
  }
  note_changed(&broker);
}

// One that this very event let go of again, a duplicate for instance, was never anybody's.
void Continuity::park_fresh(const core::Effects& effects) {
  std::vector<core::HandleId> closing;
  for (const core::Effect& effect : effects) {
    if (const core::CloseHandles* close = closed_by(effect))
      closing.insert(closing.end(), close->handles.begin(), close->handles.end());
  }
  std::sort(closing.begin(), closing.end());
  std::vector<restart::ToPark> entries;
  for (const core::HandleId handle : fresh_) {
    const UniqueFd* fd = handles_->get(handle);
    if (fd == nullptr || std::binary_search(closing.begin(), closing.end(), handle)) continue;
    entries.push_back({entry_of(handle), *fd});
  }
  park(entries);
}

void Continuity::park(std::span<const restart::ToPark> entries) {
  if (entries.empty()) return;
  const auto parked = parking_->park(entries);
  if (parked) return;
  park_error_ = parked.error();
  tried_ = monotonic_now();
  for (const restart::ToPark& one : entries) unparked_.insert(one.entry);
}

void Continuity::record(core::Broker& broker) {
  if (!codec_) return;
  codec_->begin();
  broker.write_changes(*codec_);
  codec_->commit();
  restart::crash_point(CrashPoint::kRecorded);
}

// --- descriptors of the edge ----------------------------------------------------------------------

bool Continuity::park(const ParkedEntry& entry, BorrowedFd own) {
  if (!has_store()) return false;
  own_.insert_or_assign(entry, own);
  const restart::ToPark one{entry, own};
  park(std::span(&one, 1));
  note_changed(nullptr);
  return parking_->is_parked(entry);
}

void Continuity::unpark(std::span<const ParkedEntry> entries) {
  if (entries.empty()) return;
  for (const ParkedEntry& entry : entries) unparked_.erase(entry);
  for (const ParkedEntry& lost : parking_->unpark(entries)) {
    unparked_.insert(lost);
    park_error_ = "descriptors beside one that ended could not be parked again";
  }
  for (const ParkedEntry& entry : entries) own_.erase(entry);
  if (!unparked_.empty()) park_again();
  note_changed(nullptr);
}

// There may be room now; a second between two tries, since each may have to ask the service manager.
void Continuity::park_again() {
  const std::uint64_t now = monotonic_now();
  if (now - tried_ < kTryAgainNs) return;
  tried_ = now;
  std::vector<restart::ToPark> entries;
  for (const ParkedEntry& entry : unparked_) {
    if (entries.size() == restart::ParkingQueue::kMessageFds) break;
    if (const BorrowedFd fd = own(entry); fd.get() >= 0) entries.push_back({entry, fd});
  }
  const auto parked = parking_->park(entries);
  if (!parked) {
    park_error_ = parked.error();
    return;
  }
  for (const restart::ToPark& one : entries) unparked_.erase(one.entry);
}

void Continuity::forget_records(std::span<const restart::RecordKey> keys) {
  if (!kept_.heap) return;
  std::vector<restart::RecordKey> doomed(keys.begin(), keys.end());
  if (doomed.empty())
    kept_.heap->for_each(
        [&](const restart::RecordKey& key, std::span<const std::byte>) { doomed.push_back(key); });
  kept_.heap->begin();
  for (const restart::RecordKey& key : doomed) kept_.heap->drop(key);
  kept_.heap->commit();
}

void Continuity::drop_unknown() {
  const auto known = [this](const ParkedEntry& entry) {
    return entry.kind == ParkedKind::kHandle ? handles_->get(core::HandleId{entry.id}) != nullptr
                                             : own_.count(entry) != 0;
  };
  for (const ParkedEntry& lost : parking_->drop_unknown(known)) unparked_.insert(lost);
  note_changed(nullptr);
}

// --- how it stands --------------------------------------------------------------------------------

bool Continuity::is_parked(core::HandleId handle) const { return parking_->is_parked(entry_of(handle)); }

Continuity::State Continuity::state() const {
  State state;
  state.parked = parking_->in_flight();
  state.parked_limit = has_store() ? parking_->limit() : 0;
  state.store_entries = kept_.store->entries();
  state.store_entries_max = kept_.store->entries_max();
  if (kept_.heap) {
    state.records = kept_.heap->records();
    state.records_bytes = kept_.heap->region_bytes();
  }
  if (kept_.node) state.restarts = kept_.node->epoch() - 1;
  if (!kept_.unsafe.empty()) {
    state.reason = kept_.unsafe;
  } else if (!has_store()) {
    state.reason = why_no_store();
  } else if (codec_ && !codec_->trouble().empty()) {
    state.reason = "not all is recorded: " + codec_->trouble();
  } else if (!unparked_.empty()) {
    state.reason = std::to_string(unparked_.size()) + " descriptors are not parked: " + park_error_;
  } else {
    state.safe = true;
  }
  return state;
}

void Continuity::note_changed(core::Broker* broker) {
  if (!has_store()) return;
  if (in_flight_ != nullptr) in_flight_->set_parked(parking_->in_flight());
  const std::uint64_t queue_fds = 2 * parking_->queues();
  if (broker != nullptr && queue_fds != queue_fds_) {
    broker->note_extra_fds(static_cast<std::int64_t>(queue_fds) - static_cast<std::int64_t>(queue_fds_));
    queue_fds_ = queue_fds;
  }
  const bool unsafe = !unparked_.empty() || (codec_ && !codec_->trouble().empty());
  if (unsafe == said_unsafe_) return;
  const auto left_out = lines_.admit(monotonic_now());
  if (!left_out) return;
  said_unsafe_ = unsafe;
  observe::log(unsafe ? observe::Level::kWarning : observe::Level::kInfo, observe::Message::kNotRestartSafe,
               unsafe ? "a restart would lose something: " + state().reason
                      : std::string("a restart would lose nothing any more"));
}

}  // namespace hb::ipc
