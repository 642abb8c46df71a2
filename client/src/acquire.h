// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Obtains a lease and its descriptors, page by page. What a page is used for (mapped, kept) is the caller's.
//
// What never happens: descriptors of two pages under way at once; a lease that outlives a failure; half a
// page used; pages of two layouts in one acquire: where the export changes in between, all begins anew.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "error.h"
#include "grant.h"
#include "lease.h"
#include "session.h"
#include "wire/key.h"

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

// Called for every page in order, the first time with the first page; from there again where it begins anew.
using PageSink = std::function<Result<void>(const Grant& grant, GrantPage page)>;

struct Acquired {
  Grant grant;
  Lease lease;
};
// Asks, or waits for the name alone: what the grant brings is given back at once.
[[nodiscard]] Result<void> wait_until_acquirable(Client& client, const AcquireRequest& request);
[[nodiscard]] Result<Acquired> acquire(Client& client, const AcquireRequest& request, const PageSink& sink);

}  // namespace hb::client
