// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Obtains a lease and its descriptors, page by page. What a page is used for (mapped, kept) is the caller's.
//
// What never happens: descriptors of two pages under way at once; a lease that outlives a failure; half a
// page used. A page that does not fit into this process is asked for again at half the size, down to one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "error.h"
#include "providers/placement.h"
#include "session.h"
#include "wire/key.h"
#include "wire/unique_fd.h"

namespace hb::client {

class Client;

struct AcquireTarget {
  std::optional<KeyBytes> key;
  std::string name;                        // without a key
  std::optional<std::uint32_t> owner_uid;  // whose name; none = the caller's own
  bool operator==(const AcquireTarget&) const = default;
};

struct AcquireRequest {
  AcquireTarget target;
  std::uint32_t access = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // HB_WHOLE = to the end
  std::uint32_t demand_level = 0;
  bool wait = false;  // for the name
  std::uint64_t deadline_ns = 0;
};

// What was granted, and of what.
struct Grant {
  std::uint64_t offset = 0;  // of the range inside the export
  std::uint64_t bytes = 0;
  std::uint64_t export_id = 0;
  std::uint32_t generation = 0;
  std::uint64_t layout_version = 0;
  std::uint64_t export_bytes = 0;
  std::uint64_t first_chunk = 0;
  std::uint64_t chunk_count = 0;
  std::uint64_t chunk_base = 0;  // offset of the first chunk inside the export
  std::uint32_t owner_uid = 0;
  std::uint32_t access = 0;
  std::uint32_t level = 0;
  std::uint32_t handle_kind = 0;
  DeviceId device;                 // empty: host memory
  std::vector<DeviceId> peers;     // other GPUs that the exporter let in
  std::uint64_t object_bytes = 0;  // of the whole objects of all chunks; 0: an older daemon does not tell
  std::string metadata;
  BrokerId broker{};
  Secret secret{};

  // A key to a part of the range. No round trip.
  [[nodiscard]] Result<KeyBytes> subkey(std::uint64_t at, std::uint64_t length) const;
};

struct PageChunk {
  std::uint32_t handle = 0;  // index into the page's descriptors
  std::uint64_t object_offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t start = 0;         // inside the export
  std::uint64_t number = 0;        // of the export's chunks
  std::uint64_t object_bytes = 0;  // of the whole object; 0: an older daemon does not tell
};

struct GrantPage {
  std::vector<PageChunk> chunks;
  std::vector<UniqueFd> fds;
};

// Called for every page in order, the first time with the first page.
using PageSink = std::function<Result<void>(const Grant& grant, GrantPage page)>;

struct Acquired {
  Grant grant;
  Lease lease;
};
// Waits for the name alone: what the grant brings is given back at once.
[[nodiscard]] Result<void> wait_until_acquirable(Client& client, const AcquireRequest& request);
[[nodiscard]] Result<Acquired> acquire(Client& client, const AcquireRequest& request, const PageSink& sink);

}  // namespace hb::client
