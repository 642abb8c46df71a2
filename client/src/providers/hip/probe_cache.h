// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Answers of the helper, remembered for all processes of one uid: $XDG_CACHE_HOME/hipbroker, else
// /tmp/hipbroker-<uid>, a directory of mode 0700 that belongs to that uid. Anything else is not used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "error.h"
#include "providers/hip/verdict.h"
#include "wire/unique_fd.h"

namespace hb::client::hip {

class ProbeCache {
 public:
  ProbeCache(ProbeCache&&) = default;
  ProbeCache& operator=(ProbeCache&&) = delete;
  ~ProbeCache();
  // An error says what is wrong with the directory.
  [[nodiscard]] static Result<ProbeCache> open(std::string key);

  struct Remembered {
    Findings findings;
    std::int64_t age_s = 0;  // below 0: the clock was set back
  };
  [[nodiscard]] std::optional<Remembered> read() const;
  // One process at a time asks the hardware; ranks that start together wait here for the first. False at the
  // deadline, or where the file system has no locks. Held until this object goes.
  [[nodiscard]] bool lock(std::uint64_t deadline_ns);
  // Whole or not at all.
  [[nodiscard]] Result<void> write(const Findings& findings) const;

 private:
  ProbeCache(UniqueFd directory, std::string path, std::string key);

  UniqueFd directory_;
  std::string path_;
  std::string key_;
  std::string name_;
  UniqueFd lock_;
};

}  // namespace hb::client::hip
