// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Chunks of one lease, page by page, checked against what was granted. A page that does not fit into this
// process is asked for again at half the size, down to one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grant.h"
#include "lease.h"
#include "session.h"
#include "stats.h"

namespace hb::client {

[[nodiscard]] tl::unexpected<Error> broken_grant(const std::string& reason);

class ChunkReader {
 public:
  ChunkReader(const std::shared_ptr<Session>& session, Stats& stats, std::uint64_t deadline_ns);

  // Descriptors to ask for with one page.
  [[nodiscard]] std::uint32_t ask() const { return ask_; }
  // Half as many after a refusal for descriptors, here or in the daemon. False: it was one already.
  [[nodiscard]] bool ask_less();

  // From chunk `first` of the export on, which begins at `position` inside of it: `most` chunks or fewer.
  // HB_STALE when they have changed since the lease was granted or refreshed.
  [[nodiscard]] Result<GrantPage> fetch(const Lease& lease, const Grant& grant, std::uint64_t first,
                                        std::uint64_t most, std::uint64_t position);
  // The same of an answer that is there.
  [[nodiscard]] Result<GrantPage> page_of(const Grant& grant, const std::vector<msg::Chunk>& chunks,
                                          std::vector<UniqueFd> fds, std::uint64_t first, std::uint64_t most,
                                          std::uint64_t position);

 private:
  const std::shared_ptr<Session> session_;
  Stats& stats_;
  const std::uint64_t deadline_ns_;
  std::uint32_t ask_;
};

}  // namespace hb::client
