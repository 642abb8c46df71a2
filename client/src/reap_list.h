// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// GPU memory that was given back while the GPU still uses it: each waits for an event of its owner, and later
// calls of the library give it back once that is done. There is no thread that would.
//
// What never happens: a lock held while memory is unmapped, or while the runtime is asked; memory that waits
// for an event which can never be done, since its device was lost. In a forked child the list is empty: what
// waited is the parent's. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>

#include "error.h"

namespace hb::client {

// Whether `event` is one that can be waited for; NULL is not.
[[nodiscard]] Result<void> check_event(void* event);

// `give_back` is called once, by a later reap(), when `event` is done. After an error it is not called, ever.
[[nodiscard]] Result<void> give_back_when(void* event, std::function<void()> give_back);

// Gives back what is due; how many are still waiting. Costs two loads where none is.
std::uint64_t reap() noexcept;

}  // namespace hb::client
