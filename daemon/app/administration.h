// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What is asked on the admin socket, handed to the one that knows the noun: administration_*.h.
#pragma once

#include "app/administration_policy.h"
#include "app/administration_quotas.h"
#include "app/administration_scopes.h"
#include "ipc/administration.h"
#include "ipc/engine.h"

namespace hb::app {

class Administration final : public ipc::Administration {
 public:
  Administration(PolicyAdministration& policy, ScopeAdministration& scopes, QuotaAdministration& quotas,
                 ipc::Engine& engine)
      : policy_(policy), scopes_(scopes), quotas_(quotas), engine_(engine) {}

  [[nodiscard]] tl::expected<ipc::AdminReply, ipc::EdgeError> carry_out(ipc::AdminRequest request) override;

 private:
  PolicyAdministration& policy_;
  ScopeAdministration& scopes_;
  QuotaAdministration& quotas_;
  ipc::Engine& engine_;
};

}  // namespace hb::app
