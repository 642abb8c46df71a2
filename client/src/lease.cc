// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "lease.h"

namespace hb::client {

Lease::Lease(std::shared_ptr<Session> session, std::uint64_t id) : owned_(std::make_unique<Held>()) {
  owned_->session = std::move(session);
  owned_->id = id;
  owned_->session->leases().add(id);
  now_.store(owned_.get(), std::memory_order_release);
}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  if (owned_ != nullptr) owned_->session->end_lease(owned_->id);
  owned_ = std::move(other.owned_);
  now_.store(owned_.get(), std::memory_order_release);
  other.now_.store(nullptr, std::memory_order_release);
  return *this;
}

Lease::~Lease() {
  if (owned_ != nullptr) owned_->session->end_lease(owned_->id);
}

void Lease::take_over(Lease fresh) noexcept {
  if (owned_ != nullptr) owned_->session->end_lease(owned_->id);
  fresh.owned_->former = std::move(owned_);
  owned_ = std::move(fresh.owned_);
  fresh.now_.store(nullptr, std::memory_order_release);
  now_.store(owned_.get(), std::memory_order_release);
}

}  // namespace hb::client
