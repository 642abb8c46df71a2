// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Descriptors of an export, kept without mapping them.
#pragma once

#include <memory>
#include <vector>

#include "acquire.h"
#include "hipbroker/hipbroker.h"

namespace hb::client {

// HB_NO_FDS as soon as it is clear that RLIMIT_NOFILE does not allow all of them at once.
[[nodiscard]] Result<hb_handles*> acquire_handles(const std::shared_ptr<Client>& client,
                                                  const AcquireRequest& request);

}  // namespace hb::client

struct hb_handles {
  std::shared_ptr<hb::client::Client> client;
  hb::client::Grant grant;
  hb::client::Lease lease;
  std::vector<hb_handle_chunk> chunks;
  std::vector<hb::UniqueFd> fds;
  std::vector<hb_peer> peers;  // ordinals unknown: no runtime is asked where nothing is mapped
};
