// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What may be done with the owners, and what may not.
#include <type_traits>

#include "hipbroker/arena.hpp"
#include "hipbroker/events.hpp"
#include "hipbroker/hip_look.hpp"
#include "hipbroker/quotas.hpp"
#include "hipbroker/scopes.hpp"

template <class Owner>
constexpr bool kMoveOnly =
    std::is_nothrow_move_constructible_v<Owner>&& std::is_nothrow_move_assignable_v<Owner> &&
    !std::is_copy_constructible_v<Owner> && !std::is_copy_assignable_v<Owner>;
static_assert(kMoveOnly<hipbroker::Client> && kMoveOnly<hipbroker::Memory> && kMoveOnly<hipbroker::Export> &&
              kMoveOnly<hipbroker::Import> && kMoveOnly<hipbroker::Handles> &&
              kMoveOnly<hipbroker::HipLook> && kMoveOnly<hipbroker::Arena>);
static_assert(kMoveOnly<hipbroker::Accounts> && kMoveOnly<hipbroker::Scopes> &&
              kMoveOnly<hipbroker::Holders> && kMoveOnly<hipbroker::TakenBack>);
static_assert(std::is_copy_constructible_v<hipbroker::Key>);
static_assert(std::is_convertible_v<std::chrono::milliseconds, hipbroker::Deadline>);
static_assert(hipbroker::Deadline::never().ns() == HB_NO_DEADLINE);

int uses_the_header();
int uses_the_header() {
  hb_error error = HB_ERROR_INIT;
  return hipbroker::Error(error).chunk() == -1 ? 0 : 1;
}
