// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Drives a Broker with fake time and simulated descriptors. After every event the invariants are checked and
// every handle given must be exactly once in an allocation or closed.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/broker.h"

namespace hb::test {

inline constexpr std::uint64_t kSecond = 1'000'000'000;
inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;

class BrokerDriver {
 public:
  BrokerDriver() : BrokerDriver(default_config()) {}
  explicit BrokerDriver(const core::BrokerConfig& config);

  static core::BrokerConfig default_config();

  core::SessionId connect(std::uint32_t uid, std::vector<std::uint32_t> groups = {}, std::uint64_t scope = 0);
  core::SessionId connect_admin();
  void disconnect(core::SessionId session);
  void remove_scope(std::uint64_t scope);
  void advance(std::uint64_t ns);  // with a tick
  // After a restart, so long ago.
  void lose_all_handles(std::uint64_t grace_ns);
  void lose_connection(core::SessionId session, std::uint64_t grace_ns);

  // Sends, and expects the answer at once.
  core::ReplyBody ask(core::SessionId session, core::Request request);
  core::ReplyBody ask_as(core::SessionId session, std::uint64_t id, core::Request request);
  // Without the checks after it, which look at everything: for thousands of requests.
  core::ReplyBody ask_unchecked(core::SessionId session, core::Request request);
  // Sends only; answers are found by answer_to().
  std::uint64_t send(core::SessionId session, core::Request request);
  void send_as(core::SessionId session, std::uint64_t id, core::Request request);
  [[nodiscard]] const core::Reply* answer_to(core::SessionId session, std::uint64_t id) const;

  // A memfd of its own file, unless `inode` is given.
  core::HandleFacts memfd(std::uint64_t size, std::optional<std::uint64_t> inode = {}, bool writable = true);
  // A kind of which the kernel tells neither size nor identity.
  core::HandleFacts driver_handle();

  // One chunk over a whole new memfd.
  core::ExportRequest simple(const std::string& name, std::uint64_t size = 4 * kKiB);
  // `chunks` chunks of `size` bytes, each a memfd of its own, all in one frame.
  core::ExportRequest chunked(const std::string& name, std::size_t chunks, std::uint64_t size);
  core::Exported exported(core::SessionId session, core::ExportRequest request);
  // A paged export in pages of `per_page`.
  core::Exported exported_paged(core::SessionId session, const std::string& name, std::size_t chunks,
                                std::uint64_t size, std::size_t per_page);

  core::Acquired acquired(core::SessionId session, core::AcquireRequest request);

  [[nodiscard]] bool is_closed(core::HandleId handle) const { return handles_.at(handle.value) != 0; }
  [[nodiscard]] std::size_t open_handles() const;
  [[nodiscard]] core::Counters counters() const { return broker.counters(); }
  // The word a session sees in its validity page.
  [[nodiscard]] std::uint32_t word(core::SessionId session, std::uint32_t slot) const;

  core::Broker broker;
  core::Time now = 100 * kSecond;
  core::Effects effects;  // of the last event

 private:
  void run(core::SessionId session, std::uint64_t id, core::Request request);
  void settle();
  std::uint64_t last_handle_ = 0;
  std::uint64_t last_inode_ = 1'000'000;
  std::uint64_t last_request_ = 0;
  std::map<std::uint64_t, int> handles_;  // times closed
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> words_;
};

// By name or key, read.
core::AcquireRequest by_name(const std::string& name, std::optional<std::uint32_t> owner = {});
core::AcquireRequest by_key(const KeyBytes& key);
core::AcquireRequest writing(core::AcquireRequest request);
core::AcquireRequest ranged(core::AcquireRequest request, std::uint64_t offset, std::uint64_t length);
core::AcquireRequest waiting(core::AcquireRequest request, std::uint64_t ns);
KeyBytes sub_key(const core::Exported& exported, std::uint64_t offset, std::uint64_t length);

// HB_OK when the body is no error.
hb_status status_of(const core::ReplyBody& body);
const core::Error& error_of(const core::ReplyBody& body);
core::AclEntry uid_reads(std::uint32_t uid);
core::AclEntry uid_writes(std::uint32_t uid);
core::AclEntry gid_reads(std::uint32_t gid);

}  // namespace hb::test
