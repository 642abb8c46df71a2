// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a lease grants, and the chunks that come with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "error.h"
#include "messages.h"
#include "providers/placement.h"
#include "wire/key.h"
#include "wire/unique_fd.h"

namespace hb::client {

class Session;

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
  std::uint64_t max_bytes = 0;  // the export may grow to so many; 0 = it does not grow
  bool follows = false;         // the range goes to the end, wherever that comes to be
  BrokerId broker{};
  Secret secret{};

  // A key to a part of the range. No round trip. To the end of what grows, it goes on to the end.
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
  bool first = false;     // of an acquire; when it comes a second time what came before is void
  std::uint64_t end = 0;  // of the last chunk inside the export
};

// HB_PROTO for what makes no sense.
[[nodiscard]] Result<Grant> grant_of(const Session& session, const msg::AcquireReply& reply);

}  // namespace hb::client
