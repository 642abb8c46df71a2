// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A rank's side of a group: one join and one answer with the leases of all, each mapped as an import, one
// word back on how that went.
//
// What never happens: some ranks have mapped and others got an error; a lease or a mapping that outlives a
// failed join; an answer that comes too late and is kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "error.h"
#include "exports.h"
#include "hipbroker/hipbroker.h"
#include "import.h"
#include "session.h"

namespace hb::client {

class Client;

struct GroupRequest {
  std::string name;
  std::uint32_t rank = 0;
  std::uint32_t world = 0;
  std::uint64_t attempt = 0;
  std::shared_ptr<ExportRecord> offered;  // or `source`, exported for the group alone
  ExportRequest source;
  std::string agreement;
  bool any_layout = false;
  bool flat = false;
  std::vector<void*> bases;  // empty: anywhere
  void* base = nullptr;
  std::uint64_t stride = 0;
  // What an import of each member is made of: access, GPUs, addresses for growth.
  ImportKey import;
  std::uint64_t deadline_ns = 0;
};

struct CloseImport {
  void operator()(hb_import* imported) const noexcept { close_import(imported); }
};
using OwnedImport = std::unique_ptr<hb_import, CloseImport>;

[[nodiscard]] Result<std::unique_ptr<hb_group>> join_group(const std::shared_ptr<Client>& client,
                                                           const GroupRequest& request);
[[nodiscard]] Result<void> check_group(hb_group& group, std::uint64_t deadline_ns);
// `source`: its memory counts. HB_BUSY while another thread appends.
[[nodiscard]] Result<void> append_to_group(hb_group& group, const ExportRequest& source);

}  // namespace hb::client

struct hb_group {
  struct Member {
    std::uint64_t export_id = 0;
    std::uint32_t pid = 0;
    hb::client::OwnedImport imported;  // none: this rank's own, where it is not mapped again
  };

  hb_group() = default;
  hb_group(const hb_group&) = delete;
  hb_group& operator=(const hb_group&) = delete;
  ~hb_group();  // leaves

  std::shared_ptr<hb::client::Client> client;
  std::shared_ptr<hb::client::Session> session;
  std::uint64_t id = 0;  // 0: not joined
  std::uint32_t rank = 0;
  std::uint64_t round = 0;  // of the last append that all have mapped
  std::atomic<bool> busy{false};
  std::shared_ptr<hb::client::ExportRecord> offered;
  bool made_offer = false;  // for the group: withdrawn with it
  std::vector<Member> members;
};
