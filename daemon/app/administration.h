// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the admin socket asks of the daemon as a whole, handed to whom it is for.
#pragma once

#include "app/administration_policy.h"
#include "ipc/administration.h"

namespace hb::app {

class Administration : public ipc::Administration {
 public:
  explicit Administration(PolicyAdministration& policy) : policy_(policy) {}
  [[nodiscard]] tl::expected<ipc::AdminReply, ipc::EdgeError> carry_out(ipc::AdminRequest request) override;

 private:
  PolicyAdministration& policy_;
};

}  // namespace hb::app
