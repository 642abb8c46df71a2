// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Where hipbroker-probe is. An installation may have been moved since it was configured, and a build tree has
// none of its folders: the file the library itself was loaded from tells.
#pragma once

#include <string>
#include <vector>

#include "error.h"

namespace hb::client::hip {

// In the order they are looked at. $HIPBROKER_PROBE_HELPER, where it is set, is the only one.
[[nodiscard]] std::vector<std::string> helper_places();
// Those for a library loaded from `library`, whatever the environment says: pure, for tests.
[[nodiscard]] std::vector<std::string> helper_places_beside(const std::string& library);

// HB_UNSUPPORTED names every place looked at.
[[nodiscard]] Result<std::string> find_helper();

}  // namespace hb::client::hip
