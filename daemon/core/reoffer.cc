// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/failure.h"
#include "core/verbs.h"

namespace hb::core {

Outcome reoffer(Call& /*call*/, Asker& /*asker*/, const ReofferRequest& request) {
  return failure(HB_NOT_FOUND, "export ", request.id.value, " is not awaited");
}

}  // namespace hb::core
