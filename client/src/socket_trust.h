// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// May the server behind this path be spoken to? Answered before a byte is sent (a planted socket would
// otherwise learn keys and hand out memory of its choice).
//
// The path is walked from / by O_PATH descriptors, symbolic links included. In short: what root or the
// caller placed is trusted, and whatever they put into a directory that only they can write is trusted too,
// whoever owns it (they delegated it). From the first component of another owner on, all must be that
// owner's and writable by no one else. The socket that was checked is the one connected to.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "error.h"
#include "wire/unique_fd.h"

namespace hb::client {

struct TrustedSocket {
  UniqueFd path;                          // O_PATH descriptor of the socket itself
  std::optional<std::uint32_t> delegate;  // owner of the path, when neither root nor the caller
};

// One component as it was met, in order.
struct PathVisit {
  std::string path;  // for people
  std::uint32_t owner = 0;
  std::uint32_t mode = 0;          // st_mode
  std::size_t parent = 0;          // index of the directory it was found in; its own for /
  std::size_t same_as = 0;         // index of the first visit to it: ".." comes back to directories
  bool fixed_mount_point = false;  // a mount point that the caller cannot write
};

struct TrustContext {
  std::uint32_t uid = 0;  // effective
  // Set in a user namespace where the root of the outside shows as this uid.
  std::optional<std::uint32_t> hidden_root = {};
  // Set in a user namespace that does not map every uid: as this one show all that have no number here, so it
  // is not the caller's own and not one that the caller named, even where that uid exists here.
  std::optional<std::uint32_t> nobody_in_particular = {};
  [[nodiscard]] bool tells_nobody(std::uint32_t who) const { return nobody_in_particular == who; }
  [[nodiscard]] static TrustContext of_process();
};

// The rules alone, over what the walk saw. The last visit is the socket. Value: the delegate.
[[nodiscard]] Result<std::optional<std::uint32_t>> judge_path(const std::vector<PathVisit>& visits,
                                                              const TrustContext& context);

// HB_NO_DAEMON when it does not exist, HB_UNTRUSTED, HB_DENIED, HB_INVALID (not a socket), HB_SYSTEM.
[[nodiscard]] Result<TrustedSocket> open_trusted_socket(const std::string& path, const TrustContext& context);

// After connect(): the uid of the process that called listen().
[[nodiscard]] Result<void> check_peer(int socket, const std::string& path, const TrustContext& context,
                                      std::optional<std::uint32_t> delegate,
                                      std::span<const std::uint32_t> trusted_uids);

}  // namespace hb::client
