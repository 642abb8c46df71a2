// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/provider.h"

#include "hipbroker/hipbroker.h"
#include "providers/host.h"

namespace hb::client {
namespace {

HostProvider& host() {
  static auto* provider = new HostProvider;  // never destroyed: imports may outlive static destructors
  return *provider;
}

}  // namespace

Provider* provider(std::uint32_t number) { return number == HB_PROVIDER_HOST ? &host() : nullptr; }

Provider* provider_of_kind(std::uint32_t handle_kind) {
  return handle_kind == HB_KIND_MEMFD || handle_kind == HB_KIND_DMABUF ? &host() : nullptr;
}

}  // namespace hb::client
