// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The broker as one would write it without a care for time or memory: plain maps, everything searched. What
// it predicts is design section 3 and 5, not the code of daemon/core.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/request.h"
#include "core/types.h"
#include "hipbroker/status.h"

namespace hb::test {

// A piece of memory of the pretended kernel. Two descriptors of one object and one mode are one allocation.
struct Object {
  std::uint64_t inode = 0;
  bool writable = true;
  auto operator<=>(const Object&) const = default;
  [[nodiscard]] bool sealed() const { return inode >= 6; }
  [[nodiscard]] std::uint64_t bytes() const { return 16'384 + 512 * inode; }
  // What the pretended edge finds for a reader whom a reopening binds.
  [[nodiscard]] core::Level fact() const {
    return inode % 2 == 1 ? core::Level::kPerReader : core::Level::kIntent;
  }
};

struct NaiveChunk {
  Object object;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

enum class NaiveState { kLive, kStaging, kEnded };

struct NaiveExport {
  std::uint64_t scope = 0;
  std::uint32_t uid = 0;
  std::string name;
  std::uint32_t generation = 0;
  NaiveState state = NaiveState::kEnded;
  std::uint64_t session = 0;
  std::vector<core::AclEntry> acl;
  core::Placement placement;
  core::Access max_access = core::Access::kNone;
  std::vector<NaiveChunk> chunks;
  std::uint64_t total_chunks = 0;
  std::uint64_t completed = 0;  // rises from export to export

  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] core::Access access() const;
};

struct NaiveEnd {
  std::uint64_t id = 0;
  std::uint32_t generation = 0;
  std::vector<core::AclEntry> acl;
  core::Time at = 0;
};

struct NaiveLease {
  std::uint64_t session = 0;
  std::uint64_t id = 0;  // of the export
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t slot = 0;
  std::uint32_t value = 0;
  core::Access access = core::Access::kNone;
  core::Level level = core::Level::kNone;
};

struct NaiveWait {
  std::uint64_t session = 0;
  std::uint64_t request_id = 0;
  std::uint32_t owner = 0;
  core::Time deadline = 0;
  core::AcquireRequest request;
};

struct NaiveKey {
  std::uint64_t id = 0;
  std::uint32_t generation = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool true_key = true;  // MAC and broker are right
};

// What an acquire must come to.
struct Expected {
  hb_status status = HB_OK;
  std::uint64_t id = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  core::Level level = core::Level::kNone;
};

class NaiveModel {
 public:
  NaiveModel(std::size_t remembered, core::Time remembered_ns)
      : remembered_(remembered), remembered_ns_(remembered_ns) {}

  std::map<std::uint64_t, core::Principal> sessions;
  std::map<std::uint64_t, NaiveExport> exports;  // by id; ended ones as long as an end is remembered
  std::vector<NaiveEnd> ends;                    // oldest first
  std::map<std::uint64_t, NaiveLease> leases;
  std::vector<NaiveWait> waits;  // in order of coming

  void pass_time(core::Time now);
  void end_export(std::uint64_t id, core::Time now);
  void drop_staging(std::uint64_t id);
  void drop_session(std::uint64_t session, core::Time now);

  // The record of a name, whatever its state; 0 when there is none.
  [[nodiscard]] std::uint64_t find_name(std::uint64_t scope, std::uint32_t uid,
                                        const std::string& name) const;
  [[nodiscard]] core::Access access_of(const NaiveExport& e, const core::Principal& who) const;
  [[nodiscard]] bool may_see(const NaiveExport& e, const core::Principal& who) const;
  [[nodiscard]] Expected by_key(const core::Principal& who, const NaiveKey& key,
                                const core::AcquireRequest& r) const;
  [[nodiscard]] Expected by_name(const core::Principal& who, const core::AcquireRequest& r) const;
  // Live exports of a session in the order they end with it: the youngest first.
  [[nodiscard]] std::vector<std::uint64_t> live_of(std::uint64_t session) const;
  // HB_OK: live and readable.
  [[nodiscard]] hb_status by_id(const core::Principal& who, std::uint64_t id) const;
  [[nodiscard]] std::map<Object, std::uint64_t> referenced() const;  // chunks an object

 private:
  [[nodiscard]] bool could_read(std::uint64_t id, std::uint32_t generation, const core::Principal& who) const;
  [[nodiscard]] Expected grant(std::uint64_t id, const core::Principal& who, std::uint64_t base,
                               std::uint64_t size, const core::AcquireRequest& r) const;
  void forget_oldest();
  std::size_t remembered_;
  core::Time remembered_ns_;
};

}  // namespace hb::test
