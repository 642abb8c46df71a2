// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// tl::expected from Debian's libexpected-dev, configured once: std::expected is not in g++ 12, and the
// client must build where exceptions never cross its ABI.
#pragma once

#include <tl/expected.hpp>
