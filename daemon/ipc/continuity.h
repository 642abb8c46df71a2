// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What of the broker outlives this process: its records, and copies of its descriptors parked with the service
// manager. The engine calls settle() after every event of the core and before any effect of it is carried out:
// an answer says that what it tells is parked and recorded.
//
// Nothing here fails towards a client. What cannot be parked or recorded would be lost by a restart, and
// state() says so until it is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/broker.h"
#include "ipc/handle_store.h"
#include "ipc/in_flight.h"
#include "observe/log.h"
#include "os/descriptor_store.h"
#include "restart/node_memory.h"
#include "restart/parking.h"
#include "restart/record_codec.h"

namespace hb::ipc {

class Continuity {
 public:
  // What the composition found: each may be missing.
  struct Kept {
    std::unique_ptr<os::DescriptorStore> store;
    std::optional<restart::NodeMemory> node;
    std::optional<restart::RecordHeap> heap;  // with a node only
    std::uint64_t park_limit = 0;
    std::string unsafe;  // why memory ends with the process; "" where it does not
  };
  Continuity() : Continuity(Kept{}) {}  // nothing outlives
  explicit Continuity(Kept kept);
  Continuity(const Continuity&) = delete;
  Continuity& operator=(const Continuity&) = delete;

  // Both outlive this.
  void attach(const HandleStore& handles, InFlight& in_flight);

  // --- around an event --------------------------------------------------------------------------
  void expect(core::HandleId handle) { fresh_.push_back(handle); }  // let in by the event to come
  // Parks what is new, records what changed, and takes out of the parking what the effects let go of.
  void settle(core::Broker& broker, const core::Effects& effects = {});

  // --- descriptors of the edge --------------------------------------------------------------------
  // The owner keeps its own until unpark(). False: a restart would lose it.
  bool park(const restart::ParkedEntry& entry, BorrowedFd own);
  void unpark(std::span<const restart::ParkedEntry> entries);

  // --- a start ----------------------------------------------------------------------------------
  [[nodiscard]] restart::Parking& parking() { return *parking_; }
  [[nodiscard]] const restart::RecordHeap* heap() const { return kept_.heap ? &*kept_.heap : nullptr; }
  [[nodiscard]] const restart::NodeMemory* node() const { return kept_.node ? &*kept_.node : nullptr; }
  // It came out of the parking, and is still there.
  void adopt(const restart::ParkedEntry& entry, BorrowedFd own) { own_.insert_or_assign(entry, own); }
  // They can be read no more, or what they say fits nothing. Without keys: all of them.
  void forget_records(std::span<const restart::RecordKey> keys = {});
  // Everything that is still wanted was adopted: the rest is closed.
  void drop_unknown();
  [[nodiscard]] static restart::ParkedEntry entry_of(core::HandleId handle) {
    return {restart::ParkedKind::kHandle, handle.value, 0};
  }
  [[nodiscard]] bool records() const { return codec_.has_value(); }

  // --- how it stands ------------------------------------------------------------------------------
  struct State {
    bool safe = false;
    std::string reason;  // why not
    std::uint64_t parked = 0;
    std::uint64_t parked_limit = 0;
    std::uint64_t store_entries = 0;
    std::uint64_t store_entries_max = 0;
    std::uint64_t records = 0;
    std::uint64_t records_bytes = 0;
    std::uint64_t restarts = 0;
  };
  [[nodiscard]] State state() const;
  // Descriptors outlive the process, so that memory may outlive its owner for good.
  [[nodiscard]] bool has_store() const { return kept_.store->available() && kept_.heap; }
  [[nodiscard]] const std::string& why_no_store() const { return kept_.store->why_not(); }
  [[nodiscard]] bool is_parked(core::HandleId handle) const;
  [[nodiscard]] std::size_t unparked() const { return unparked_.size(); }

 private:
  using Entries = std::unordered_set<restart::ParkedEntry, restart::ParkedEntryHash>;

  [[nodiscard]] BorrowedFd own(const restart::ParkedEntry& entry) const;
  void park_fresh(const core::Effects& effects);
  void park(std::span<const restart::ToPark> entries);
  void park_again();
  void record(core::Broker& broker);
  void note_changed(core::Broker* broker);

  Kept kept_;
  std::optional<restart::RecordCodec> codec_;
  std::unique_ptr<restart::Parking> parking_;
  const HandleStore* handles_ = nullptr;
  InFlight* in_flight_ = nullptr;
  std::unordered_map<restart::ParkedEntry, BorrowedFd, restart::ParkedEntryHash> own_;  // of the edge
  std::vector<core::HandleId> fresh_;
  Entries unparked_;        // that should be
  std::string park_error_;  // why the last of them is not
  std::uint64_t tried_ = 0;
  std::uint64_t queue_fds_ = 0;  // told to the broker
  bool said_unsafe_ = false;
  observe::Throttle lines_{1};
};

}  // namespace hb::ipc
