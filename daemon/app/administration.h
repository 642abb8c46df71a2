// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What is asked on the admin socket, handed to the one that knows the noun: administration_*.h.
#pragma once

#include "app/administration_scopes.h"
#include "ipc/administration.h"

namespace hb::app {

class Administration final : public ipc::Administration {
 public:
  explicit Administration(ScopeAdministration& scopes) : scopes_(scopes) {}

  [[nodiscard]] tl::expected<ipc::AdminReply, ipc::EdgeError> carry_out(ipc::AdminRequest request) override;

 private:
  ScopeAdministration& scopes_;
};

}  // namespace hb::app
